"""How many reports a second a collector takes, beside the same service with an empty handler, in turns of one run.

Simulated people's reports go to both over HTTP on this machine, in batches as Arrow streams, over connections that stay open.
Both are processes of their own, started here; the empty one reads each body and answers, and keeps nothing.  Seconds are the
clock's, so measure on a quiet machine.  At the end the collector's files must hold every report once: their aggregate is
compared with that of what was sent, integer by integer.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpcore import pipeline, populations, wire
from dpcore._random import secure, seeded
from dpcore.collector.serve import Settings, serve
from dpcore.collector.store.intake import Outcome, Upload
from dpcore.collector.store.sealing import landing
from dpcore.errors import StoreError
from dpcore.laboratory.studies.accuracy import interval
from dpcore.protocol.aggregates import Aggregate
from dpcore.protocol.report import with_ids
from dpcore.protocol.scheme import Scheme

_HOST = "127.0.0.1"
TURNS = 10
_RATE = ["--rate", "1000000000", "--connections", "1000"]  # nobody is asked to wait


def turns(scheme: Path, reports: int, size: int, connections: int) -> Iterator[pd.DataFrame | None]:
    """Send so many reports in `TURNS` turns, in batches of a size; yield None a turn and with the last one the rows.

    Rows have the columns of `benchmarks` but study, measured_at and version.
    Raises StoreError where a batch was not taken whole or the collector's files do not hold what was sent.
    """
    parsed = Scheme.from_toml(scheme)
    bounds = np.linspace(0, reports, TURNS + 1).astype(int)
    total = Aggregate.zero(parsed)
    seconds: list[tuple[float, float]] = []
    waits: list[float] = []
    with tempfile.TemporaryDirectory(prefix="ldpflow-load-") as name:
        folder = Path(name)
        with _collector(scheme, folder / "collected") as ours, _empty(scheme, folder / "empty") as empty:
            for turn, (first, last) in enumerate(pairwise(bounds)):
                if turn:
                    yield None
                aggregate, bodies = _bodies(parsed, size, last - first, turn)
                total = total.merge(aggregate)
                without, _ = _send(empty, parsed, bodies, connections, None)
                took, new_waits = _send(ours, parsed, bodies, connections, last - first)
                seconds.append((took, without))
                waits += new_waits
        counted = _counted(parsed, folder / "collected")
    if not counted.equals(total):
        raise StoreError(
            f"the collector's files hold {counted.n} reports of {total.n} sent, or others; nothing has landed"
        )
    rows = _rows(reports, np.diff(bounds), np.array(seconds), np.array(waits), counted.n)
    yield rows.assign(
        method="http",
        parameters=f"batch={size} connections={connections}",
        target=parsed.name,
        clients=reports,
        epsilon=parsed.epsilon,
        repetitions=TURNS,
    )


def _rows(reports: int, sizes: np.ndarray, seconds: np.ndarray, waits: np.ndarray, counted: int) -> pd.DataFrame:
    """Metric, value, low and high."""
    metrics: dict[str, tuple[float, Any]] = {
        "reports_per_second": (reports / seconds[:, 0].sum(), sizes / seconds[:, 0]),
        "empty_reports_per_second": (reports / seconds[:, 1].sum(), sizes / seconds[:, 1]),
        "ratio": (seconds[:, 1].sum() / seconds[:, 0].sum(), seconds[:, 1] / seconds[:, 0]),
        "p50_seconds": (float(np.quantile(waits, 0.5)), None),
        "p99_seconds": (float(np.quantile(waits, 0.99)), None),
        "sent": (reports, None),
        "counted": (counted, None),
    }
    ends = {metric: (nan, nan) if values is None else interval(values) for metric, (_, values) in metrics.items()}
    rows = [(metric, float(value), *ends[metric]) for metric, (value, _) in metrics.items()]
    return pd.DataFrame(rows, columns=["metric", "value", "low", "high"])


def _bodies(scheme: Scheme, size: int, count: int, turn: int) -> tuple[Aggregate, list[bytes]]:
    """So many simulated people's reports with fresh ids, in batches, and their aggregate."""
    people = populations.by_scheme(scheme.name).records(count, seeded((1, turn)))
    batch = pipeline.privatize(scheme, people, seeded((2, turn)))
    rows = wire.read_stream(wire.write_stream(with_ids(batch, secure()), scheme), scheme)
    return pipeline.aggregate(scheme, batch), [rows.part(start, size).to_stream() for start in range(0, count, size)]


def _send(
    port: int, scheme: Scheme, bodies: Sequence[bytes], connections: int, count: int | None
) -> tuple[float, list[float]]:
    """Post bodies and return the seconds that all took, and each.

    count: how many reports are to be accepted, None where nothing looks at them.
    """
    head = (
        f"POST /schemes/{scheme.digest}/batches HTTP/1.1\r\nHost: {_HOST}\r\n"
        "Content-Type: application/vnd.apache.arrow.stream\r\nContent-Length: "
    ).encode()
    waiting = iter(bodies)

    def one(connection: socket.socket) -> tuple[int, list[float]]:
        taken, waits = 0, []
        for body in waiting:  # a list's iterator gives each body to one thread
            began = time.perf_counter()
            connection.sendall(b"%b%d\r\n\r\n%b" % (head, len(body), body))
            taken += _accepted(connection)
            waits.append(time.perf_counter() - began)
        return taken, waits

    opened = [socket.create_connection((_HOST, port), timeout=60) for _ in range(connections)]
    try:
        began = time.perf_counter()
        with ThreadPoolExecutor(connections) as pool:
            done = list(pool.map(one, opened))
        seconds = time.perf_counter() - began
    finally:
        for connection in opened:
            connection.close()
    taken = sum(accepted for accepted, _ in done)
    if count is not None and taken != count:
        raise StoreError(f"{taken} of {count} reports were accepted; nothing has landed")
    return seconds, [wait for _, waits in done for wait in waits]


def _accepted(connection: socket.socket) -> int:
    """Read an answer of status 200 and return how many reports it accepts."""
    content = b""
    while b"\r\n\r\n" not in content:
        content += _more(connection)
    head, _, content = content.partition(b"\r\n\r\n")
    lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    while len(content) < int(lines[b"content-length"]):
        content += _more(connection)
    if not head.startswith(b"HTTP/1.1 200 "):
        raise StoreError(f"a batch was answered with {head.split()[1].decode()}; nothing has landed")
    return int(json.loads(content)["accepted"])


def _more(connection: socket.socket) -> bytes:
    received = connection.recv(65536)
    if not received:
        raise StoreError(
            "the collector closed a connection, so nothing has landed; read its log and run the study again"
        )
    return received


def _counted(scheme: Scheme, folder: Path) -> Aggregate:
    paths = sorted(landing(folder, scheme.digest).glob("*.parquet"))
    return pipeline.aggregate(scheme, *(wire.read_reports(path, scheme) for path in paths))


@contextmanager
def _collector(scheme: Path, folder: Path) -> Iterator[int]:
    with _process("-m", "dpcore.cli", "serve", str(scheme), "--into", str(folder), "--port", "0", *_RATE) as port:
        yield port


@contextmanager
def _empty(scheme: Path, folder: Path) -> Iterator[int]:
    with _process("-m", "dpcore.laboratory.collector_load", str(scheme), str(folder)) as port:
        yield port


@contextmanager
def _process(*words: str) -> Iterator[int]:
    """A service that prints its address, and stops without errors."""
    process = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline() if process.stdout else ""
        if not line.startswith("collecting at "):
            raise StoreError("the collector did not start; nothing was measured")
        yield int(line.split()[2].rpartition(":")[2])
        process.send_signal(signal.SIGTERM)
        process.wait(120)
    finally:
        process.kill()
        process.communicate()


class Nothing:
    """In place of the way into the store: every upload is carried out at once, and nothing is done."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    async def take(self, upload: Upload) -> Outcome:
        return Outcome()

    def close(self, rounds: frozenset[tuple[str, str]]) -> None: ...

    def bring(self, upload: Upload) -> Outcome:
        return Outcome()


if __name__ == "__main__":
    serve([Path(sys.argv[1])], Path(sys.argv[2]), Settings(port=0, rate=1e9, connections=1000), Nothing())
