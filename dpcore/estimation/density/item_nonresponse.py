"""Density of the respondents where nonresponse is an answer, and the nonresponse rate.

Nonresponse has an input cell of its own, whose reports have the distribution s; values have the cells below a gap, and lead to
A f.  At the nonresponse rate m reports expect (1 - m) A f + m s = ((1 - m) A + m s 1') f: given m, a finite channel of the
respondents' distribution f, whose density is estimated as elsewhere.  The rate is estimated first, together with an arbitrary
distribution, by weighted least squares in a span of B-splines,

    observed - expected = (1 - m) A h + (s - A f) dm,    int h = 0.

Its error enters every functional T through dT/dm = -I'(s - A f), I the weights of the average reports in T.  The rate's own
weights are orthogonal to the span, so that the two errors are uncorrelated and their squares add.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpcore.estimation import constants
from dpcore.estimation.density.densities import cell_masses
from dpcore.estimation.density.density_estimate import Inference
from dpcore.estimation.density.likelihood import Counts
from dpcore.estimation.diagnostics.evidence import Deviations, Discreteness, GoodnessOfFit
from dpcore.estimation.frequency.frequency_estimate import FrequencyEstimate, Spread
from dpcore.estimation.frequency.proportion_intervals import NormalIntervals
from dpcore.estimation.functional_estimate import FunctionalEstimate, normal_quantile, refused
from dpcore.estimation.inference.confidence_bands import massless
from dpcore.functionals import Functional
from dpcore.mechanisms.bases import bspline
from dpcore.mechanisms.fisher_information import room_of
from dpcore.mechanisms.observation_model import FiniteChannel, Listed


@dataclass(frozen=True, eq=False)
class Silence:
    """An unbiased estimate of the nonresponse rate m.

    error: its standard error.  weights: (S,), of the average reports.  moves: (S,), s - A f, change of the expected shares by
    m.
    """

    share: float
    error: float
    weights: np.ndarray
    moves: np.ndarray

    @property
    def is_nearly_all(self) -> bool:
        """Whether the response rate, by which the respondents' estimates are divided, is within three standard errors of 0."""
        return 1 - self.share <= constants.CLEAR_ERRORS * self.error

    def estimate(self, attribute: str, category: str, estimator: str, n: int) -> FrequencyEstimate:
        """Return the rate as the frequency of a category, the only one of an attribute with a density."""
        raw, error = np.array([self.share]), np.array([self.error])
        return FrequencyEstimate(
            attribute=attribute,
            categories=(category,),
            values=np.clip(raw, 0.0, 1.0),
            raw=raw,
            spread=Spread(error**2, np.zeros((1, 1)), np.zeros((1, 1))),
            intervals=NormalIntervals(raw, error),
            confidence=constants.CONFIDENCE,
            n=n,
            numbers=None,
            estimator=estimator,
        )


@dataclass(frozen=True, eq=False)
class Answers:
    """Reports of clients with item nonresponse; model: the mechanism's, with all input cells.  counts: (S,)."""

    model: FiniteChannel
    counts: np.ndarray

    @cached_property
    def _rows(self) -> list[np.ndarray]:
        """Probabilities of the outputs, per level (inputs, outputs)."""
        return [level.matrix().T for level in self.model.levels]

    def possible(self, share: float) -> float:
        """Return the rate, or the nearest at which a density is fitted; below 0 as long as all expected shares are positive."""
        least = min(float(row.min() / (row.max() - row.min())) for row in self._rows)
        return min(max(share, -least / 2), constants.MAX_MASS)

    def likelihood(self, share: float) -> Counts:
        """Return the likelihood of the values' distribution at that nonresponse rate."""
        room = room_of(self.model.inputs)
        tables = [(1 - share) * row[:room] + share * row[-1] for row in self._rows]
        return Counts(FiniteChannel(tuple(map(Listed, tables)), self.model.level_law), self.counts)

    def first(self) -> float:
        """Return the rate as estimated at the uniform distribution, within the range where a density is fitted."""
        room = room_of(self.model.inputs)
        return self.possible(self.estimate(0.0, np.full(room, 1 / room)).share)

    def estimate(self, share: float, cells: np.ndarray) -> Silence:
        """Return the estimated rate near a possible one and near the distribution (room,) of the values."""
        likelihood = self.likelihood(share)
        room, expected = likelihood.inputs, likelihood.expected(cells)
        law = np.zeros((self.model.inputs, 2))
        law[:room, 0], law[-1, 1] = cells, 1.0
        values, silent = self.model.probabilities(law).T
        moves = silent - values
        span = cell_masses(constants.DEGREE, constants.COARSEST_LEVEL, room) @ massless(
            bspline.integrals(constants.DEGREE, constants.COARSEST_LEVEL)
        )
        seen = np.column_stack([likelihood.expected(span), moves])
        weighted = seen.T * likelihood.weights(expected)
        inverse = np.linalg.pinv(weighted @ seen, hermitian=True)
        weights = inverse[-1] @ weighted
        moved = float(weights @ likelihood.residual(expected))
        return Silence(share + moved, float(np.sqrt(inverse[-1, -1])), weights, moves)


@dataclass(frozen=True, eq=False)
class OfAnswered:
    """Inference of a density at the estimated nonresponse rate, whose error is carried into every estimate.

    bounds: of the values.
    """

    base: Inference
    silence: Silence
    bounds: tuple[float, float]

    def density_band(self, x: np.ndarray, deviations: Deviations) -> tuple[np.ndarray, np.ndarray]:
        """Return low and high, shapes (n,)."""
        return self._widened(self.base.density_band(x, deviations), self.base.curve(x), 0, deviations)

    def cdf_band(self, x: np.ndarray, deviations: Deviations) -> tuple[np.ndarray, np.ndarray]:
        """Return low and high, shapes (n,)."""
        return self._widened(self.base.cdf_band(x, deviations), self.base.curve(x), 1, deviations)

    def _widened(
        self,
        band: tuple[np.ndarray, np.ndarray],
        curves: tuple[np.ndarray, np.ndarray] | None,
        which: int,
        deviations: Deviations,
    ) -> tuple[np.ndarray, np.ndarray]:
        low, high = band
        assert curves is not None  # as of every density with a likelihood of its reports
        more = deviations * self.silence.error * np.abs(curves[which] @ self.silence.moves)
        middle, half = (low + high) / 2, (high - low) / 2
        return middle - np.hypot(half, more), middle + np.hypot(half, more)

    def critical_value(self, confidence: float) -> float:
        """Return the deviations of a simultaneous band of the density."""
        return self.base.critical_value(confidence)

    def estimate(self, functional: Functional, confidence: float) -> FunctionalEstimate:
        """Return the functional's estimate for the respondents, or a refusal."""
        if self.silence.is_nearly_all:
            why = "the response rate is within three standard errors of 0; collect more reports"
            return refused(functional, why, confidence)
        result, influence = self.base.estimate(functional, confidence), self.base.influence(functional)
        if result.value is None or result.standard_error is None or result.low is None or result.high is None:
            return result
        if influence is None:
            return refused(functional, "the error due to item nonresponse is unknown for this functional", confidence)
        error = self.silence.error * abs(float(influence[0] @ self.silence.moves))
        more, (least, most) = normal_quantile(confidence) * error, functional.range_on(*self.bounds)
        low, high = (float(np.hypot(result.value - end, more)) for end in (result.low, result.high))
        return replace(
            result,
            standard_error=float(np.hypot(result.standard_error, error)),
            low=max(result.value - low, min(least, result.low)),
            high=min(result.value + high, max(most, result.high)),
        )

    def goodness(self) -> GoodnessOfFit | None:
        """Return the goodness of fit."""
        return self.base.goodness()

    def discreteness(self) -> Discreteness | None:
        """Return whether values are concentrated on few points."""
        return self.base.discreteness()

    def influence(self, functional: Functional) -> tuple[np.ndarray, bool] | None:
        """Return the weights of the average reports, including those by way of the nonresponse rate."""
        influence = self.base.influence(functional)
        return None if influence is None else (self._all(influence[0]), influence[1])

    def curve(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the same of the density and of its cdf."""
        curves = self.base.curve(x)
        return None if curves is None else (self._all(curves[0]), self._all(curves[1]))

    def _all(self, weights: np.ndarray) -> np.ndarray:
        return np.asarray(weights - np.multiply.outer(weights @ self.silence.moves, self.silence.weights))
