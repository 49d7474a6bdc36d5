"""Where the shards of a round are computed: by threads of the flow's own process, or by the workers of a Dask cluster.

LDPFLOW_DASK says which.  Unset: two threads here.  `local:N`: N worker processes on this machine, which end with the flow.
`tcp://HOST:PORT`: the scheduler of a cluster whose workers have this package and reach the round's `data`.

One Prefect task carries a batch of shards and, on Dask, waits for their futures.  So workers need neither Prefect nor a way to
its server, and a round has no more than some eighty tasks, however many its shards.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import Any, TypeVar

from prefect.task_runners import ThreadPoolTaskRunner

from dpcore.errors import DPCoreError
from dpcore.rounds.defaults import WORKERS
from dpcore.rounds.run import Run

SETTING = "LDPFLOW_DASK"
PATIENCE = 5  # seconds in which a scheduler must answer
_FORGET = 60.0  # after so many seconds one that did not is asked again, and not by each of a round's tasks in turn
BATCHES = 32  # of shards at most, each a task of Prefect, which costs some 20 ms: hundreds of clusters' cores stay busy
_LOCAL = re.compile(r"local:([1-9]\d*)")
_ADDRESS = re.compile(r"(tcp|tls|ws|wss)://\S+:\d+")
_one_cluster = threading.Lock()
_silent: dict[str, float] = {}  # address -> when it did not answer

T = TypeVar("T")


def task_runner() -> ThreadPoolTaskRunner:
    """Return the runner of a flow's tasks; on Dask its threads only wait, so that every batch may be under way."""
    return ThreadPoolTaskRunner(max_workers=BATCHES if os.environ.get(SETTING) else WORKERS)


def batches(items: Sequence[T], size: int | None = None) -> list[list[T]]:
    """Return the items in runs of one length, the last of which may be shorter: of `size`, or so that there are at most 32."""
    size = size or max(1, -(-len(items) // BATCHES))
    return [list(items[start : start + size]) for start in range(0, len(items), size)]


def flat(parts: Sequence[Sequence[T]]) -> list[T]:
    """Return what all batches made, in order."""
    return [item for batch in parts for item in batch]


def each(work: Callable[[Run, Any], T], run: Run, items: Sequence[Any]) -> list[T]:
    """Return what `work` makes of each item, in order: one after another in this thread, or all at once on Dask."""
    with _one_cluster:
        client = _connect(where())
    if client is None:
        return [work(run, item) for item in items]
    return client.gather(client.map(partial(work, run), list(items), pure=False))


def disconnect() -> None:
    """Let go of the cluster; a local one ends."""
    if client := _connect(where()):
        cluster = client.cluster
        client.close()
        if cluster is not None:
            cluster.close()
    _connect.cache_clear()


def where() -> str:
    """Return the setting, '' for this process; raises DPCoreError where it is not one."""
    named = os.environ.get(SETTING, "")
    if named and not _LOCAL.fullmatch(named) and not _ADDRESS.fullmatch(named):
        raise DPCoreError(f"{SETTING} is local:N, such as local:4, or a scheduler's tcp://HOST:PORT; got {named!r}")
    return named


@cache
def _connect(named: str) -> Any:
    """The client of a cluster, which this process keeps until it ends; None for this process itself."""
    if not named:
        return None
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise DPCoreError(
            f"{SETTING} is set and Dask is not installed; install ldpflow with its extra `dask`"
        ) from error
    if local := _LOCAL.fullmatch(named):
        cluster = LocalCluster(
            n_workers=int(local[1]), threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
        )
        return Client(cluster, set_as_default=False)
    no_answer = DPCoreError(f"no Dask scheduler answers at {named}; start it, or correct {SETTING}")
    if time.monotonic() < _silent.get(named, -_FORGET) + _FORGET:
        raise no_answer
    clients: list[Any] = []

    def connect() -> None:
        with suppress(OSError):
            clients.append(Client(named, set_as_default=False, timeout=PATIENCE))

    # In a thread of its own: where something else listens, and says nothing, Dask's own patience has no end.
    asking = threading.Thread(target=connect, daemon=True)
    asking.start()
    asking.join(2 * PATIENCE)
    if not clients:
        _silent[named] = time.monotonic()
        raise no_answer
    return clients[0]
