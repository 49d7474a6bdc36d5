"""Weights of the data with known mean for every distribution, and limits of the proportions below edges made of them.

Weights g of the data y have the mean sum_c v_c p_c, v = A'g, for every distribution p of the input cells.  Those of least
variance at the uniform distribution, whose v is closest to a target t, are with B = W^{1/2} A less its mean, W the Fisher
weights,

    g = W^{1/2} (B B')^+ B t;    v is computed, and its distance from t enters the interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import scipy

from dpcore.estimation import constants
from dpcore.estimation.density.likelihood import Likelihood
from dpcore.estimation.functional_estimate import normal_quantile
from dpcore.estimation.inference.confidence_bands import simulated_critical_value


def in_order(low: np.ndarray | float, high: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """Return limits computed from different weights, both at their middle if noise has reversed their order.

    Neither moves towards the other side, so that coverage is kept, and no interval is shorter than its noise.
    """
    middle = (np.asarray(low) + high) / 2
    return np.minimum(low, middle), np.maximum(high, middle)


def of_bracket(z: float | np.ndarray, separation: np.ndarray | float) -> np.ndarray:
    """Return the critical value of an interval between two limits that have noise, for a value between their means.

    Where the limits are far apart, only one of them can fail to cover.  The critical value c solves
    Phi(c + separation) - Phi(-c) = 2 Phi(z) - 1: z where the separation is 0, the one-sided value where it is large
    [ImbensManski2004].  It is never below 0, so that the interval contains both limits.  The separation is an
    estimate itself, which costs half a point of coverage where it is about one standard error.

    z: two-sided, or (n,).  separation: of the limits' means in standard errors, or (n,); negative counts as 0.

    >>> of_bracket(1.96, np.array([0.0, 10.0])).round(3)
    array([1.96 , 1.645])
    """
    missed, separation = 2 * scipy.special.ndtr(-np.asarray(z, dtype=np.float64)), np.maximum(separation, 0.0)
    one_sided = np.clip(-scipy.special.ndtri(missed), 0.0, z)
    low, high, _ = np.broadcast_arrays(one_sided, np.asarray(z, dtype=np.float64), separation)
    for _ in range(constants.CRITICAL_HALVINGS):
        middle = (low + high) / 2
        covers = scipy.special.ndtr(-middle - separation) + scipy.special.ndtr(-middle) <= missed
        low, high = np.where(covers, low, middle), np.where(covers, middle, high)
    return np.asarray(high)


@dataclass(frozen=True, eq=False)
class Weighed:
    """weights: g, (n, S).  means: v, (n, inputs), including `start`, (n,), a constant added to g'y and to v."""

    weights: np.ndarray
    start: np.ndarray
    means: np.ndarray

    def less(self, first: int, second: int) -> Weighed:
        """Return the difference of two of them, as one."""
        return Weighed(*((part[first] - part[second])[None] for part in (self.weights, self.start, self.means)))


@dataclass(frozen=True, eq=False)
class DistributionFreeWeights:
    """Weights with known means; expected: (S,), where they have least variance, by default at the uniform distribution."""

    likelihood: Likelihood
    expected: np.ndarray | None = None

    @property
    def inputs(self) -> int:
        """Number of input cells."""
        return self.likelihood.inputs

    @cached_property
    def uniform(self) -> np.ndarray:
        """Expected values of the uniform distribution, (S,)."""
        return self.likelihood.expected(np.full(self.inputs, 1 / self.inputs))

    @cached_property
    def observed(self) -> np.ndarray:
        """The data, (S,)."""
        return self.uniform + self.likelihood.residual(self.uniform)

    @cached_property
    def _matrix(self) -> np.ndarray:
        return self.likelihood.expected(np.eye(self.inputs))

    @cached_property
    def _solve(self) -> np.ndarray:
        """W^{1/2} (B B')^+ B, (S, inputs)."""
        expected = self.uniform if self.expected is None else self.expected
        root = np.sqrt(self.likelihood.weights(expected))[:, None]
        scaled = root * (self._matrix - self.uniform[:, None])
        return np.asarray(
            root * (np.linalg.pinv(scaled @ scaled.T, rcond=constants.RANK_TOLERANCE, hermitian=True) @ scaled)
        )

    def weigh(self, targets: np.ndarray) -> Weighed:
        """Return the weights of targets (n, inputs)."""
        weights = targets @ self._solve.T
        means = weights @ self._matrix
        start = targets.mean(axis=1) - means.mean(axis=1)
        return Weighed(weights, start, means + start[:, None])

    def values(self, weighed: Weighed) -> np.ndarray:
        """Return g'y, (n,)."""
        return np.asarray(weighed.weights @ self.observed + weighed.start)

    def deviations(self, weighed: Weighed, observed: np.ndarray) -> np.ndarray:
        """Return the standard deviations of g'y, (n,), at expected values (S,)."""
        variance = np.diagonal(self.likelihood.covariance(weighed.weights, observed))
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))

    def interval(self, weighed: Weighed, least: np.ndarray, most: np.ndarray, z: float) -> tuple[float, float, float]:
        """Return low, high and standard error of a functional with weights between least and most (inputs,) per cell."""
        value = float(self.values(weighed)[0])
        error = float(self.deviations(weighed, self.observed)[0])
        low, high = np.min(least - weighed.means), np.max(most - weighed.means)
        return float(value - z * error + low), float(value + z * error + high), error


@dataclass(frozen=True, eq=False)
class Shares:
    """Limits of the proportions below the edges j / edges, j = 0..edges, of the range.

    ramp: parts over which targets fall, beyond one: row j + ramp falls from 1 after edge j to 0 at edge j + ramp + 1.  It
    bounds the proportion below j from above and that below j + ramp from below.
    """

    weighting: DistributionFreeWeights
    edges: int
    ramp: int

    @cached_property
    def weighed(self) -> Weighed:
        """The edges + ramp + 1 rows; the target is 0 everywhere in the first and 1 everywhere in the last."""
        part = np.arange(self.weighting.inputs) * self.edges // self.weighting.inputs
        starts = np.arange(-self.ramp, self.edges + 1)[:, None]
        return self.weighting.weigh(1 - np.clip((part - starts + 1) / (self.ramp + 1), 0.0, 1.0))

    @cached_property
    def _beyond(self) -> tuple[np.ndarray, np.ndarray]:
        """Largest errors of the limits of each edge from below and above, (edges + 1,) each."""
        below = (
            np.arange(self.weighting.inputs) * self.edges < np.arange(self.edges + 1)[:, None] * self.weighting.inputs
        )
        means, last = self.weighed.means, self.edges + 1
        return np.min(below - means[:last], axis=1), np.max(below - means[self.ramp :], axis=1)

    @cached_property
    def _observed(self) -> tuple[np.ndarray, np.ndarray]:
        observations = self.weighting
        return observations.values(self.weighed), observations.deviations(self.weighed, observations.observed)

    @cached_property
    def _uniform(self) -> tuple[np.ndarray, np.ndarray]:
        return self.weighed.means.mean(axis=1), self.weighting.deviations(self.weighed, self.weighting.uniform)

    def limits(self, z: float) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper limits of the proportion below each edge, (edges + 1,) each, z deviations to either side."""
        return self._limits(*self._observed, self._all, self._all, lambda _: z)

    def at(self, place: np.ndarray, z: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper limits of the proportion up to each place (n,).  z: standard errors, one for all or (n,)."""
        return self._limits(*self._observed, *self.around(place), partial(of_bracket, z))

    def _limits(
        self,
        values: np.ndarray,
        deviations: np.ndarray,
        begin: np.ndarray,
        end: np.ndarray,
        critical: Callable[[np.ndarray], float | np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lower limits below some edges, upper limits below others, (n,) each; critical: z, given their separation."""
        above = end + self.ramp
        low, high = in_order(values[begin] + self._beyond[0][begin], values[above] + self._beyond[1][end])
        z = critical((high - low) / np.maximum(np.maximum(deviations[begin], deviations[above]), constants.ROUNDING))
        return np.clip(low - z * deviations[begin], 0.0, 1.0), np.clip(high + z * deviations[above], 0.0, 1.0)

    @property
    def _all(self) -> np.ndarray:
        """The edges, (edges + 1,)."""
        return np.arange(self.edges + 1)

    def expected_length(self, z: float) -> float:
        """Return the mean distance of the limits at a point between edges if values are uniform."""
        low, high = self._limits(*self._uniform, self._all, self._all, lambda _: z)
        return float(np.mean(high[1:] - low[:-1]))

    def critical_value(self, confidence: float) -> float:
        """Return the z of simultaneous limits."""
        covariance = self.weighting.likelihood.covariance(self.weighed.weights, self.weighting.observed)
        seen = np.diagonal(covariance) > constants.ROUNDING**2
        if not np.any(seen):
            return normal_quantile(confidence)
        return simulated_critical_value(covariance[np.ix_(seen, seen)], confidence)

    def around(self, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the last edge at or below and the first above, (n,) each, of places (n,) in the range."""
        begin = np.clip(np.floor(place * self.edges), -1, self.edges).astype(np.int64)
        return np.maximum(begin, 0), np.minimum(begin + 1, self.edges)

    def between(self, a: float, b: float, z: float) -> tuple[float, float, float]:
        """Return lower and upper limits of the proportion from place a to b, both included, and the larger standard error."""
        cells = np.arange(self.weighting.inputs + 1) / self.weighting.inputs
        touched = (cells[:-1] <= b) & ((cells[1:] > a) | (cells[1:] == 1.0))
        inside = (cells[:-1] >= a) & ((cells[1:] <= b) & ((cells[1:] < 1) | (b >= 1)))
        first, last = (int(np.clip(np.floor(end * self.edges), 0, self.edges)) for end in (a, b))
        after = 0 if a <= 0 else min(int(np.ceil(a * self.edges)), self.edges) + self.ramp
        least = self.weighed.less(last, after)
        most = self.weighed.less(min(last + 1, self.edges) + self.ramp, first)
        below, _, one = self.weighting.interval(least, inside, inside, 0.0)
        _, above, other = self.weighting.interval(most, touched, touched, 0.0)
        low, high = map(float, in_order(min(below, 1.0), max(above, 0.0)))
        z = float(of_bracket(z, (high - low) / max(one, other, constants.ROUNDING)))
        return (low - z * one if inside.any() else 0.0), high + z * other, max(one, other)
