"""What the parts of the study share: a rate, rows of `benchmarks`, and one core."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from time import process_time
from typing import Any

import numpy as np

from dpcore.laboratory.studies import runner
from dpcore.laboratory.studies.accuracy import interval
from dpcore.laboratory.studies.runner import Cell

LEAST_REPETITIONS = 7
EPSILON = 1.0
BASELINE = inf  # the epsilon of what keeps nothing private
SECONDS = 0.05  # of processor time, the least that one measurement takes: 50 of the coarsest clock's ticks


def rate(operation: Callable[[], Any], count: int) -> float:
    """Return how many a second of processor time are handled by an operation that handles `count`; at least one call."""
    done, begun = 0, process_time()
    while True:
        operation()
        done += count
        spent = process_time() - begun
        if spent >= SECONDS:
            return done / spent


def seconds(operation: Callable[[], Any]) -> float:
    """Return the processor time of one call."""
    begun = process_time()
    operation()
    return process_time() - begun


def row(
    method: str,
    metric: str,
    values: Sequence[float] | np.ndarray,
    *,
    parameters: str = "",
    target: str = "",
    clients: int = 0,
    epsilon: float = EPSILON,
) -> dict[str, Any]:
    """Return one row: the median of values, one a repetition, and its interval."""
    low, high = interval(np.asarray(values))
    named: dict[str, Any] = {"parameters": parameters, "repetitions": len(values), "low": low, "high": high}
    return runner.row(Cell(target, clients, epsilon), method, metric, float(np.median(values)), **named)


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process, and those it starts, on one of its cores, where the system can; afterwards it has all again."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
