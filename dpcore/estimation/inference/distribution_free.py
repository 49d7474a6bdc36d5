"""Intervals valid for every distribution of the values: proportions, quantiles, moments, and the band of the cdf.

Weights g of the data y have the mean E g'y = sum_c v_c p_c, v = A'g, for every distribution p of the input cells.  So a
functional int w dF lies with the stated confidence within

    g'y -+ z sd(g'y),   extended by   [min_c (inf_c w - v_c), max_c (sup_c w - v_c)],

inf_c and sup_c over the values of a cell, whose place in it is unknown.  The g have the least variance at the uniform
distribution among those whose v is closest to a target.  A proportion's w falls from 1 to 0 in a step, which reports do not
resolve: the target of its upper limit falls over a ramp that begins there, of its lower limit over one that ends there, using
only F(x) <= F(y) for x <= y.  Edges and ramps minimise the interval's length at uniform values: they depend on scheme and n
alone, never on the data.  The assumption is that sums over many reports are normal, with the observed variance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpcore.estimation import constants
from dpcore.estimation.density.densities import DensityOnInterval
from dpcore.estimation.density.likelihood import Likelihood
from dpcore.estimation.functional_estimate import DISTRIBUTION_FREE, FunctionalEstimate, normal_quantile, refused
from dpcore.estimation.inference.binning_error import Corrected
from dpcore.estimation.inference.confidence_bands import inferred
from dpcore.estimation.inference.distribution_free_weights import DistributionFreeWeights, Shares, in_order
from dpcore.functionals import Atom, Cdf, Functional, Mean, Moment, Probability, Quantile, Variance

SHARES = Cdf | Probability | Atom
_OFFERED = Mean | Moment | Variance | SHARES | Quantile
_CURVED = "distribution-free intervals exist for proportions, quantiles, moments and the variance; ask for one of those"


@dataclass(frozen=True, eq=False)
class DistributionFree:
    """Inference valid for every distribution on [lower, upper]; density: the one shown, for plug-in values."""

    likelihood: Likelihood
    density: DensityOnInterval

    def estimate(self, functional: Functional, confidence: float) -> FunctionalEstimate:
        """Return the functional with an interval valid for every distribution, or a refusal."""
        lower, upper = self.density.lower, self.density.upper
        reason = functional.refuses(lower, upper)
        if reason is not None or not isinstance(functional, _OFFERED):
            return refused(functional, reason or _CURVED, confidence, kind=DISTRIBUTION_FREE)
        low, high, error = self.interval(functional, confidence)
        interval, bounds = ((low + high) / 2, error, low, high), functional.range_on(lower, upper)
        plug_in = float(functional.value(self.density))
        return inferred(functional, interval, bounds, confidence, plug_in, kind=DISTRIBUTION_FREE)

    def interval(self, functional: Functional, confidence: float) -> tuple[float, float, float]:
        """Return low, high and standard error of an offered functional, not clipped to its range."""
        z = normal_quantile(confidence)
        if isinstance(functional, Quantile):
            low, high = self._quantile(functional.t, confidence)
            return low, high, (high - low) / (2 * z)
        if isinstance(functional, Mean | Moment):
            return self._moment(functional.k, z)
        if isinstance(functional, Variance):
            return self._variance(1 - confidence)
        assert isinstance(functional, SHARES)
        a, b = (float(self._place(end)) for end in _ends(functional))
        return self._shares.between(a, b, z)

    def instead_of(
        self, smooth: Corrected | None, functional: Functional, confidence: float, is_discrete: bool
    ) -> Corrected:
        """Return the distribution-free estimate if the smooth one is missing, invalid or longer; else return the smooth one.

        is_discrete: whether the values are discrete, so that the smooth one is invalid.  Value, standard error and choice are
        the same at every confidence.
        """
        low, high, _ = self.interval(functional, constants.CONFIDENCE)
        value, error = (low + high) / 2, (high - low) / (2 * normal_quantile(constants.CONFIDENCE))
        is_shorter = smooth is not None and not isinstance(functional, Quantile) and error < smooth.error
        if smooth is None or is_discrete or smooth.missing > 1 or is_shorter:
            low, high, _ = self.interval(functional, confidence)
            return Corrected(value, error, min(low, value), max(high, value))
        return smooth

    def cdf_errors(self, x: np.ndarray) -> np.ndarray:
        """Return half the band's length at 95 %, (n,), in units of a normal standard error."""
        low, high = self.band(x, normal_quantile(constants.CONFIDENCE))
        return (high - low) / (2 * normal_quantile(constants.CONFIDENCE))

    def band(self, x: np.ndarray, deviations: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper limits, (n,) each, of the proportion at or below x (n,), `deviations` to either side."""
        return self._within_range(x, *self._shares.at(self._place(x), deviations))

    def cdf_band(self, x: np.ndarray, confidence: float, simultaneous: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper limits, (n,) each, of the proportion at or below x (n,), pointwise or simultaneous."""
        if not simultaneous:
            return self.band(x, normal_quantile(confidence))
        shares = self._all_at_once(confidence)
        low, high = shares.limits(shares.critical_value(confidence))
        low, high = in_order(np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1])
        begin, end = shares.around(self._place(x))
        return self._within_range(x, low[begin], high[end])

    def _within_range(self, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Limits of the proportion at or below x (n,), exact outside the range."""
        certain = np.where(x >= self.density.upper, 1.0, 0.0), np.where(x < self.density.lower, 0.0, 1.0)
        low, high = in_order(low, high)
        return np.maximum(low, certain[0]), np.minimum(high, certain[1])

    def _place(self, x: np.ndarray | float) -> np.ndarray:
        return (np.asarray(x, dtype=np.float64) - self.density.lower) / self.density.width

    def _quantile(self, t: float, confidence: float) -> tuple[float, float]:
        """Limits of all x at which neither limit of the proportion contradicts t."""
        shares = self._shares
        below, above = shares.limits(normal_quantile(confidence))
        first = int(np.argmax(np.append(above[1:] >= t, True)))
        last = len(below) - 2 - int(np.argmax(np.append(below[-2::-1] <= t, True)))
        low, high = np.array([first, last + 1]) / shares.edges
        return tuple((self.density.lower + self.density.width * np.array([low, high])).tolist())

    def _moment(self, k: int, z: float, centre: float = 0.0) -> tuple[float, float, float]:
        """Low, high and standard error of the mean of (x - centre)^k."""
        cells = np.arange(self.weighting.inputs + 1) / self.weighting.inputs
        edges = self.density.lower - centre + self.density.width * cells
        powers = edges**k
        most, least = np.maximum(powers[1:], powers[:-1]), np.minimum(powers[1:], powers[:-1])
        least = np.where((edges[1:] > 0) & (edges[:-1] < 0), np.minimum(least, 0.0), least)
        return self.weighting.interval(self.weighting.weigh((least + most)[None] / 2), least, most, z)

    def _variance(self, missed: float) -> tuple[float, float, float]:
        """Low, high and standard error: E (x - c)^2 - (mean - c)^2, c in the middle of the mean's interval."""
        first, last, _ = self._moment(1, normal_quantile(1 - constants.SMALL * missed))
        low, high, error = self._moment(2, normal_quantile(1 - (1 - constants.SMALL) * missed), (first + last) / 2)
        return low - (last - first) ** 2 / 4, high, error

    @cached_property
    def weighting(self) -> DistributionFreeWeights:
        """Weights of the data with known means."""
        return DistributionFreeWeights(self.likelihood)

    @cached_property
    def _choices(self) -> list[Shares]:
        inputs = self.weighting.inputs
        parts = [edges for edges in constants.EDGES if edges <= inputs and inputs % edges == 0] or [inputs]
        return [Shares(self.weighting, edges, ramp) for edges in parts for ramp in constants.RAMPS if ramp < edges]

    @cached_property
    def _shares(self) -> Shares:
        """Edges and ramp of pointwise limits: the same at every confidence, so that intervals are nested."""
        return min(self._choices, key=lambda shares: shares.expected_length(normal_quantile(constants.CONFIDENCE)))

    def _all_at_once(self, confidence: float) -> Shares:
        confidences = [1 - (1 - confidence) / shares.edges for shares in self._choices]  # Bonferroni's, to choose by
        lengths = [
            shares.expected_length(normal_quantile(one)) for shares, one in zip(self._choices, confidences, strict=True)
        ]
        return self._choices[int(np.argmin(lengths))]


def _ends(functional: Cdf | Probability | Atom) -> tuple[float, float]:
    """Limits of the values that a proportion counts, both included."""
    if isinstance(functional, Probability):
        return functional.a, functional.b
    return (-np.inf if isinstance(functional, Cdf) else functional.x), functional.x


def from_likelihood(likelihood: Callable[[], Likelihood], density: DensityOnInterval) -> DistributionFree:
    """Return the distribution-free inference; likelihood: makes the likelihood; density: the one shown."""
    return DistributionFree(likelihood(), density)
