"""What studies share: cells, the seeds of their repetitions, and processes that measure pieces of work.

Every repetition has its own seed, named by (target, clients, epsilon, method, repetition), so that a cell gives the same
numbers in every process and order.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import pandas as pd

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")  # processes share the cores; BLAS threads would fight for them


@dataclass(frozen=True)
class Cell:
    """Where methods are measured."""

    target: str
    clients: int
    epsilon: float


Chunk = tuple[str, Cell, int, int]  # method, cell, chunk, repetitions up to which the chunk is measured


def seed(cell: Cell, method: str, repetition: int) -> tuple[int, ...]:
    """Return what one repetition's randomness is seeded with; method: name and parameters of its first setting."""
    return (
        zlib.crc32(cell.target.encode()),
        cell.clients,
        round(cell.epsilon * 10**6),
        zlib.crc32(method.encode()),
        repetition,
    )


def left(
    cells: Sequence[tuple[str, Cell]],
    repetitions: int,
    size: int,
    measured: pd.DataFrame,
    rounds: Callable[[str], int] = lambda method: 1,
) -> list[Chunk]:
    """Return the chunks that are left: every cell's first before any cell's second, so that a stopped study shows all.

    cells: with their methods.  size: repetitions of a chunk.  measured: a row per measured chunk: method, parameters as `rows`
    writes them, target, clients, epsilon, repetitions.  rounds: how many a method has for each repetition.
    """
    there: dict[tuple[Any, ...], Any] = {
        (row.method, row.target, row.clients, row.epsilon, str(row.parameters)): row.repetitions
        for row in measured.itertuples(index=False)
    }
    chunks = range(-(-repetitions // size))
    return [
        (method, cell, chunk, upto)
        for chunk, upto in ((chunk, min((chunk + 1) * size, repetitions)) for chunk in chunks)
        for method, cell in cells
        if there.get((method, cell.target, cell.clients, cell.epsilon, _named(chunk)), 0)
        < (upto - chunk * size) * rounds(method)
    ]


def row(
    cell: Cell,
    method: str,
    metric: str,
    value: float,
    *,
    parameters: str = "",
    repetitions: int = 1,
    low: float | None = None,
    high: float | None = None,
) -> dict[str, Any]:
    """Return one row of `benchmarks`, without study, measured_at and version; low, high: the value's 95 % interval."""
    named = {"method": method, "parameters": parameters, **cell.__dict__, "metric": metric}
    return named | {"repetitions": repetitions, "value": value, "low": low, "high": high}


def rows(method: str, cell: Cell, chunk: int, rounds: int, sums: Mapping[str, float]) -> pd.DataFrame:
    """Return the rows of one chunk from metric -> sum over its rounds."""
    common: dict[str, Any] = {"parameters": _named(chunk), "repetitions": rounds}
    return pd.DataFrame([row(cell, method, metric, value, **common) for metric, value in sums.items()])


def _named(chunk: int) -> str:
    return f"chunk={chunk:03d}"


def measured(
    measure: Callable[..., pd.DataFrame], pieces: Sequence[tuple[Any, ...]], workers: int = 1
) -> Iterator[pd.DataFrame]:
    """Yield measure(*piece) of each piece of work, as they are made.

    measure: a function of a module, so that other processes find it.  workers: processes, 1 for this one.
    """
    if workers == 1 or len(pieces) < 2:
        for piece in pieces:
            yield measure(*piece)
        return
    with _one_thread_each(), ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(measure, *piece) for piece in pieces]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:  # an interrupt, or the consumer of rows has stopped
            pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes started inside read the environment when they load numpy."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
