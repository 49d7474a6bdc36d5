"""One-step estimates of functionals of a penalised fit: the bias of smoothing is corrected by the residuals.

A penalised density f is smoother than the truth f*, so that L(f) is biased and intervals around it do not cover.  With delta
= f* - f, of posterior covariance V, and h its unpenalised estimate in a B-spline span, of covariance S (`residual_projection`),

    value = L(f) + T(h) + tr(Q V) - 2 tr(Q C),     SE^2 = t' S t + u' V u + 2 tr((Q V)^2),

t and T the functional's derivative along the span, Q half its second; u the derivative of T(delta) that the span does not see;
C the covariance of f and h: T is evaluated at f, whose noise is that of h, and with a span that sees everything the
second-order term is minus tr(Q V).  The span is the coarsest of V_4, V_5, V_6 in which u is small: it depends on the resolution
of the functional and its cost, not on the estimated smoothness of f.  This is the undersmoothing of [Szabo2024].  Where f
vanishes and the derivative is unbounded, t may be that of a density bounded below (`influences`); u has the rest.

Values at a point (`Influence.points`) have no weight that a span could resolve: every finer span costs a power of its width.
Their interval contains the corrected one and the posterior intervals of all priors that the data do not reject.

Values within an input cell have the same reports; `binning_error` adds that error.  If values are discrete (`discreteness`),
proportions and quantiles have distribution-free intervals (`distribution_free`), and functionals of a density are refused.  The
reported proportions and quantiles come from one distribution function, made of their band (`coherent_cdf`).

A functional is refused if its second-order term, or the standard deviation of that, exceeds the first-order error, unless the
density itself is estimated so well that the third order is small.  The interval of a nonlinear functional also contains those
of the roughest such prior, and of the uniform density if the data do not reject it.  Distances without a derivative, where
distribution and reference nearly agree, change by at most the change of the distribution: | L(f*) - L(f) | <= W_2(f*, f), to
first order a weighted l2 norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from operator import itemgetter

import numpy as np

from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation import constants
from dpcore.estimation.density import log_spline_fit, log_spline_posterior
from dpcore.estimation.density.densities import DensityOnInterval, Spline
from dpcore.estimation.density.likelihood import Likelihood
from dpcore.estimation.density.log_spline_posterior import Posterior, holds_uniform, of_models
from dpcore.estimation.diagnostics import discreteness
from dpcore.estimation.diagnostics.chi_square_mixture import ChiSquareMixture, error_law
from dpcore.estimation.diagnostics.evidence import Deviations, Discreteness
from dpcore.estimation.functional_estimate import FunctionalEstimate, normal_quantile, refused
from dpcore.estimation.inference import quantile_inversion, residual_projection
from dpcore.estimation.inference.binning_error import Cells, Corrected, check_density
from dpcore.estimation.inference.confidence_bands import inferred, standard_errors
from dpcore.estimation.inference.distribution_free import SHARES, DistributionFree
from dpcore.estimation.inference.residual_projection import Span, influences
from dpcore.estimation.inference.unbiased_moments import OFFERED, UnbiasedMoments
from dpcore.functionals import Cdf, Curvature, Expansion, Functional, Influence, Quantile

ORDERS = tuple(range(1, constants.DEGREE + 2))  # of differences that priors penalise: up to those that no cubic has
_LEVELS = range(constants.COARSEST_LEVEL, constants.FIT_LEVEL + 1)  # of spans: 19, 35 and 67 B-splines
_WINDOW = 2 / 2**constants.COARSEST_LEVEL  # of the interval: two of the coarsest span's pieces, to hide its knots
_NOTHING = "the reports leave every value possible; more of them or a larger epsilon would do"


@dataclass(frozen=True, eq=False)
class OneStep:
    """Functionals of a density estimated through a likelihood.

    posterior: averaged over priors.  priors: the posterior of each prior that the data do not reject, best first.
    shown: the density of plug-in values.  is_uniform: whether the data do not reject the uniform density.
    """

    posterior: Posterior
    priors: Sequence[Posterior]
    shown: DensityOnInterval
    is_uniform: bool = False
    _spans: dict[tuple[int, int], Span] = field(default_factory=dict, repr=False)

    def estimate(self, functional: Functional, confidence: float) -> FunctionalEstimate:
        """Return the functional's corrected estimate, or a refusal; the caller has checked the confidence."""
        density = self.posterior.density
        reason = functional.refuses(density.lower, density.upper, self.shown.degree)
        if reason is not None:
            return refused(functional, reason, confidence)
        try:
            plug_in, smooth = self._tried(functional, confidence)
            corrected = self._moments.joined(functional, smooth, confidence)
            if isinstance(functional, SHARES | Quantile):
                is_discrete = self.discreteness.is_seen
                corrected = self._any_distribution.instead_of(smooth, functional, confidence, is_discrete)
        except NotEstimable as why:
            return refused(functional, str(why), confidence)
        if corrected is None:
            reason = "the fit leaves this functional without a finite value; the density is too concentrated for it"
            return refused(functional, reason, confidence)
        if corrected.missing > 1:
            return refused(functional, self._too_noisy(corrected.missing), confidence, plug_in)
        least, most = self._range(functional)
        interval = corrected.value, corrected.error, corrected.low, corrected.high
        result = inferred(functional, interval, (least, most), confidence, plug_in, second_order=corrected.share)
        if least < most and (result.low, result.high) == (least, most):  # the interval is the whole range
            return refused(functional, _NOTHING, confidence, plug_in)
        return result

    def influence(self, functional: Functional) -> tuple[np.ndarray, bool] | None:
        """Return the weights of the average reports in the corrected value, (Z,): its derivative, at fixed priors.

        With T the functional's derivative along the fit's parameters and t along the span, R and its reach A F as in `Span`,
        and the fit moving by V J' W dy with the data: T V J' W + t' R - t' R J V J' W.  False: the estimate is not exactly
        linear.
        """
        posterior, density = self.posterior, self.posterior.density
        if functional.refuses(density.lower, density.upper, self.shown.degree) is not None:
            return None
        asked: Functional = functional
        scale = 1.0
        if isinstance(functional, Quantile):
            at = float(density.quantile(functional.t))
            asked = Cdf(at)
            scale = -1 / max(float(density.pdf(np.array([at]))[0]), constants.SMALL / density.width)
        try:
            with np.errstate(all="ignore"):
                expansion = asked.expand(density)
                seen, t, _ = self._sight(posterior, *influences(asked, expansion, density))
                along = posterior.along(expansion.influence)
        except (SchemeError, np.linalg.LinAlgError, ArithmeticError, ValueError):
            return None
        moved = (along - seen.reach.T @ t) @ posterior.covariance @ posterior.slope.T
        weights = moved * posterior.likelihood.weights(posterior.expected) + t @ seen.solve
        smooth = self._tried(functional, constants.CONFIDENCE)[1] if isinstance(functional, OFFERED) else None
        return posterior.likelihood.of_reports(self._moments.weights(functional, smooth, scale * weights)), False

    def density_errors(self, x: np.ndarray) -> np.ndarray:
        """Return the standard errors of the corrected density's average over an eighth of the range around x, (n,)."""
        density, seen = self.posterior.density, self._span(self.posterior, _LEVELS[0])
        half = _WINDOW / 2 * density.width
        middle = np.clip(np.asarray(x, dtype=np.float64), density.lower + half, density.upper - half)
        differences = seen.cdf_features(middle + half) - seen.cdf_features(middle - half)
        differences[:, len(seen.correction) - len(seen.ends) :] = 0.0  # of the density alone
        return standard_errors(differences / (2 * half), seen.covariance)

    def cdf_band(self, x: np.ndarray, deviations: Deviations) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper limits, (n,), of the corrected distribution function at x (n,)."""
        below, errors = self._cdf(x)
        low, high = below - deviations * errors, below + deviations * errors
        if self._cells.are_few:  # within an end cell little is observed beyond the value at its inner edge
            begin, end = edges = self._cells.inner
            value, at_edges = self._cdf(edges)
            half = np.max(deviations) * at_edges
            low = np.where(x > end, np.maximum(low, value[1] - half[1]), low)
            high = np.where(x < begin, np.minimum(high, value[0] + half[0]), high)
        free = self._any_distribution.band(x, deviations)
        is_free = self.discreteness.is_seen | (self._any_distribution.cdf_errors(x) < errors)
        return np.where(is_free, free[0], low), np.where(is_free, free[1], high)

    def _cdf(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The corrected distribution function at x, and its standard errors."""
        posterior, density = self.posterior, self.posterior.density
        columns = np.vstack([posterior.cdf_features[:-1], -posterior.masses[1]])  # the last: the mass below upper
        below = np.array([np.interp(x, posterior.grid, features) for features in columns.T]).T  # by parameter
        below[x >= density.upper] = 0.0
        value, variance = np.empty(len(x)), np.full(len(x), np.inf)
        may_go_on = self._cells.are_few & ~self._cells.is_hidden(x)
        open_, is_enough = np.ones(len(x), dtype=bool), np.zeros(len(x), dtype=bool)
        for level in _LEVELS:
            seen = self._span(posterior, level)
            features = seen.cdf_features(x)
            left = standard_errors(below - features @ seen.reach, posterior.covariance) ** 2
            total = standard_errors(features, seen.covariance) ** 2 + left
            open_ &= total <= constants.MAX_COST**2 * variance
            does = left <= constants.SMALL * total
            taken = open_ & (~is_enough | does & (total < variance))
            value[taken], variance[taken] = (features @ seen.correction)[taken], total[taken]
            is_enough |= taken & does
            open_ &= ~is_enough | may_go_on
        return density.cdf(x) + value, np.hypot(np.sqrt(variance), self._cells.shares(x))

    def _tried(self, functional: Functional, confidence: float) -> tuple[float, Corrected | None]:
        """The plug-in and the corrected value; None for a density concentrated in nearly one place."""
        try:
            with np.errstate(all="ignore"):
                plug_in, corrected = float(functional.value(self.shown)), self._point_corrected(functional, confidence)
        except (np.linalg.LinAlgError, ArithmeticError, ValueError):
            return np.nan, None
        except SchemeError:
            if functional.is_distance:  # a spike between two points of a quadrature looks equal to anything
                return np.nan, None
            raise
        is_finite = np.all(np.isfinite([plug_in, corrected.value, corrected.error, corrected.low, corrected.high]))
        return plug_in, corrected if is_finite else None

    def _point_corrected(self, functional: Functional, confidence: float) -> Corrected:
        if isinstance(functional, Quantile):
            return self._quantile(functional.t, confidence)
        if functional.is_distance and not functional.has_normal_limit(self.posterior.density, self._cdf_error):
            return self._distance(functional, confidence)
        density = self.posterior.density
        expansion = functional.expand(density)
        check_density(expansion, self._cells, self.discreteness)
        corrected = self._corrected(self.posterior, functional, expansion, confidence)
        if expansion.influence.points:
            corrected = self._at_point(corrected, functional, confidence)
        if expansion.curvature is not None:
            rough = self._corrected(self._roughest, functional, functional.expand(self._roughest.density), confidence)
            low, high = min(corrected.low, rough.low), max(corrected.high, rough.high)
            flat = self._flat(functional) if self.is_uniform else corrected.value
            low, high = min(low, flat), max(high, flat)
            share, missing = max(corrected.share, rough.share), max(corrected.missing, rough.missing)
            corrected = Corrected(corrected.value, corrected.error, low, high, share, missing)
        elif not functional.is_linear:
            raise SchemeError(f"{functional} must say its second derivative, or that it is linear")
        else:
            corrected = corrected.widened(self._cells.spread(expansion.influence), confidence)
        return self._distance(functional, confidence) if functional.is_distance and corrected.missing > 1 else corrected

    def _corrected(
        self, posterior: Posterior, functional: Functional, expansion: Expansion, confidence: float
    ) -> Corrected:
        """The corrected functional, in the coarsest span that resolves it."""
        V = posterior.covariance
        seen, t, variance = self._sight(posterior, *influences(functional, expansion, posterior.density))
        value = expansion.value + float(t @ seen.correction)
        first = float(np.sqrt(variance))
        weights = np.zeros(0)
        below = above = normal_quantile(confidence) * first
        if expansion.curvature is not None:
            Q, crossed = _curvatures(posterior, seen, expansion.curvature)
            weights = np.linalg.eigvalsh(posterior.root.T @ Q @ posterior.root)  # x' Q x is their sum of squares
            value += float(weights.sum()) - 2 * float(np.sum(V @ seen.reach.T * crossed))
            law = ChiSquareMixture(-weights, linear=first, constant=float(weights.sum()))  # of value - truth
            below, above = law.quantile((1 + confidence) / 2), -law.quantile((1 - confidence) / 2)
        second = float(np.sqrt(2 * np.sum(weights**2)))
        error = float(np.hypot(first, second))
        largest = max(abs(float(weights.sum())), second)
        missing = 0.0
        if largest > first:
            missing = float(np.divide(largest, first) ** constants.reports_by_ratio())
            if functional.index is None:
                missing = min(missing, (posterior.relative_error / constants.SMALL) ** constants.reports_by_error())
        share = (second / error) ** 2 if error > 0 else 0.0
        return Corrected(value, error, value - below, value + above, share, missing)

    def _sight(self, posterior: Posterior, own: Influence, *others: Influence) -> tuple[Span, np.ndarray, float]:
        """The span of a functional's correction, T of its functions, and the first-order variance.

        The coarsest that leaves little unseen, or the one of least variance where a finer one may resolve more; never one with
        more than twice the error of the one before.
        own: the functional's derivative.  others: alternatives to correct by; the one with the least variance is used.
        """
        along = posterior.along(own)
        breaks = np.array(own.breaks if own.of_law else ())  # of a density's weight they are the fit's own knots
        may_go_on = self._cells.are_few and not np.any(self._cells.is_hidden(breaks))

        def read(seen: Span, influence: Influence) -> tuple[float, float, np.ndarray]:
            t = seen.along(influence, posterior.density.breakpoints)
            left = _square(along - seen.reach.T @ t, posterior.covariance)
            return _square(t, seen.covariance) + left, left, t

        candidates: list[tuple[Span, np.ndarray, float]] = []
        enough: list[tuple[Span, np.ndarray, float]] = []
        for level in _LEVELS:
            seen = self._span(posterior, level)
            variance, left, t = min((read(seen, influence) for influence in (own, *others)), key=itemgetter(0))
            if candidates and variance > constants.MAX_COST**2 * candidates[-1][2]:
                break
            candidates.append((seen, t, variance))
            if left <= constants.SMALL * variance:
                enough.append(candidates[-1])
                if not may_go_on:
                    break
        return min(enough, key=itemgetter(2), default=candidates[-1])

    def _at_point(self, corrected: Corrected, functional: Functional, confidence: float) -> Corrected:
        """The corrected value, with an interval that contains those of every prior that the data do not reject."""
        z, ends = normal_quantile(confidence), [(corrected.low, corrected.high)]
        for posterior in (self.posterior, *self.priors):
            expansion = functional.expand(posterior.density)
            half = z * float(np.sqrt(_square(posterior.along(expansion.influence), posterior.covariance)))
            ends.append((expansion.value - half, expansion.value + half))
        lows, highs = zip(*ends, strict=True)
        return Corrected(corrected.value, corrected.error, min(lows), max(highs), corrected.share, corrected.missing)

    def _quantile(self, t: float, confidence: float) -> Corrected:
        posterior, density = self.posterior, self.posterior.density
        at = Cdf(float(density.quantile(t)))
        seen, _, _ = self._sight(posterior, at.expand(density).influence)
        inverted = quantile_inversion.corrected(posterior, seen, t, confidence)
        return inverted.widened(self._cells.width, confidence)

    def _distance(self, functional: Functional, confidence: float) -> Corrected:
        """The plug-in, and an upper bound of the distance between the distribution and the fit."""
        posterior, density = self.posterior, self.posterior.density
        seen = self._span(posterior, _LEVELS[0])
        middles = (posterior.grid[1:] + posterior.grid[:-1]) / 2
        scale = density.width / len(middles) / np.maximum(density.pdf(middles), constants.SMALL / density.width)
        features, c, S = seen.cdf_features(middles), seen.correction, seen.covariance
        Q = (features.T * scale) @ features
        law = error_law(2 * Q @ c, Q, S)  # of (c + x)' Q (c + x), x ~ N(0, S), less its mean
        half = float(np.sqrt(max(0.0, law.quantile(confidence) + np.sum(Q * S) + c @ Q @ c)))
        value = float(functional.value(density))
        return Corrected(value, half / normal_quantile(confidence), value - half, value + half, share=1.0)

    def _too_noisy(self, missing: float) -> str:
        """Reason of a refusal, with the reports needed by a density with two derivatives: error^2 ~ (n epsilon^2)^(-2/3)."""
        cause = "the noise is too large for this functional: its second-order term exceeds the first-order error"
        reports = missing * self.posterior.likelihood.n
        if reports > 1e10:  # more than there are people
            return f"{cause}, and no number of reports that one could hope for would do"
        return f"{cause}; about {_rounded(reports):,} reports or {np.sqrt(missing):.2g} times the epsilon would do"

    def _flat(self, functional: Functional) -> float:
        """The functional of the uniform density, or of the fit if it is undefined there."""
        density = self.posterior.density
        try:
            flat = float(functional.value(Spline(density.lower, density.upper, 0, 0, np.ones(1))))
        except (SchemeError, ArithmeticError):
            return float(functional.value(density))
        return flat if np.isfinite(flat) else float(functional.value(density))

    def _range(self, functional: Functional) -> tuple[float, float]:
        density = self.posterior.density
        least, most = functional.range_on(density.lower, density.upper)
        is_of_law = isinstance(functional, Quantile) or functional.is_distance
        if len(self.posterior.ends) and not is_of_law and not functional.expand(density).influence.of_law:
            return min(least, 0.0), np.inf  # the density beside atoms has less mass than one
        return least, most

    @cached_property
    def _moments(self) -> UnbiasedMoments:
        return UnbiasedMoments(self.posterior.likelihood, self.posterior.density, self.posterior.expected)

    @cached_property
    def _cells(self) -> Cells:
        return Cells(self.posterior.likelihood.inputs, self.posterior.density)

    @cached_property
    def discreteness(self) -> Discreteness:
        """Whether values are concentrated on few points."""
        return discreteness.assess(self.posterior.likelihood, self.posterior.density)

    @cached_property
    def _any_distribution(self) -> DistributionFree:
        return DistributionFree(self.posterior.likelihood, self.posterior.density)

    @cached_property
    def _roughest(self) -> Posterior:
        """Of the priors that are not rejected, the one with the largest variance of the log density."""

        def spread(posterior: Posterior) -> float:
            return float(np.trace(posterior.covariance[: len(posterior.density.coefficients)]))

        return max(self.priors, key=spread, default=self.posterior)

    @cached_property
    def _cdf_error(self) -> float:
        """Distance below which distribution functions count as equal: the median standard error of the corrected one."""
        seen = self._span(self.posterior, _LEVELS[0])
        errors = standard_errors(seen.cdf_features(self.posterior.grid), seen.covariance)
        return float(np.median(errors))

    def _span(self, posterior: Posterior, level: int) -> Span:
        key = id(posterior), level
        if key not in self._spans:
            self._spans[key] = residual_projection.project(posterior, level)
        return self._spans[key]


def of_likelihood(
    likelihood: Likelihood, lower: float, upper: float, shown: DensityOnInterval | None = None
) -> OneStep:
    """Return the inference through a log-spline fitted to the likelihood; shown: another estimate of the same density."""
    return of_fit(log_spline_fit.fit(likelihood, constants.FIT_LEVEL, ORDERS), lower, upper, shown)


def of_fit(fit: log_spline_fit.Fit, lower: float, upper: float, shown: DensityOnInterval | None = None) -> OneStep:
    """Return the inference through a fit, its density on [lower, upper]."""
    posterior = log_spline_posterior.of_fit(fit, lower, upper)
    priors = of_models(fit, lower, upper, constants.TEST_ERROR)
    return OneStep(posterior, priors, shown or posterior.density, holds_uniform(fit, constants.TEST_ERROR))


def _rounded(number: float) -> int:
    """Up to two digits."""
    unit = 10 ** max(0, len(str(int(number))) - 2)
    return unit * ceil(number / unit)


def _square(t: np.ndarray, covariance: np.ndarray) -> float:
    return max(0.0, float(t @ covariance @ t))


def _curvatures(posterior: Posterior, seen: Span, curvature: Curvature) -> tuple[np.ndarray, np.ndarray]:
    """Q of the parameters' features, (D, D), and of these with the span's, (D, K)."""
    size = len(posterior.covariance)

    def both(x: np.ndarray, order: int) -> np.ndarray:
        return np.hstack([posterior.features(x, order), seen.features(x, order)])

    masses = np.hstack([posterior.masses, seen.masses])
    whole = curvature.on(both, posterior.density.breakpoints, masses.shape[1], masses)
    return whole[:size, :size], whole[:size, size:]
