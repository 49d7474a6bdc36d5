"""The coverage study: do nominal 95 % intervals of functionals cover the true value, how long are they, and which are refused?

One simulated round and one fit a repetition; every functional is asked of it, and the pointwise bands of its curves.
Repetitions come in chunks: a chunk is what is measured, landed and gone on with, and a cell that has twenty chunks can be
given more.

Rows.  `parameters` names the chunk, `metric` is FUNCTIONAL:STATISTIC, `repetitions` counts the chunk's, and `value` is a sum
over those of its repetitions that returned a number:

    returned, covered, above   how many; whose interval covers the true value; whose interval lies above it
    error, square              of value - truth and of its square
    length, standard_error     of high - low and of the standard error
    second_order               of the share of the variance that is of second order, if every estimate reports it
    broken                     how many numbers were not finite; they count as not returned, and have a row only where there are

`density_band` and `cdf_band` are listed as functionals: covered and above are shares of a hundred points, error and square
those of the band's middle, on average over the points.

`failed` counts repetitions without an estimate; it has no functional.  The view `coverage_cells` adds the chunks up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd

from dpcore.errors import DPCoreError, NotEstimable, SchemeError
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.functionals import Functional, parse
from dpcore.functionals.base import nodes
from dpcore.laboratory.studies import runner
from dpcore.laboratory.studies.contestants import Contestant, contestants
from dpcore.laboratory.studies.runner import Cell
from dpcore.laboratory.studies.targets import densities
from dpcore.laboratory.studies.targets.densities import Target

TARGETS = tuple(name for name in densities.NAMES if densities.target(name).has_density)
CHUNK = 50
CONFIDENCE = 0.95
FUNCTIONALS = (
    "mean",
    "variance",
    "moment(2)",
    "central_moment(3)",
    "cdf(0.3)",
    "probability(0.2, 0.6)",
    "quantile(0.1)",
    "quantile(0.5)",
    "quantile(0.9)",
    "derivative(0, 0.3)",  # 0.3 is no dyadic number: no knot of any level is near it
    "derivative(1, 0.3)",
    "derivative(2, 0.3)",
    "integrated_square(0)",
    "integrated_square(1)",
    "power_integral(0.5)",
    "power_integral(1.5)",
    "power_integral(3)",
    "entropy",
    "fisher_information",
    "wasserstein(1, uniform)",
    "wasserstein(2, uniform)",
    "kullback_leibler(uniform)",
)
BANDS = ("density_band", "cdf_band")
_AT = (np.arange(100) + 0.5) / 100
_NORMAL_LENGTH = 3.919928  # of an interval, in standard errors
_NEAR_ENDS = tuple(2.0**-k for k in range(8, 41))  # a density may rise from zero faster than any power
_DEPTHS = (13, 23, 33)  # of these, for three integrals, the last the truth
_UNBOUNDED = 600.0  # |log| of a double next to zero is 690; weights of densities above zero stay far below
_EXACT = 1e-6  # relative difference between two integrals that are one
_HALVINGS = 60
_LEAST = 2.0**-_HALVINGS  # below 0, where nobody is
_ROUNDING = 1e-9  # relative; at the uniform some truths are the least or largest possible, where intervals are cut


def measure(method: str, cell: Cell, chunk: int, upto: int) -> pd.DataFrame:
    """Return the rows of one chunk: repetitions chunk * CHUNK up to `upto`."""
    contestant = next(candidate for candidate in contestants() if candidate.name == method)
    repetitions = range(chunk * CHUNK, upto)
    sums = _sums(contestant, cell, [runner.seed(cell, method, repetition) for repetition in repetitions])
    return runner.rows(method, cell, chunk, len(repetitions), sums)


def _sums(contestant: Contestant, cell: Cell, seeds: list[tuple[int, ...]]) -> dict[str, float]:
    """metric -> sum over repetitions."""
    law = densities.target(cell.target)
    asked = {str(functional): (functional, value) for functional, value in truths(cell.target).items()}
    numbers: dict[str, list[tuple[float, ...]]] = {name: [] for name in (*asked, *BANDS)}
    shares: dict[str, list[float | None]] = {name: [] for name in numbers}
    failed, broken = 0, dict.fromkeys(numbers, 0)
    for seed in seeds:
        try:
            estimate = contestant.estimate(law, cell.clients, cell.epsilon, seed)
        except (DPCoreError, np.linalg.LinAlgError):
            failed += 1
            continue
        for name, (functional, value) in asked.items():
            result = estimate.functional(functional, CONFIDENCE)
            if result.value is None:
                continue
            if not _is_finite(result):
                broken[name] += 1
                continue
            numbers[name].append(seen(result, value))
            shares[name].append(result.second_order)
        for name, row in bands(estimate, law).items():
            if not np.all(np.isfinite(row)):
                broken[name] += 1
                continue
            numbers[name].append(row)
            shares[name].append(0.0)
    sums = {"failed": float(failed)} | {f"{name}:broken": float(count) for name, count in broken.items() if count}
    statistics = ("returned", "covered", "above", "error", "square", "length", "standard_error")
    for name, rows in numbers.items():
        totals = np.sum(np.array(rows).reshape(-1, len(statistics)), axis=0)
        sums |= {f"{name}:{statistic}": float(total) for statistic, total in zip(statistics, totals, strict=True)}
        second_orders = [share for share in shares[name] if share is not None]
        if len(second_orders) == len(rows):
            sums[f"{name}:second_order"] = float(sum(second_orders))
    return sums


def _is_finite(result: Any) -> bool:
    return bool(np.all(np.isfinite([result.value, result.low, result.high, result.standard_error])))


def seen(result: Any, truth: float) -> tuple[float, ...]:
    """Return what a repetition's interval adds to each sum."""
    error, slack = result.value - truth, _ROUNDING * max(1.0, abs(truth))
    above = result.low > truth + slack
    covered = not above and truth <= result.high + slack
    return 1.0, float(covered), float(above), error, error**2, result.high - result.low, result.standard_error


def bands(estimate: DensityEstimate, law: Target) -> dict[str, tuple[float, ...]]:
    """Return band -> what a repetition's adds to each sum."""
    limits = estimate.band(_AT, CONFIDENCE), estimate.cdf_band(_AT, CONFIDENCE)
    return {name: _band(*ends, truth(_AT)) for name, ends, truth in zip(BANDS, limits, (law.pdf, law.cdf), strict=True)}


def _band(low: np.ndarray, high: np.ndarray, truth: np.ndarray) -> tuple[float, ...]:
    above, length = low > truth + _ROUNDING, high - low
    if not np.all(np.isfinite(length)):
        return (np.nan,) * 7
    covered, error = ~above & (truth <= high + _ROUNDING), (low + high) / 2 - truth
    points = np.array([np.ones(len(truth)), covered, above, error, error**2, length, length / _NORMAL_LENGTH])
    return tuple(float(mean) for mean in points.mean(axis=1))


# What is asked, and what is true


@lru_cache(maxsize=1)
def functionals() -> tuple[Functional, ...]:
    """Return what is asked: every functional that there is, at its places."""
    return tuple(map(parse, FUNCTIONALS))


@lru_cache(maxsize=32)
def truths(name: str) -> Mapping[Functional, float]:
    """Return functional -> its value at a target, without those that are infinite there, or ask for what it has not.

    Integrals from 2^-20, 2^-30 and 2^-40 on differ by less and less where there is one.
    """
    laws = [Truth(densities.target(name), _NEAR_ENDS[:depth]) for depth in _DEPTHS]
    values = {}
    for functional in functionals():
        try:
            rough, near, value = (functional.value(law) for law in laws)
        except NotEstimable:  # a derivative of a density that jumps
            continue
        last = abs(value - near)
        if np.isfinite(value) and last <= max(_EXACT * max(1.0, abs(value)), abs(near - rough) / 2):
            values[functional] = float(value)
    return values


@lru_cache(maxsize=32)
def regular(name: str) -> Mapping[str, bool]:
    """Return functional -> whether its influence function is bounded at a target, for all whose truth is finite."""
    truth = Truth(densities.target(name))
    return {str(functional): _is_bounded(functional, truth) for functional in truths(name)}


def _is_bounded(functional: Functional, truth: Truth) -> bool:
    try:
        influence = functional.expand(truth).influence
    except SchemeError:  # at this law it has none
        return False
    inside = nodes(0.0, 1.0, truth.breakpoints, influence.breaks)[0]
    x = np.concatenate([[0.0, 1.0], inside])
    with np.errstate(all="ignore"):
        weights = [np.abs(weight(x)).max() for _, weight in influence.weights]
    return all(weight < _UNBOUNDED for weight in weights)


@dataclass(frozen=True, eq=False)
class Truth:
    """A target as functionals want a density: on [0, 1], its atoms at the ends beside it.

    near_ends: how near to the ends pieces of integrals reach.
    """

    target: Target
    near_ends: tuple[float, ...] = _NEAR_ENDS
    lower, upper = 0.0, 1.0

    @cached_property
    def breakpoints(self) -> np.ndarray:
        near = np.array(self.near_ends)
        return np.unique(np.concatenate([np.linspace(0.0, 1.0, 129), self.target.corners, near, 1 - near]))

    @property
    def atoms(self) -> tuple[float, float]:
        """The masses at 0 and at 1."""
        masses = dict(self.target.atoms)
        return masses.get(0.0, 0.0), masses.get(1.0, 0.0)

    def pdf(self, x: Any) -> np.ndarray:
        return self.target.pdf(x)

    def cdf(self, x: Any) -> np.ndarray:
        return self.target.cdf(x)

    def derivative(self, order: int) -> densities.Function:
        if order > len(self.target.derivatives):
            raise NotEstimable(f"{self.target.name} has no derivative of order {order}")
        return self.pdf if order == 0 else self.target.derivatives[order - 1]

    def quantile(self, t: Any) -> np.ndarray:
        """Return the smallest x with cdf(x) >= t (any shape), by bisection."""
        t = np.asarray(t, dtype=np.float64)
        low, high = np.full(t.shape, -_LEAST), np.ones(t.shape)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            below = self.cdf(middle) < t
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.clip(high, 0.0, 1.0)
