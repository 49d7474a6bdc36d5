"""How long a simulated aggregate and its estimate take, of few clients and of many, one beside the other.

Seconds are the clock's, medians over repetitions: what else the machine does counts.  The ratio of many clients' time to few
clients' is of processor time within one repetition, which other work hardly changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd

from dpcore import _checks, pipeline
from dpcore._random import seeded
from dpcore.studies.accuracy import interval
from dpcore.studies.aims import METHOD, Verdict
from dpcore.studies.contestants import ATTRIBUTE, contestants
from dpcore.studies.targets import target

STUDY = "speed"
TARGETS = ("beta_2_5", "claw", "lognormal")  # smooth, fine, and with an atom
FEW, MANY = 100_000, 1_000_000_000
LEAST_REPETITIONS = 7
_EPSILON = 1.0
_SIMULATE, _ESTIMATE, _RATIO = "simulate_seconds", "estimate_seconds", "together_ratio"
_ESTIMATE_LIMIT, _RATIO_LIMIT = 0.5, 1.25  # seconds; many clients' time over few clients'


def measured(repetitions: int = LEAST_REPETITIONS) -> Iterator[pd.DataFrame]:
    """Yield the rows of `benchmarks` but `measured_at` and `version`, of one target after another; repetitions: at least 7."""
    _checks.within(LEAST_REPETITIONS, 1000, repetitions=repetitions)
    for name in TARGETS:
        _once(name, FEW, 0), _once(name, MANY, 0)  # tables that are made once are made now
        times = np.array([[_once(name, n, 1 + i) for n in (FEW, MANY)] for i in range(repetitions)])
        rows = [_row(name, MANY, _RATIO, times[:, 1, 2] / times[:, 0, 2])]
        for column, n in enumerate((FEW, MANY)):
            rows += [_row(name, n, metric, times[:, column, k]) for k, metric in enumerate((_SIMULATE, _ESTIMATE))]
        yield pd.DataFrame(rows)


def verdicts(rows: pd.DataFrame) -> list[Verdict]:
    """Return the aims about time with the worst that was found; rows: target, clients, metric, value."""
    by_metric = rows.groupby("metric")["value"].max() if len(rows) else pd.Series(dtype=float)
    return [
        Verdict("seconds an estimate takes, the slowest", by_metric.get(_ESTIMATE), _ESTIMATE_LIMIT),
        Verdict(f"time of {MANY:,} clients over that of {FEW:,}, the largest", by_metric.get(_RATIO), _RATIO_LIMIT),
    ]


def _once(name: str, n: int, repetition: int) -> tuple[float, float, float]:
    """Seconds of one simulation and of its estimate, and the processor's of both."""
    ours = next(each for each in contestants() if each.name == METHOD)
    scheme, people = ours.scheme(n, _EPSILON), target(name)
    start, processor = perf_counter(), process_time()
    aggregate = pipeline.simulate(scheme, people, seeded((n, repetition)), n)
    middle = perf_counter()
    pipeline.estimate(aggregate, ATTRIBUTE)
    return middle - start, perf_counter() - middle, process_time() - processor


def _row(name: str, n: int, metric: str, values: np.ndarray) -> dict[str, Any]:
    low, high = interval(values)
    return {
        "study": STUDY,
        "method": METHOD,
        "parameters": "",
        "target": name,
        "clients": n,
        "epsilon": _EPSILON,
        "metric": metric,
        "repetitions": len(values),
        "value": float(np.median(values)),
        "low": low,
        "high": high,
    }
