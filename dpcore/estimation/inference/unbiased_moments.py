"""Unbiased means, moments and variance for every distribution, combined with the smooth estimates.

A corrected functional sees the residuals of a smooth fit in a span of B-splines.  Discrete values leave more than a span
contains, and its estimate is biased.  Weights of the data whose mean is the functional for every distribution
(`distribution_free_weights`) have no bias.  With T_s, s the smooth estimate and its standard error, and T_u, u the unbiased
ones, D = T_u - T_s estimates minus the bias of T_s.  If that is zero and T_s efficient, its variance is v = u^2 - s^2
[Hausman1978].  So

    T = T_s + w D,    SE^2 = (1 - w) s^2 + w u^2 + w (1 - w) D^2,    w = 1 / (1 + exp((c^2 - D^2 / v) / 2)),

the average of two models by the likelihood ratio of D.  Both have equal weight where D is c standard errors from zero, the
limit of a two-sided test with error probability `TEST_ERROR`.  If u is below 1.1 s, w increases, to one at 1.05 s: unbiased
weights then cost little.

Some functionals have no unbiased weights.  The part of a target t that v = A'g misses is then evaluated at the nonparametric
fit p (`_cells`): the estimate is g'y + (t - v)'p.  Its distance from the same sum over the smooth fit is added as an error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import exp

import numpy as np
import scipy

from dpcore.estimation import constants
from dpcore.estimation.density.densities import DensityOnInterval
from dpcore.estimation.density.likelihood import Likelihood
from dpcore.estimation.functional_estimate import normal_quantile
from dpcore.estimation.inference.binning_error import Cells, Corrected
from dpcore.estimation.inference.distribution_free_weights import DistributionFreeWeights
from dpcore.functionals import Functional, Mean, Moment, Variance

OFFERED = Mean | Moment | Variance


@dataclass(frozen=True)
class Unbiased:
    """An unbiased estimate with its standard error.  within: standard deviation due to places within input cells.

    weights: (S,), of the data.
    """

    value: float
    error: float
    within: float
    weights: np.ndarray


@dataclass(frozen=True, eq=False)
class UnbiasedMoments:
    """Moments through a likelihood, of values on the interval of a fitted density; expected: (S,), under the fit."""

    likelihood: Likelihood
    density: DensityOnInterval
    expected: np.ndarray

    def joined(self, functional: Functional, smooth: Corrected | None, confidence: float) -> Corrected | None:
        """Return the average of the smooth and the unbiased estimate, or the one available."""
        unbiased = self.estimate(functional)
        if unbiased is None:
            return smooth
        value, variance, within = unbiased.value, unbiased.error**2, unbiased.within**2
        if smooth is not None:
            share, difference = share_of(smooth, unbiased), value - smooth.value
            value = smooth.value + share * difference
            variance = (1 - share) * smooth.error**2 + share * variance + share * (1 - share) * difference**2
            within *= doubt(smooth, unbiased)  # a smooth density is smooth within cells, too
        error = float(np.sqrt(variance + within))
        half = normal_quantile(confidence) * error
        return Corrected(value, error, value - half, value + half)

    def weights(self, functional: Functional, smooth: Corrected | None, weights: np.ndarray) -> np.ndarray:
        """Return the weights of the data, (S,), in the average, from those in the smooth estimate."""
        unbiased = self.estimate(functional)
        if unbiased is None or smooth is None:
            return weights
        return weights + share_of(smooth, unbiased) * (unbiased.weights - weights)

    def estimate(self, functional: Functional) -> Unbiased | None:
        """Return a mean, moment or variance; None for another functional."""
        if isinstance(functional, Variance):
            mean = self._moment(1, 0.0)
            square = self._moment(2, mean.value)
            # squares around an estimated mean are less by its variance
            return replace(square, value=square.value + mean.error**2)
        return self._moment(functional.k, 0.0) if isinstance(functional, Mean | Moment) else None

    def _moment(self, k: int, centre: float) -> Unbiased:
        """The mean of (x - centre)^k, values uniform within cells.

        The part that no weights reach is evaluated at the nonparametric fit; its distance from the smooth fit is added as an
        error.
        """
        edges = self.density.lower - centre + self.density.width * np.arange(self.inputs + 1) / self.inputs
        means, squares = (np.diff(edges ** (power + 1)) / (power + 1) / np.diff(edges) for power in (k, 2 * k))
        for end, share in zip((0, -1), self._clipped, strict=True):  # a clipped value is at the end itself
            means[end] += share * (edges[end] ** k - means[end])
            squares[end] += share * (edges[end] ** (2 * k) - squares[end])
        weighed = self._weighting.weigh(means[None])
        left = means - weighed.means[0]
        deviation = float(self._weighting.deviations(weighed, self._weighting.observed)[0])
        error = float(np.hypot(deviation, left @ (self._cells - self._smooth_cells)))
        within = float(np.sqrt(np.maximum(squares - means**2, 0.0) @ self._cells**2))
        return Unbiased(
            float(self._weighting.values(weighed)[0] + left @ self._cells), error, within, weighed.weights[0]
        )

    @property
    def inputs(self) -> int:
        """Number of input cells."""
        return self.likelihood.inputs

    @cached_property
    def _weighting(self) -> DistributionFreeWeights:
        return DistributionFreeWeights(self.likelihood, self.expected)

    @cached_property
    def _clipped(self) -> np.ndarray:
        """Share of each end cell's mass that the fit puts at the end of the range, (2,)."""
        atoms = np.array(self.density.atoms)
        return np.asarray(atoms / np.where(atoms > 0, self._smooth_cells[[0, -1]], 1.0))

    @cached_property
    def _cells(self) -> np.ndarray:
        """Masses of the input cells, (inputs,), by nonnegative least squares, concentrated on few cells.

        The smooth fit's if the least squares do not converge.  A ridge of one report per cell makes them unique.
        """
        root = np.sqrt(self.likelihood.weights(self.expected))
        matrix = root[:, None] * self.likelihood.expected(np.eye(self.inputs))
        matrix = np.vstack([matrix, np.eye(self.inputs)])
        observed = np.concatenate([root * self._weighting.observed, np.zeros(self.inputs)])
        try:
            masses = scipy.optimize.nnls(matrix, observed, maxiter=10 * self.inputs)[0]
        except RuntimeError:
            masses = np.zeros(self.inputs)
        return np.asarray(masses / masses.sum()) if masses.any() else self._smooth_cells

    @cached_property
    def _smooth_cells(self) -> np.ndarray:
        """Masses of the input cells under the smooth fit, (inputs,)."""
        masses = Cells(self.inputs, self.density).masses.copy()
        masses[[0, -1]] += self.density.atoms
        return masses


def doubt(smooth: Corrected, unbiased: Unbiased) -> float:
    """Return the posterior weight of a bias of the smooth estimate, 0..1.

    The variance of the difference is at least a tenth of the unbiased variance.
    """
    variance = max(unbiased.error**2 - smooth.error**2, constants.SMALL * unbiased.error**2, constants.TINY)
    difference = (unbiased.value - smooth.value) ** 2 / variance
    return 1 / (1 + exp(min((normal_quantile(1 - constants.TEST_ERROR) ** 2 - difference) / 2, 100.0)))


def share_of(smooth: Corrected, unbiased: Unbiased) -> float:
    """Return w, the weight of the unbiased estimate: by the evidence of a bias, and more where it costs little."""
    by_evidence, cost = doubt(smooth, unbiased), unbiased.error / max(smooth.error, constants.TINY) - 1
    return by_evidence + (1 - by_evidence) * min(1.0, max(0.0, 2 - 2 * cost / constants.SMALL))
