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

    def errors(self, frequencies: np.ndarray) -> np.ndarray:
        """Return the standard errors of the estimates, (k,), if the frequencies are these, (k,)."""

    def skewness(self, frequencies: np.ndarray) -> np.ndarray | float:
        """Return the skewness of the estimates, (k,), if the frequencies are these, (k,); 0 if it is not known."""


class Intervals(PointwiseIntervals, Protocol):
    """Intervals of all frequencies of a distribution, single or together."""

    def simultaneous(self, confidence: float) -> tuple[np.ndarray, np.ndarray]:
        """Return limits within [0, 1], shapes (k,), that cover all k frequencies together, each at c^(1/k) [Sidak1967]."""


@dataclass(frozen=True, eq=False)
class NormalIntervals:
    """Intervals of so many standard errors, (k,), to either side of raw, (k,)."""

    raw: np.ndarray
    standard_errors: np.ndarray

    def __call__(self, deviations: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.raw - deviations * self.standard_errors, self.raw + deviations * self.standard_errors

    def errors(self, frequencies: np.ndarray) -> np.ndarray:
        return self.standard_errors

    def skewness(self, frequencies: np.ndarray) -> np.ndarray | float:
        return 0.0

    def simultaneous(self, confidence: float) -> tuple[np.ndarray, np.ndarray]:
        return within_bounds(self, self.raw, confidence ** (1 / len(self.raw)))


@dataclass(frozen=True, eq=False)
class ScoreIntervals:
    """Intervals that invert the score test of a frequency oracle; n: reports, of all categories or of each, (k,)."""

    model: ScoreSums
    raw: np.ndarray
    n: float | np.ndarray

    def __call__(self, deviations: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.model.score_interval(self.raw, self.n, deviations)

    def errors(self, frequencies: np.ndarray) -> np.ndarray:
        return np.sqrt(np.asarray(self.model.variance(frequencies, self.n)))

    def skewness(self, frequencies: np.ndarray) -> np.ndarray | float:
        """Scores are 0 or 1, so that sums are binomial."""
        mean = self.model.means(frequencies)
        return np.asarray((1 - 2 * mean) / np.sqrt(self.n * mean * (1 - mean)))

    def simultaneous(self, confidence: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the score test's limits, widened to those of Clopper and Pearson.

        Scores are 0 or 1, and the sum of a category's is binomial.  Far in its tails a score test rejects too often: of 10,000
        categories at epsilon 4 its limits cover all shares of 300 clients with .29 instead of .95, the wider ones with .97.
        """
        single = confidence ** (1 / len(self.raw))
        low, high = within_bounds(self, self.raw, single)
        below, above = binomial_limits(self.model, self.raw, self.n, (1 - single) / 2)
        return np.minimum(low, below), np.maximum(high, above)


def binomial_limits(
    model: ScoreSums, raw: np.ndarray, n: float | np.ndarray, tail: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits within [0, 1] of frequencies whose supports of n reports are binomial [ClopperPearson1934], (k,) each.

    tail: error probability of either limit.
    """
    from scipy.special import betaincinv  # commands that estimate nothing read this module too

    start, contrast = float(model.other_mean), float(model.contrast)
    hits = np.clip(start + contrast * raw, 0.0, 1.0) * n
    others = n - hits
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
    return below, above


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

    def errors(self, frequencies: np.ndarray) -> np.ndarray:
        return np.sqrt(self.variance(frequencies))

    def skewness(self, frequencies: np.ndarray) -> np.ndarray | float:
        return 0.0


def within_bounds(intervals: PointwiseIntervals, raw: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest frequency in [0, 1] that a likelihood ratio test does not reject, shapes (k,).

    The test of f has the statistic T(f) - T(f*).  T(f) is the squared distance of f from raw in standard errors at f, and f* is
    the frequency in [0, 1] of least T: raw itself or a bound.  So an interval is never empty [FeldmanCousins1998].
    """
    nearest = np.clip(raw, 0.0, 1.0)
    least = _squared_distance(intervals, raw, nearest)

    def is_covered(frequencies: np.ndarray) -> np.ndarray:
        statistic = np.maximum(_squared_distance(intervals, raw, frequencies) - least, 0.0)
        room = np.sqrt(_squared_distance(intervals, np.round(frequencies), frequencies))
        skewness = np.where(frequencies > 0.5, -1, 1) * intervals.skewness(frequencies)
        return np.asarray(level_within_bounds(np.sqrt(statistic), room, skewness) <= confidence + constants.ROUNDING)

    def limit(widest: np.ndarray) -> np.ndarray:
        is_widest = is_covered(widest)
        if is_widest.all():
            return widest
        covered, beyond = nearest, widest
        for _ in range(constants.HALVINGS):
            middle = (covered + beyond) / 2
            inside = is_covered(middle)
            covered, beyond = np.where(inside, middle, covered), np.where(inside, beyond, middle)
        return np.where(is_widest, widest, covered)

    low, high = intervals(np.hypot(normal_quantile(confidence), np.sqrt(least)))
    return limit(np.clip(low, 0.0, 1.0)), limit(np.clip(high, 0.0, 1.0))


def _squared_distance(intervals: PointwiseIntervals, raw: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """Of raw, (k,), from frequencies, (k,), in standard errors at the frequencies."""
    return np.asarray((raw - frequencies) ** 2 / np.maximum(intervals.errors(frequencies), constants.ROUNDING) ** 2)


def level_within_bounds(statistic: np.ndarray, room: np.ndarray, skewness: np.ndarray) -> np.ndarray:
    """Return the probability of a likelihood ratio below statistic^2 for a frequency near a bound.

    room: distance d from the nearer bound, in standard errors.  The other bound is ignored, so the level is too low where it is
    near as well.  skewness: of an estimate, positive if its longer tail points away from the nearer bound.

    An estimate that lies t standard errors from the frequency has the ratio t^2.  Estimates beyond the bound are compared with
    the bound: their ratio is t^2 - (t - d)^2 = 2 d t - d^2.  So the ratio is below c^2 if t < c for estimates on the far side
    of the frequency.  For estimates towards the bound it is below c^2 if t < c where c <= d, and if t < (c^2 + d^2) / (2 d)
    elsewhere.  Probabilities are those of a normal distribution with the first term of Edgeworth's series, which is left out
    where it would raise the level: counts are discrete.
    """
    from scipy.special import ndtr  # commands that estimate nothing read this module too

    beyond = (statistic**2 + room**2) / (2 * np.maximum(room, constants.ROUNDING))
    away, toward = statistic, -np.where(statistic > room, beyond, statistic)
    tilt = skewness / 6 * ((away**2 - 1) * np.exp(-(away**2) / 2) - (toward**2 - 1) * np.exp(-(toward**2) / 2))
    return np.asarray(ndtr(away) - ndtr(toward) - np.maximum(tilt, 0.0) / np.sqrt(2 * np.pi))


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
