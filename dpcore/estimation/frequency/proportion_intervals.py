"""Intervals of proportions: of single categories, within the possible range, and of selected ones.

The interval of a single category covers with its confidence if the category was chosen before the estimates were seen.  The
largest estimates tend to have the largest positive errors: of 2,000 equal shares the 30 largest lie two or more standard errors
above the truth.  Simultaneous intervals cover all k shares jointly with the stated confidence, and so any selection of them, by
whatever rule.  Intervals with a controlled false coverage rate are shorter, but cover a stated fraction only on average over
selections [BenjaminiYekutieli2005].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpcore.estimation import constants
from dpcore.estimation.functional_estimate import normal_quantile
from dpcore.mechanisms.observation_model import ScoreSums, wilson


class PointwiseIntervals(Protocol):
    """Intervals of single frequencies around unbiased ones; deviations: standard errors, of all or (k,)."""

    def __call__(self, deviations: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends, shapes (k,), uncut."""

    def deviations(self, frequencies: np.ndarray) -> np.ndarray:
        """Return how many standard errors frequencies (k,) lie from the unbiased ones."""


class Intervals(PointwiseIntervals, Protocol):
    """Intervals of all frequencies of a distribution, single or together."""

    def simultaneous(self, confidence: float) -> tuple[np.ndarray, np.ndarray]:
        """Return limits within [0, 1], shapes (k,), that cover all k frequencies together, each at c^(1/k) [Sidak1967]."""


@dataclass(frozen=True, eq=False)
class NormalIntervals:
    """Intervals of so many standard errors, (k,), to either side of raw, (k,)."""

    raw: np.ndarray
    errors: np.ndarray

    def __call__(self, deviations: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.raw - deviations * self.errors, self.raw + deviations * self.errors

    def deviations(self, frequencies: np.ndarray) -> np.ndarray:
        return np.asarray(np.abs(self.raw - frequencies) / np.maximum(self.errors, np.finfo(float).tiny))

    def simultaneous(self, confidence: float) -> tuple[np.ndarray, np.ndarray]:
        return within_bounds(self, self.raw, normal_quantile(confidence ** (1 / len(self.raw))))


@dataclass(frozen=True, eq=False)
class ScoreIntervals:
    """Intervals that invert the score test of a frequency oracle; n: reports, of all categories or of each, (k,)."""

    model: ScoreSums
    raw: np.ndarray
    n: float | np.ndarray

    def __call__(self, deviations: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.model.score_interval(self.raw, self.n, deviations)

    def deviations(self, frequencies: np.ndarray) -> np.ndarray:
        return np.asarray(np.abs(self.raw - frequencies) / np.sqrt(self.model.variance(frequencies, self.n)))

    def simultaneous(self, confidence: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the score test's limits, widened to those of Clopper and Pearson.

        Scores are 0 or 1, and the sum of a category's is binomial.  Far in its tails a score test rejects too often: of 10,000
        categories at epsilon 4 its limits cover all shares of 300 clients with .29 instead of .95, the wider ones with .97.
        """
        from scipy.special import betaincinv  # nobody but lists of categories asks

        single = confidence ** (1 / len(self.raw))
        low, high = within_bounds(self, self.raw, normal_quantile(single))
        start, contrast, tail = float(self.model.other_mean), float(self.model.contrast), (1 - single) / 2
        hits = np.clip(start + contrast * self.raw, 0.0, 1.0) * self.n
        others = self.n - hits
        least = np.where(
            hits > constants.SOLVER_ROUNDING,
            betaincinv(np.maximum(hits, constants.SOLVER_ROUNDING), others + 1, tail),
            0.0,
        )
        most = np.where(
            others > constants.SOLVER_ROUNDING,
            betaincinv(hits + 1, np.maximum(others, constants.SOLVER_ROUNDING), 1 - tail),
            1.0,
        )
        below, above = (np.clip((end - start) / contrast, 0.0, 1.0) for end in (least, most))
        return np.minimum(low, below), np.maximum(high, above)


@dataclass(frozen=True, eq=False)
class QuadraticIntervals:
    """Intervals that invert a score test whose variance is (constant + linear f - f^2) / n; raw: (k,)."""

    raw: np.ndarray
    constant: float
    linear: float
    n: int

    def variance(self, frequencies: np.ndarray) -> np.ndarray:
        return np.asarray(self.constant + frequencies * (self.linear - frequencies)) / self.n

    def __call__(self, deviations: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return wilson(self.raw, np.asarray(deviations) ** 2 / self.n, self.constant, self.linear)

    def deviations(self, frequencies: np.ndarray) -> np.ndarray:
        return np.asarray(np.abs(self.raw - frequencies) / np.sqrt(self.variance(frequencies)))


def within_bounds(intervals: PointwiseIntervals, raw: np.ndarray, deviations: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits, shapes (k,), of the possible frequencies that a test does not reject against the best possible one.

    f in [0, 1] belongs to the interval if T(f) - T(f*) <= deviations^2, T the squared distance from raw in standard errors and
    f* the possible frequency of least T, raw itself or a bound.  So an interval is never empty, its limits are continuous in
    the reports, and it contains the possible part of the interval that is not clipped [FeldmanCousins1998].
    """
    low, high = intervals(np.hypot(deviations, intervals.deviations(np.clip(raw, 0.0, 1.0))))
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


class UnionInterval(Protocol):
    """The ends of the interval of a union with `share` of all categories, around its unbiased share `raw`, uncut."""

    def __call__(self, raw: float, *, z: float, share: float) -> tuple[float, float]: ...


def differs_from_equal(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return which of k categories differ significantly from an equal share: whose simultaneous interval excludes 1/k.

    Parameters
    ----------
    low, high
        Bounds of intervals that cover all k shares together with confidence c, shapes (k,).

    Notes
    -----
    The average share of the other categories is (1 - f_j) / (k - 1).  It equals f_j exactly where f_j = 1/k, so that the test
    of f_j = 1/k asks whether category j differs from the average of the rest.  A category is marked falsely only where its
    share is 1/k and its interval does not cover it.  One or more such marks have probability 1 - c at most, whatever the other
    shares: the familywise error rate is controlled.  Where all shares are equal, no category is marked with probability c at
    least: this is the maximum |t| test of homogeneity with Sidak's critical value [Sidak1967].  Pearson's statistic has more
    power where all shares differ a little, but it names no category, and may contradict the intervals beside it.
    """
    equal = 1 / len(low)
    if len(low) == 1:  # nothing to differ from
        return np.zeros(1, dtype=bool)
    return np.asarray((low > equal) | (high < equal))
