"""Weighted estimates: any estimator on weighted statistics, with the variance of weighted reports.

An estimator receives sum_c w_c T_c, scaled to n_eff = (sum w n)^2 / sum w^2 n reports [Kish1965]: likelihoods, penalties, level
rules and second-order terms then use about the right amount of information.  Weighted counts are not multinomial, and a
likelihood's curvature does not give their variance; each functional's first-order variance is computed from the cells
(`stratified_variance`), and replaces that of n_eff equal reports: with r the ratio of the two, and q its root,

    the interval of confidence c is the estimator's own of q z standard errors, z those of c,

so that other sources of error (inverted bands, mixtures of chi-squares, priors at a point) grow in the same proportion.  For a
variance with second-order share s, q^2 = r (1 - s) + r^2 s: the covariance is taken as r times as large in all directions.  The
second-order correction of the value stays that of n_eff.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import erf
from types import MappingProxyType
from typing import Any

import numpy as np

from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation import constants
from dpcore.estimation.density.density_estimate import DensityEstimate, Inference
from dpcore.estimation.diagnostics import poisoning_sensitivity as sensitivity
from dpcore.estimation.diagnostics.evidence import (
    Deviations,
    Discreteness,
    Exposure,
    GoodnessOfFit,
    Sample,
)
from dpcore.estimation.estimator import Estimator
from dpcore.estimation.frequency.frequency_estimate import FrequencyEstimate, Spread
from dpcore.estimation.frequency.proportion_intervals import Intervals, NormalIntervals, ScoreIntervals
from dpcore.estimation.functional_estimate import FunctionalEstimate, normal_quantile
from dpcore.estimation.weighting.raking import Weights
from dpcore.estimation.weighting.stratified_variance import Strata
from dpcore.functionals import Cdf
from dpcore.functionals.group import WEIGHTED, Group


@dataclass(frozen=True, eq=False)
class WeightedAggregate:
    """The input of an estimator: weighted statistics of one attribute, as if from `effective_n` equal reports."""

    scheme: Any
    statistics: Mapping[str, np.ndarray]
    answered: Mapping[str, float]
    fingerprint: str
    pairs: Mapping[tuple[str, str], np.ndarray] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def from_strata(cls, aggregate: Any, attribute: str, strata: Strata) -> WeightedAggregate:
        """Return that of an attribute."""
        statistics, answered = {attribute: strata.summed}, {attribute: strata.effective_n}
        return cls(aggregate.scheme, statistics, answered, aggregate.fingerprint)

    @property
    def n(self) -> float:
        """Number of reports, effective."""
        return max(self.answered.values())

    def reports(self, attribute: str) -> float:
        """Return the effective number of reports of the attribute."""
        return self.answered[attribute]


def estimate_weighted(aggregate: Any, attribute: str, weights: Weights, estimator: Estimator) -> Any:
    """Return an attribute's estimate for the population of the weights: as of all clients, with the group `weighted=LABELS`.

    aggregate: with sums by label.  weights: of its cells (`rake`).
    Raises SchemeError without labels, NotEstimable with too few reports.
    """
    held = aggregate.labelled
    if held is None:
        raise SchemeError("weights need labels, and the scheme has none; add [labels.NAME] to a new scheme")
    if weights.values.shape != held.n.shape or not np.array_equal(weights.counts, held.n):
        raise SchemeError("the weights were computed from other reports than this aggregate's; rake its own counts")
    if not held.answered[attribute] @ weights.values > 0:
        raise NotEstimable(f"{attribute} has no report; collect some first")
    if aggregate.scheme.attributes[attribute].is_open:
        raise NotEstimable(f"{attribute}: shares of texts cannot be weighted; estimate them by label")
    strata = Strata.from_aggregate(aggregate, attribute, weights)
    weighted = WeightedAggregate.from_strata(aggregate, attribute, strata)
    plain = sensitivity.exposed(estimator.estimate(weighted, attribute), weighted, attribute)
    n = int(held.answered[attribute].sum())
    changes: dict[str, Any] = {
        "n": n,
        "group": Group(WEIGHTED, ",".join(weights.labels)),
        "sample": Sample(aggregate=aggregate.fingerprint, n=n),
        "exposure": WeightedExposure(plain.exposure, strata, plain.exposure.reading),
    }
    if isinstance(plain, DensityEstimate):
        inference = WeightedInference(plain.inference, strata, plain.lower, plain.upper)
        return replace(plain, inference=inference, assumed=None, any_law=None, **changes)
    return replace(weighted_frequencies(plain, strata, plain.exposure.reading), **changes).weighted(strata)


@dataclass(frozen=True, eq=False)
class WeightedInference:
    """The inference of an estimate from weighted statistics, on [lower, upper].

    base: that of n_eff equally weighted reports.
    """

    base: Inference
    strata: Strata
    lower: float
    upper: float

    def density_band(self, x: np.ndarray, deviations: Deviations) -> tuple[np.ndarray, np.ndarray]:
        """Return low and high, shapes (n,), at x (n,)."""
        return self.base.density_band(x, deviations * self._along(x, 0))

    def cdf_band(self, x: np.ndarray, deviations: Deviations) -> tuple[np.ndarray, np.ndarray]:
        """Return low and high, shapes (n,), at x (n,)."""
        return self.base.cdf_band(x, deviations * self._along(x, 1))

    def critical_value(self, confidence: float) -> float:
        """Return the deviations of a simultaneous band of the density."""
        return self.base.critical_value(confidence)

    def goodness(self) -> GoodnessOfFit | None:
        """Return the goodness of fit of the weighted shares, with n_eff reports."""
        return self.base.goodness()

    def discreteness(self) -> Discreteness | None:
        """Return whether values are concentrated on few points, with n_eff reports."""
        return self.base.discreteness()

    def influence(self, functional: Any) -> tuple[np.ndarray, bool] | None:
        """Return the weights of the levels' weighted average reports, (S,), and whether the estimate is linear in them."""
        return self.base.influence(functional)

    def curve(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the same of the density and of its cdf at x, (n, S) each."""
        return self.base.curve(x)

    def estimate(self, functional: Any, confidence: float) -> FunctionalEstimate:
        """Return the functional's corrected estimate, or a refusal; the caller has checked the confidence."""
        plain = self.base.estimate(functional, confidence)
        if plain.is_refused or plain.standard_error is None:
            return plain
        influence = self.base.influence(functional)
        ratio = self._typical() if influence is None else float(self.strata.ratio(influence[0][None])[0])
        second = plain.second_order or 0.0
        square = ratio * (1 - second) + ratio**2 * second
        scale = square**0.5
        wide = self.base.estimate(
            functional, erf(min(scale * normal_quantile(confidence), constants.MAX_DEVIATIONS) / 2**0.5)
        )
        if wide.is_refused:
            return replace(wide, confidence=confidence)
        return replace(
            wide,
            standard_error=plain.standard_error * scale,
            confidence=confidence,
            second_order=None if plain.second_order is None else ratio**2 * second / square,
            design_effect=square * self._kish,
        )

    @property
    def _kish(self) -> float:
        return float(self.strata.answered.sum()) / self.strata.effective_n

    def _along(self, x: np.ndarray, of_cdf: int) -> np.ndarray:
        """Factor of standard errors along a curve, (n,): of the density, or of its distribution function."""
        curves = self.base.curve(x)
        return np.full(len(x), self._typical() ** 0.5) if curves is None else np.sqrt(self.strata.ratio(curves[of_cdf]))

    def _typical(self) -> float:
        """The largest ratio of variances of the distribution function at nine places; 1 if unknown."""
        places = self.lower + (self.upper - self.lower) * np.arange(1, 10) / 10
        influences = [self.base.influence(Cdf(float(x))) for x in places]
        weights = [influence[0] for influence in influences if influence is not None]
        return float(self.strata.ratio(np.array(weights)).max()) if weights else 1.0


@dataclass(frozen=True, eq=False)
class WeightedSpread(Spread):
    """The covariance of frequencies from weighted reports: that of n_eff equal ones, plus the difference.

    strata: the reports.  reading: the weights of the average reports in each frequency, (k, S), or one number for all.
    """

    strata: Strata
    reading: float | np.ndarray

    @classmethod
    def from_strata(cls, plain: Spread, strata: Strata, reading: float | np.ndarray) -> WeightedSpread:
        """Return it; plain: that of n_eff equal reports."""
        return cls(plain.own, plain.shared, plain.weights, strata, reading)

    @cached_property
    def variances(self) -> np.ndarray:
        """The diagonal, shape (k,)."""
        parts = [self.strata.variance(rows) - self.strata.assumed(rows) for rows in self._rows()]
        return np.asarray(super().variances + np.concatenate(parts))

    def along(self, gradient: np.ndarray) -> float:
        """Return the variance of gradient' x, gradient (k,)."""
        G = self._read(gradient)
        return super().along(gradient) + float((self.strata.variance(G) - self.strata.assumed(G))[0])

    def design_effect(self, gradient: np.ndarray) -> float | None:
        """Return that of gradient' x."""
        return float(self.strata.effect(self._read(gradient))[0])

    def trace(self, matrix: np.ndarray) -> float:
        """Return tr(matrix S), matrix (k, k) symmetric."""
        return float(np.sum(matrix * self.matrix()))

    def matrix(self) -> np.ndarray:
        """Return the whole matrix, (k, k)."""
        k = len(self.own)
        reading = self.reading if isinstance(self.reading, np.ndarray) else self.reading * np.eye(k)
        return np.asarray(super().matrix() + self.strata.excess(reading))

    def _read(self, gradient: np.ndarray) -> np.ndarray:
        return np.atleast_2d(sensitivity.read_through(gradient, self.reading))

    def _rows(self) -> Iterator[np.ndarray]:
        """The reading of so many categories after another, (<= 256, S)."""
        k = len(self.own)
        for first in range(0, k, constants.BLOCK):
            if isinstance(self.reading, np.ndarray):
                yield self.reading[first : first + constants.BLOCK]
            else:
                yield self.reading * np.eye(min(constants.BLOCK, k - first), k, first)


def weighted_frequencies(plain: FrequencyEstimate, strata: Strata, reading: float | np.ndarray) -> FrequencyEstimate:
    """Return the estimate with the errors that weighted reports have; reading: as `WeightedSpread` has it."""
    spread = WeightedSpread.from_strata(plain.spread, strata, reading)
    intervals: Intervals = NormalIntervals(plain.raw, np.sqrt(np.maximum(spread.variances, 0.0)))
    if isinstance(plain.intervals, ScoreIntervals):  # of as many reports as give each category its variance
        intervals = replace(plain.intervals, n=strata.effective_n * plain.spread.variances / spread.variances)
    sensitivities = plain.sensitivities
    if sensitivities is not None:
        held = np.concatenate([strata.offsets(rows) for rows in spread._rows()])
        sensitivities = _heaviest(strata, sensitivities, held)
    return replace(plain, spread=spread, intervals=intervals, union_interval=None, sensitivities=sensitivities)


@dataclass(frozen=True, eq=False)
class WeightedExposure:
    """The effect of one report on weighted averages, to first order: that of an equally weighted one, times its weight.

    A report of cell c has the influence w_c / mean w (U(z) - b_c), b_c the loss of the cell's other reports; a malicious client
    chooses a label as well.  base: with equal weights.  reading: as in `base`.
    """

    base: Exposure
    strata: Strata
    reading: float | np.ndarray = 1.0

    @property
    def is_constant(self) -> bool:
        """One more report changes the weights of others with its label."""
        return False

    def sensitivity(self, weights: np.ndarray) -> float:
        """Return an upper bound of max |U(z)| of a functional with these weights."""
        read = np.atleast_2d(sensitivity.read_through(weights, self.reading))
        return float(_heaviest(self.strata, np.array([self.base.sensitivity(weights)]), self.strata.offsets(read))[0])

    def sensitivities(self, weights: np.ndarray) -> np.ndarray:
        """Return it for several functionals, (n,); weights: (n, S)."""
        return _heaviest(self.strata, self.base.sensitivities(weights), self.strata.offsets(weights))

    def reread(self, reading: np.ndarray) -> WeightedExposure:
        """Return it for functionals of other averages: reading (k, S)."""
        return replace(self, base=self.base.reread(reading), reading=reading)


def _heaviest(strata: Strata, alike: np.ndarray, held: np.ndarray) -> np.ndarray:
    """The largest influence of a report of any cell, (m,); alike: with equal weights, (m,).  held: b, (m, C)."""
    worth = strata.weights.values * strata.answered.sum() / strata.total
    return np.asarray(np.max(worth * (alike[:, None] + np.abs(held)), axis=1))
