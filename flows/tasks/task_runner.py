"""Computation of the shards of a round: by threads of the flow's own process, or by workers of a Dask cluster.

LDPFLOW_DASK sets which.  Unset: two threads of this process.  `local:N`: N worker processes on this machine, which stop with
the flow.  `tcp://HOST:PORT`: the scheduler of a cluster whose workers have this package and can read the round's `data`.

One Prefect task computes a batch of shards or, with Dask, waits for their futures.  So workers need neither Prefect nor a
connection to its server, and a round has at most about eighty tasks, for any number of shards.
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
_FORGET = 60.0  # seconds before a scheduler that did not answer is asked again, so that not every task of a round waits for it
BATCHES = 32  # at most, each a Prefect task that costs about 20 ms: enough for hundreds of cores
_LOCAL = re.compile(r"local:([1-9]\d*)")
_ADDRESS = re.compile(r"(tcp|tls|ws|wss)://\S+:\d+")
_one_cluster = threading.Lock()
_silent: dict[str, float] = {}  # address -> time of the last failed connection

T = TypeVar("T")


def task_runner() -> ThreadPoolTaskRunner:
    """Return the runner of a flow's tasks; with Dask its threads only wait, one for each batch."""
    return ThreadPoolTaskRunner(max_workers=BATCHES if os.environ.get(SETTING) else WORKERS)


def batches(items: Sequence[T], size: int | None = None) -> list[list[T]]:
    """Return the items in batches of `size`, by default in at most 32 batches; the last may be shorter."""
    size = size or max(1, -(-len(items) // BATCHES))
    return [list(items[start : start + size]) for start in range(0, len(items), size)]


def flat(parts: Sequence[Sequence[T]]) -> list[T]:
    """Return the results of all batches, in order."""
    return [item for batch in parts for item in batch]


def map_items(work: Callable[[Run, Any], T], run: Run, items: Sequence[Any]) -> list[T]:
    """Return the result of `work` for each item, in order: computed one by one in this thread, or in parallel on Dask."""
    with _one_cluster:
        client = _connect(where())
    if client is None:
        return [work(run, item) for item in items]
    return client.gather(client.map(partial(work, run), list(items), pure=False))


def disconnect() -> None:
    """Disconnect from the cluster; a local one stops."""
    if client := _connect(where()):
        cluster = client.cluster
        client.close()
        if cluster is not None:
            cluster.close()
    _connect.cache_clear()


def where() -> str:
    """Return the setting, '' for this process; raises DPCoreError if it is invalid."""
    named = os.environ.get(SETTING, "")
    if named and not _LOCAL.fullmatch(named) and not _ADDRESS.fullmatch(named):
        raise DPCoreError(
            f"{SETTING} must be local:N, such as local:4, or a scheduler's tcp://HOST:PORT, got {named!r}"
        )
    return named


@cache
def _connect(named: str) -> Any:
    """The client of a cluster, kept until this process ends; None without a cluster."""
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

    # In its own thread: Dask waits for ever if another program listens there and does not answer.
    asking = threading.Thread(target=connect, daemon=True)
    asking.start()
    asking.join(2 * PATIENCE)
    if not clients:
        _silent[named] = time.monotonic()
        raise no_answer
    return clients[0]
