"""Intervals valid for every density with a stated bound on its second derivative, and a test of the bound.

A linear functional has the shortest interval of fixed length that includes the worst bias over the class (`smoothness_class`).
A quantile inverts such intervals of the distribution function; quadratic functionals have intervals of their own.
Smoothness is not estimated: under a wrong bound the interval does not cover.

Quadratic functionals of a density with |f''|_2 <= M: an unbiased square, and the worst remainder among densities that fit.

With l and Q a functional's first and half its second derivative at the uniform density, and w the coordinates of
`smoothness_class`,

    L(w) = c + l'w + w'Q w,    v = S w + e,  S = seen / h,  e of variance V = seen / h^2,    h = seen + t rough,  t = 2,

    L(w) = c + l'v + v'Q v - tr(Q V)  -  X  +  R(w),    X = (l + 2 Q S w)'e + e'Q e - tr(Q V),

    R(w) = l'(1 - S) w + w'(Q - S Q S) w.

X is a mixture of chi-squareds, with nine tenths of the error probability.  R is bounded over the w of the class whose
chi-squared exceeds that of the nearest one by at most a quantile for a true w (simulated at the nearest).  The dual of
Lagrange's function bounds its maximum for any two multipliers, of the class and of the data.  So the data localise the worst
case: for the claw and 10^5 clients at epsilon 1, int f^2 is known to .7 and not to 1.3.  The variation of f'' within a piece is
neglected: it moves f by (256 pi)^-2 M in L2 at most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpcore.errors import NotEstimable
from dpcore.estimation import constants
from dpcore.estimation.density.densities import Spline
from dpcore.estimation.density.log_spline_posterior import Posterior
from dpcore.estimation.diagnostics.chi_square_mixture import error_law
from dpcore.estimation.diagnostics.evidence import Evidence
from dpcore.estimation.functional_estimate import ASSUMED, FunctionalEstimate, normal_quantile, refused
from dpcore.estimation.inference import smoothness_class
from dpcore.estimation.inference.confidence_bands import critical_value, inferred, invert_band
from dpcore.estimation.inference.smoothness_class import Linear, SmoothClass
from dpcore.functionals import Atom, Functional, Quantile

_SECOND = "a bound on the second derivative does not bound that derivative; ask for one of a lower order"
_NO_DENSITY = "the reports show a point mass at a bound, and the assumption is of a density; widen the bounds"
_CURVED = "intervals under an assumption exist for linear and quadratic functionals and for quantiles"


@dataclass(frozen=True, eq=False)
class Assumed:
    """Functionals of a density with |f''|_2 at most a bound; posterior: the fit that gives the noise."""

    posterior: Posterior
    smooth_class: SmoothClass

    def estimate(self, functional: Functional, confidence: float) -> FunctionalEstimate:
        """Return the functional with an interval for the whole class, or a refusal; the caller has checked the confidence."""
        density = self.posterior.density
        reason = self._refuses(functional)
        if reason is not None:
            return refused(functional, reason, confidence, kind=ASSUMED)
        if isinstance(functional, Quantile):
            value, error, low, high = self._quantile(functional.t, confidence)
        elif not functional.is_linear:
            region = Region.from_simulation(self.smooth_class, *self._simulated, constants.SMALL * (1 - confidence))
            value, error, low, high = quadratic(functional, self.smooth_class, region, confidence)
        else:
            linear = self.smooth_class.linear(self.smooth_class.along(functional.expand(density).influence), confidence)
            half, error = float(linear.half(confidence)[0]), float(linear.deviation[0])
            value = float(linear.value[0])
            low, high = value - half, value + half
        bounds, plug_in = functional.range_on(density.lower, density.upper), float(functional.value(density))
        return inferred(functional, (value, error, low, high), bounds, confidence, plug_in, kind=ASSUMED)

    def density_band(self, x: np.ndarray, confidence: float, simultaneous: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper limits, (n,) each, of the density at x (n,), pointwise or simultaneous."""
        return self._band(self.smooth_class.features, x, confidence, simultaneous)

    def cdf_band(self, x: np.ndarray, confidence: float, simultaneous: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper limits, (n,) each, of the proportion at or below x (n,), pointwise or simultaneous."""
        return self._band(self.smooth_class.below, x, confidence, simultaneous)

    def shortest(
        self, along: Callable[[np.ndarray], np.ndarray], confidence: float, simultaneous: bool
    ) -> tuple[np.ndarray, float]:
        """Return the t, (1,), with the shortest band on average, and the deviations of a simultaneous band.

        It depends on the noise and the bound alone; along: the curve's weights of the splines, (n, K), at x (n,).
        """
        curve, candidates = along(self.smooth_class.breakpoints), []
        for trade in constants.BAND_TRADES[:, None]:
            here, deviations = self.smooth_class.alike(curve, trade), np.nan
            if simultaneous:
                noise = self.smooth_class.noise(curve, trade)
                deviations = critical_value(noise, np.eye(noise.shape[1]), confidence)
            candidates.append((float(np.mean(_half(here, confidence, deviations))), trade, deviations))
        return min(candidates, key=lambda one: one[0])[1:]

    def _band(
        self, along: Callable[[np.ndarray], np.ndarray], x: np.ndarray, confidence: float, simultaneous: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Band of a curve that is linear in the density; raises NotEstimable if there is no density."""
        if len(self.posterior.detected_ends):
            raise NotEstimable(_NO_DENSITY)
        trade, deviations = self.shortest(along, confidence, simultaneous)
        here = self.smooth_class.alike(along(x), trade)
        half = _half(here, confidence, deviations)
        return here.value - half, here.value + half

    def evidence(self) -> Evidence:
        """Return the test of the bound by the reports.

        The statistic is the gain in chi-squared of densities rougher than the bound, in standard deviations over rounds
        simulated from the density of the class nearest to the data; the largest over several multiples of the bound.  A density
        far beyond the bound differs from the class in directions that twice the bound hardly contains (`python -m
        tests.estimation.inference.test_assumption_power`).
        """
        simulated, observed = self._gains(self._simulated[0]), self._gains(self.smooth_class.score[None])
        spread = np.maximum(simulated.std(axis=1, keepdims=True), constants.TINY)
        away = (np.hstack([observed, simulated]) - simulated.mean(axis=1, keepdims=True)) / spread
        most = away.max(axis=0)
        return Evidence(
            statistic=float(most[0]), threshold=float(np.quantile(most[1:], 1 - constants.BOUND_FALSE_ALARMS))
        )

    @cached_property
    def _simulated(self) -> tuple[np.ndarray, np.ndarray]:
        """Scores of simulated rounds, (m, K - 1), of the density of the class nearest to the data, and its w."""
        smooth_class = self.smooth_class
        null = smooth_class.nearest(smooth_class.score[None])[0]
        noise = np.random.default_rng(constants.SEED).standard_normal((constants.SIMULATED_ROUNDS, len(null)))
        return smooth_class.seen * null + np.sqrt(smooth_class.seen) * noise, null

    def _gains(self, score: np.ndarray) -> np.ndarray:
        """Decrease of chi-squared of scores (m, K - 1) when the bound is multiplied, (multiples, m)."""
        within = self.smooth_class.distance(score, 1.0)
        return np.array([within - self.smooth_class.distance(score, times) for times in constants.ROUGHER])

    def _refuses(self, functional: Functional) -> str | None:
        density = self.posterior.density
        if len(self.posterior.detected_ends) or isinstance(functional, Atom):
            return _NO_DENSITY
        if (functional.index or 0) > functional.is_linear:  # squares of derivatives are one order worse
            return _SECOND
        if not (functional.is_quadratic or isinstance(functional, Quantile)):
            return _CURVED
        return functional.refuses(density.lower, density.upper, density.degree)

    def _quantile(self, t: float, confidence: float) -> tuple[float, float, float, float]:
        """Value, standard error, low and high: all x whose proportion below may be t, by intervals of that t."""
        x = self.smooth_class.breakpoints
        at = np.array([float(self.posterior.density.quantile(t))])
        trade = self.smooth_class.linear(self.smooth_class.below(at), confidence).trade
        shares = self.smooth_class.alike(self.smooth_class.below(x), trade)
        errors = shares.half(confidence) / normal_quantile(confidence)
        return invert_band(x, shares.value, errors, t, confidence)


def _half(linear: Linear, confidence: float, deviations: float) -> np.ndarray:
    """Half the length of a band: of each pointwise interval, or the worst bias and a number of deviations of the noise."""
    return linear.half(confidence) if np.isnan(deviations) else linear.bias + deviations * linear.deviation


def under_bound(posterior: Posterior, second_derivative: float) -> Assumed:
    """Return the inference under |f''|_2 at most that, in the attribute's unit to the power -5/2."""
    density = posterior.density
    return Assumed(
        posterior,
        smoothness_class.build(
            posterior.likelihood, posterior.expected, density.lower, density.upper, second_derivative
        ),
    )


@dataclass(frozen=True, eq=False)
class Region:
    """The w of a class in the confidence region: sum seen (w - score / seen)^2 <= radius, over identified coordinates."""

    smooth_class: SmoothClass
    radius: float

    @classmethod
    def from_simulation(
        cls, smooth_class: SmoothClass, simulated: np.ndarray, null: np.ndarray, probability: float
    ) -> Region:
        """Return the region that a true w leaves with that probability; simulated: scores (m, K - 1) of the nearest w, null."""
        gaps = smooth_class.chi_squared(simulated, null) - smooth_class.distance(simulated, 1.0)
        return cls(
            smooth_class,
            float(smooth_class.distance(smooth_class.score[None], 1.0)[0] + np.quantile(gaps, 1 - probability)),
        )

    def range(self, linear: np.ndarray, square: np.ndarray) -> tuple[float, float]:
        """Return bounds of linear'w + w'square w over the region."""
        smooth_class, identified = self.smooth_class, self.smooth_class.identified
        seen, score = np.where(identified, smooth_class.seen, 0.0), np.where(identified, smooth_class.score, 0.0)
        least = self.radius - float(np.sum(smooth_class.score[identified] ** 2 / smooth_class.seen[identified]))
        ends = [[np.inf], [np.inf]]
        for ratio in constants.RATIOS:
            scale = 1 / np.sqrt(smooth_class.rough + ratio * seen)
            values, axes = np.linalg.eigh(square * np.outer(scale, scale))
            own, observed = axes.T @ (scale * linear), axes.T @ (scale * score)
            for side, sign in enumerate((-1.0, 1.0)):
                first = max(float(np.max(sign * values)), 0.0)
                m = first + max(float(np.max(np.abs(values))), 1e-12) * constants.MULTIPLIERS[:, None]
                bent = np.sum((sign * own + 2 * m * ratio * observed) ** 2 / (m - sign * values), axis=1) / 4
                ends[side].append(float(np.min(bent + m[:, 0] * (1 + ratio * least))))
        return -min(ends[0]), min(ends[1])


def quadratic(
    functional: Functional, smooth_class: SmoothClass, region: Region, confidence: float
) -> tuple[float, float, float, float]:
    """Return value, standard error, low and high of a quadratic functional."""
    expansion = functional.expand(Spline(smooth_class.lower, smooth_class.upper, 0, 0, np.ones(1)))
    linear = smooth_class.along(expansion.influence)[0] @ smooth_class.turn
    assert expansion.curvature is not None  # as it is quadratic
    size = len(smooth_class.turn)
    square = (
        smooth_class.turn.T
        @ expansion.curvature.on(smooth_class.features, smooth_class.breakpoints, size)
        @ smooth_class.turn
    )
    damped = smooth_class.seen + constants.DAMPING * smooth_class.rough
    shrunk, variance, estimated = smooth_class.seen / damped, smooth_class.seen / damped**2, smooth_class.score / damped
    value = expansion.value + linear @ estimated + estimated @ square @ estimated - np.diagonal(square) @ variance
    # The slope at the estimate contains the noise twice, which is removed
    slope, second = linear + 2 * square @ estimated, 2 * float(np.sum(square**2 * np.outer(variance, variance)))
    first = float(np.sum(slope**2 * variance))
    slope = slope * np.sqrt(max(first - 2 * second, 0.0) / max(first, constants.TINY))
    law = error_law(slope, square, np.diag(variance))
    tail = (1 - constants.SMALL) * (1 - confidence) / 2
    least, most = region.range(linear * (1 - shrunk), square * (1 - np.outer(shrunk, shrunk)))
    low, high = value - law.quantile(1 - tail) + least, value - law.quantile(tail) + most
    return float(np.clip(value, low, high)), float(np.sqrt(law.variance)), float(low), float(high)
