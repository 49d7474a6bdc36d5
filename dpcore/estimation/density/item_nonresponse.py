"""The density of those who answered where silence is an answer, and the share of the silent.

Silence has an input cell of its own, which leads to reports of the law s; values have the cells below a gap, and lead to A f.
Where a share m is silent, reports expect (1 - m) A f + m s = ((1 - m) A + m s 1') f: given m, a finite channel from the law f
of those who answer, through which their density is estimated as it is elsewhere.  The share is found first, together with
whatever law there is, by weighted least squares in a span of B-splines,

    observed - expected = (1 - m) A h + (s - A f) dm,    int h = 0,

and its error is carried into every number T by its derivative:  dT/dm = -I'(s - A f), with I the weights of the average reports
in T.  The share's own weights in these see nothing of the span, so that the two errors are uncorrelated, and their squares add.
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
    """The share m of the silent, unbiased.

    error: its standard error.  weights: (S,), of the average reports in it.  moves: (S,), s - A f, what is expected more by m.
    """

    share: float
    error: float
    weights: np.ndarray
    moves: np.ndarray

    @property
    def is_nearly_all(self) -> bool:
        """Whether the share of those who answered, by which their numbers are divided, is not surely above 0."""
        return 1 - self.share <= constants.CLEAR_ERRORS * self.error

    def estimate(self, attribute: str, category: str, estimator: str, n: int) -> FrequencyEstimate:
        """Return the share as that of a category, the only one that an attribute with a density has."""
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
    """Reports of people of whom some are silent; model: the mechanism's, of all its input cells.  counts: (S,)."""

    model: FiniteChannel
    counts: np.ndarray

    @cached_property
    def _rows(self) -> list[np.ndarray]:
        """The probabilities of the outputs, of each level (inputs, outputs)."""
        return [level.matrix().T for level in self.model.levels]

    def possible(self, share: float) -> float:
        """Return the share, or the nearest with which a density is drawn; below 0 while everything expected is above it."""
        least = min(float(row.min() / (row.max() - row.min())) for row in self._rows)
        return min(max(share, -least / 2), constants.MAX_MASS)

    def likelihood(self, share: float) -> Counts:
        """Return what the counts say of the law of the values, where that share is silent."""
        room = room_of(self.model.inputs)
        tables = [(1 - share) * row[:room] + share * row[-1] for row in self._rows]
        return Counts(FiniteChannel(tuple(map(Listed, tables)), self.model.level_law), self.counts)

    def first(self) -> float:
        """Return the share as it is found without a law near the true one, where a density can be drawn with it."""
        room = room_of(self.model.inputs)
        return self.possible(self.estimate(0.0, np.full(room, 1 / room)).share)

    def estimate(self, share: float, cells: np.ndarray) -> Silence:
        """Return the share near a possible one, and near the law (room,) of the values."""
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
    """The inference of a density through what is expected at the share that was found, its error carried into everything.

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
        """Return the deviations that hold the whole density at once."""
        return self.base.critical_value(confidence)

    def estimate(self, functional: Functional, confidence: float) -> FunctionalEstimate:
        """Return the functional's estimate, of those who answered, or a refusal."""
        if self.silence.is_nearly_all:
            why = "nearly all gave no answer: who gave one are too few to tell their numbers"
            return refused(functional, why, confidence)
        result, influence = self.base.estimate(functional, confidence), self.base.influence(functional)
        if result.value is None or result.standard_error is None or result.low is None or result.high is None:
            return result
        if influence is None:
            return refused(functional, "what missing answers leave open of it is not known", confidence)
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
        """Return how the fit explains what was observed."""
        return self.base.goodness()

    def discreteness(self) -> Discreteness | None:
        """Return whether values sit at few points."""
        return self.base.discreteness()

    def influence(self, functional: Functional) -> tuple[np.ndarray, bool] | None:
        """Return the weights of the average reports, those by way of the share among them."""
        influence = self.base.influence(functional)
        return None if influence is None else (self._all(influence[0]), influence[1])

    def curve(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return them of the density and of its cdf."""
        curves = self.base.curve(x)
        return None if curves is None else (self._all(curves[0]), self._all(curves[1]))

    def _all(self, weights: np.ndarray) -> np.ndarray:
        return np.asarray(weights - np.multiply.outer(weights @ self.silence.moves, self.silence.weights))
