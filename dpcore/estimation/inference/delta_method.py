"""Intervals of functionals of a density estimate: delta method, second-order debiasing, refusal.

Write c ~ N(c*, S) for the raw coefficients, p for the proper density, r for the raw one, T and Q for the functional's first and
half its second derivative at p.  Then

    value = L(p) + T(r - p) + Q(r - p) - tr(Q S),      SE^2 = t' S t + 2 tr((Q S)^2),      t_i = T(N_i),

which is L(r) for a linear functional and the unbiased L(r) - tr(Q S) for a quadratic one, for every p.  If the second term of
SE^2 exceeds a tenth of the first, low and high are quantiles of t' x + x' Q x - tr(Q S), x ~ N(0, S), else value -+ z SE.  A
functional with a remainder is refused if its second-order term, or the standard deviation of that, exceeds the first-order
error: the expansion is then not accurate.

A level chosen by the data balances bias and noise of the whole curve; functionals keep a bias that intervals would not cover.
They are corrected as in `one_step_correction`, through the likelihood of the data, and bands are centred one level finer.  The
formulas above are for a fixed level.
Source: [Szabo2024] for the plug-in; debiasing, intervals and refusal are ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpcore.errors import SchemeError
from dpcore.estimation import constants
from dpcore.estimation.density.densities import Spline, cell_masses
from dpcore.estimation.density.likelihood import Likelihood
from dpcore.estimation.density.resolution_levels import Rung
from dpcore.estimation.diagnostics import goodness_of_fit
from dpcore.estimation.diagnostics.chi_square_mixture import error_law
from dpcore.estimation.diagnostics.evidence import Deviations, Discreteness, GoodnessOfFit
from dpcore.estimation.functional_estimate import FunctionalEstimate, normal_quantile, refused
from dpcore.estimation.inference import one_step_correction
from dpcore.estimation.inference.confidence_bands import critical_value, inferred, invert_band, standard_errors
from dpcore.estimation.inference.one_step_correction import OneStep
from dpcore.functionals import Expansion, Functional, Quantile


@dataclass(frozen=True, eq=False)
class DeltaMethod:
    """The inference of one density estimate.

    shown: the rung of the density.  rung: the centre of bands, where functionals are linearised.
    likelihood: makes the likelihood of the data.  space: the fitted distribution of the input cells, (inputs,), and the masses
    of a basis, (inputs, K), by which goodness of fit is judged (`goodness_of_fit.of_space`); by default the rung's own, against
    finer functions and the mass.
    is_corrected: whether functionals are one-step corrected, since the data chose the level; else they are linearised.
    is_linear: whether the raw coefficients are linear in the reports.
    """

    shown: Rung
    rung: Rung
    likelihood: Callable[[], Likelihood]
    space: Callable[[Likelihood], tuple[np.ndarray, np.ndarray]] | None = None
    is_corrected: bool = True
    is_linear: bool = False

    def goodness(self) -> GoodnessOfFit | None:
        """Return the goodness of fit, None without degrees of freedom."""
        return goodness_of_fit.of_space(self._seen, *self._space)

    def discreteness(self) -> Discreteness | None:
        """Return whether values are concentrated on few points; None where functionals are linearised."""
        return None if self._corrected is None else self._corrected.discreteness

    @property
    def _space(self) -> tuple[np.ndarray, np.ndarray]:
        if self.space is not None:
            return self.space(self._seen)
        density = self.rung.proper
        masses = cell_masses(density.degree, density.level, self._seen.inputs)
        return masses @ density.coefficients, masses

    @property
    def raw(self) -> Spline:
        """The raw density at the centre of bands."""
        return self.rung.raw

    @property
    def covariance(self) -> np.ndarray:
        """The covariance of its coefficients, (K, K)."""
        return self.rung.covariance

    def density_band(self, x: np.ndarray, deviations: Deviations) -> tuple[np.ndarray, np.ndarray]:
        """Return low and high, shapes (n,): intervals of `Derivative(0, x)`."""
        return _around(self.raw.pdf(x), self.raw.features(x), self.covariance, deviations)

    def cdf_band(self, x: np.ndarray, deviations: Deviations) -> tuple[np.ndarray, np.ndarray]:
        """Return low and high, shapes (n,): intervals of `Cdf(x)`."""
        return _around(self.raw.cdf(x), self.raw.cumulative_features(x), self.covariance, deviations)

    def critical_value(self, confidence: float) -> float:
        """Return the deviations of a simultaneous band of the density."""
        x = np.linspace(
            self.raw.lower, self.raw.upper, max(constants.MIN_CELLS, constants.CELLS_PER_PIECE << self.raw.level) + 1
        )
        return critical_value(self.raw.features(x), self.covariance, confidence)

    def estimate(self, functional: Functional, confidence: float) -> FunctionalEstimate:
        """Return the functional's corrected estimate, or a refusal; the caller has checked the confidence."""
        if self._corrected is not None:
            return self._corrected.estimate(functional, confidence)
        raw = self.shown.raw
        reason = functional.refuses(raw.lower, raw.upper, raw.degree)
        if reason is not None:
            return refused(functional, reason, confidence)
        plug_in = float(functional.value(self.shown.proper))
        try:
            value, error, low, high, share = self._one(functional, confidence)
        except _Refused as why:
            return refused(functional, str(why), confidence, plug_in)
        interval, bounds = (value, error, low, high), functional.range_on(raw.lower, raw.upper)
        return inferred(functional, interval, bounds, confidence, plug_in, second_order=share)

    def influence(self, functional: Functional) -> tuple[np.ndarray, bool] | None:
        """Return the weights of the average reports, (S,), and whether the estimate is exactly linear in them."""
        if self._corrected is not None:
            return self._corrected.influence(functional)
        rung = self.rung
        if rung.weights is None or functional.refuses(rung.raw.lower, rung.raw.upper, rung.raw.degree) is not None:
            return None
        if isinstance(functional, Quantile):
            at = float(rung.proper.quantile(functional.t))
            return -(rung.raw.cumulative_features(np.array([at])) @ rung.weights)[0] / _above_zero(
                rung.proper, at
            ), False
        point: Any = (
            _AboveNoise(rung) if functional.needs_positive else rung.raw if functional.is_linear else rung.proper
        )
        try:
            influence = functional.expand(point).influence
        except SchemeError:  # a distance to what all but equals the density
            return None
        return influence.on(
            rung.raw.features, point.breakpoints
        ) @ rung.weights, functional.is_linear and self.is_linear

    def curve(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the weights of the average reports in the raw density and in its cdf at x, (n, S) each."""
        raw, weights = self.rung.raw, self.rung.weights
        return None if weights is None else (raw.features(x) @ weights, raw.cumulative_features(x) @ weights)

    @cached_property
    def _seen(self) -> Likelihood:
        return self.likelihood()

    @cached_property
    def _corrected(self) -> OneStep | None:
        shown = self.shown.proper
        return (
            one_step_correction.of_likelihood(self._seen, shown.lower, shown.upper, shown)
            if self.is_corrected
            else None
        )

    def _one(self, functional: Functional, confidence: float) -> tuple[float, float, float, float, float]:
        """Value, standard error, low, high, and the second-order share of the variance."""
        rung = self.rung
        if isinstance(functional, Quantile):
            return *invert_cdf(rung, functional.t, confidence), 0.0
        if functional.is_linear:
            influence = functional.expand(rung.raw).influence
            t = influence.on(rung.raw.features, rung.raw.breakpoints)
            value, error = float(t @ rung.raw.coefficients), float(np.sqrt(max(0.0, t @ rung.covariance @ t)))
            half = normal_quantile(confidence) * error
            return value, error, value - half, value + half, 0.0
        return _second_order(functional, rung, confidence)


def _above_zero(density: Spline, x: float) -> float:
    """The density at x, or a hundredth of the uniform one where it is less."""
    return max(float(density.pdf(np.array([x]))[0]), 0.01 / (density.upper - density.lower))


def _around(
    centre: np.ndarray, features: np.ndarray, covariance: np.ndarray, deviations: Deviations
) -> tuple[np.ndarray, np.ndarray]:
    half = deviations * standard_errors(features, covariance)
    return centre - half, centre + half


class _Refused(Exception):
    """Too noisy to trust."""


def _second_order(functional: Functional, rung: Rung, confidence: float) -> tuple[float, float, float, float, float]:
    raw, S = rung.raw, rung.covariance
    point: Any = _AboveNoise(rung) if functional.needs_positive else rung.proper
    expansion = functional.expand(point)
    t = expansion.influence.on(raw.features, point.breakpoints)
    difference = _Difference(raw, point)
    value = expansion.value + expansion.influence(difference)
    first = max(0.0, float(t @ S @ t))
    if expansion.curvature is None:
        raise SchemeError(f"{functional} must say its second derivative")
    Q = expansion.curvature.on(raw.features, point.breakpoints, len(t))
    QS = Q @ S
    debias, second = float(np.trace(QS)), 2 * float(np.sum(QS * QS.T))
    value += expansion.curvature(difference, raw.lower, raw.upper) - debias
    if not functional.is_quadratic:
        ratio = max(abs(debias), np.sqrt(max(second, 0.0))) / np.sqrt(first) if first > 0 else np.inf
        if ratio > 1:
            raise _Refused(
                f"the noise is too large for this functional: its second-order term is {ratio:.2g} times the first-order "
                f"error at level {raw.level}, at most 1 can be trusted; more reports or a larger epsilon would do"
            )
    error = float(np.sqrt(first + max(second, 0.0)))
    if second <= constants.SMALL * first:
        below = above = normal_quantile(confidence) * error
    else:
        law = error_law(t, Q, S)
        below, above = law.quantile((1 + confidence) / 2), -law.quantile((1 - confidence) / 2)
    if functional.needs_positive:
        remainder = _remainder_near_zero(functional, expansion, point)
        value, below, above = value + remainder / 2, below + abs(remainder) / 2, above + abs(remainder) / 2
    return value, error, value - below, value + above, max(second, 0.0) / error**2 if error > 0 else 0.0


def _remainder_near_zero(functional: Functional, expansion: Expansion, point: _AboveNoise) -> float:
    """The remainder of the expansion if the density vanishes wherever it is within its noise of zero.

    There the density lies between zero and its noise, and the remainder between this value and about zero: the estimate is set
    halfway and the interval widened by the half.
    """
    vanishing = point.vanishing
    step = _Difference(vanishing, point)
    curvature = expansion.curvature(step, point.lower, point.upper) if expansion.curvature is not None else 0.0
    return functional.expand(vanishing).value - (expansion.value + expansion.influence(step) + curvature)


@dataclass(frozen=True, eq=False)
class _Difference:
    """left - right, as a function that functionals can differentiate."""

    left: Any
    right: Any

    @property
    def breakpoints(self) -> np.ndarray:
        return np.asarray(self.right.breakpoints)

    def derivative(self, order: int) -> Callable[[Any], np.ndarray]:
        left, right = self.left.derivative(order), self.right.derivative(order)
        return lambda x: left(x) - right(x)


@dataclass(frozen=True, eq=False)
class _AboveNoise:
    """The proper density bounded below by its own noise, for logarithms and powers."""

    rung: Rung
    is_vanishing: bool = False

    @property
    def lower(self) -> float:
        return self.rung.raw.lower

    @property
    def upper(self) -> float:
        return self.rung.raw.upper

    @property
    def breakpoints(self) -> np.ndarray:
        return self.rung.raw.breakpoints

    @property
    def vanishing(self) -> _AboveNoise:
        """The same with zero in the places of the noise."""
        return _AboveNoise(self.rung, True)

    def pdf(self, x: Any) -> np.ndarray:
        features = self.rung.raw.features(np.ravel(x))
        noise = constants.LIKELY_ERRORS * standard_errors(features, self.rung.covariance).reshape(np.shape(x))
        proper = self.rung.proper.pdf(x)
        return np.where(proper > noise, proper, 0.0 if self.is_vanishing else noise)

    def cdf(self, x: Any) -> np.ndarray:
        return self.rung.proper.cdf(x)

    def derivative(self, order: int) -> Callable[[Any], np.ndarray]:
        """Return the density, order 0, or its slope, order 1, as a function of x; raises SchemeError for higher orders."""
        if order == 0:
            return self.pdf
        if order > 1:
            raise SchemeError("a density kept above its noise has no second derivative")
        return self._slope

    def _slope(self, x: Any) -> np.ndarray:
        raw, S = self.rung.raw, self.rung.covariance
        flat = np.ravel(x)
        b, slope = raw.features(flat), raw.features(flat, 1)
        deviation = standard_errors(b, S)
        turn = np.einsum("nk,nk->n", b @ S, slope) / np.where(deviation > 0, deviation, 1.0)
        noise = constants.LIKELY_ERRORS * (0.0 if self.is_vanishing else turn)
        is_told = self.rung.proper.pdf(flat) > constants.LIKELY_ERRORS * deviation
        return np.where(is_told, self.rung.proper.derivative(1)(flat), noise).reshape(np.shape(x))

    def quantile(self, t: Any) -> np.ndarray:
        raise SchemeError("a density kept above its noise has no quantiles")


def invert_cdf(rung: Rung, t: float, confidence: float) -> tuple[float, float, float, float]:
    """Return value, standard error, low and high of the quantile: all x whose cdf could be t (see
    `confidence_bands.invert_band`)."""
    raw = rung.raw
    x = np.linspace(raw.lower, raw.upper, max(constants.MIN_CELLS, constants.CELLS_PER_PIECE << raw.level) + 1)
    features = raw.cumulative_features(x)
    errors = standard_errors(features, rung.covariance)
    return invert_band(x, features @ raw.coefficients, errors, t, confidence)
