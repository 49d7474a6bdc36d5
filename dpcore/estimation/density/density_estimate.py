"""The estimate of a numeric attribute: its density and the inference from it.

An estimator builds it together with the inference that it needs.  The density is a spline or the exponential of one, stored as
coefficients and a space; grids exist only in `to_frame`.

Rules.  (1) x and all results are in the attribute's units.  (2) The density shown is proper; inference starts from the raw,
unbiased estimate where there is one, which is stored beside it.  (3) Coefficients are never printed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dpcore._random import Source
from dpcore.errors import SchemeError, check_bend, check_within
from dpcore.estimation import constants
from dpcore.estimation.coherent_cdf import REPORTED, CoherentCdf
from dpcore.estimation.density.densities import DensityOnInterval, Spline
from dpcore.estimation.diagnostics.evidence import (
    Deviations,
    Discreteness,
    Evidence,
    Exposure,
    GoodnessOfFit,
    LevelRow,
    Sample,
    Sensitivity,
)
from dpcore.estimation.frequency.frequency_estimate import FrequencyEstimate
from dpcore.estimation.functional_estimate import FunctionalEstimate, check_confidence, normal_quantile, refused
from dpcore.functionals import Mean
from dpcore.functionals.group import Group, OfGroup

if TYPE_CHECKING:
    import pandas as pd


Band = tuple[np.ndarray, np.ndarray]  # lower and upper limits, (n,) each


class Inference(Protocol):
    """How an estimator derives intervals from its own density estimate.

    Bands are pointwise at x (n,) in the attribute's units, not clipped: `deviations` standard errors to either side, one number
    or (n,).
    critical_value: the deviations of a simultaneous band of the density.
    goodness: the goodness of fit.  discreteness: whether values are concentrated on few points; None if not tested.
    influence: the weights of the average reports in a functional's estimate, its derivative, and whether the estimate is
    exactly linear in them; None if it has none.  curve: weights of the density and of its cdf at x, (n, S) each, to first
    order, or None.
    """

    def density_band(self, x: np.ndarray, deviations: Deviations) -> Band: ...
    def cdf_band(self, x: np.ndarray, deviations: Deviations) -> Band: ...
    def critical_value(self, confidence: float) -> float: ...
    def estimate(self, functional: Any, confidence: float) -> FunctionalEstimate: ...
    def goodness(self) -> GoodnessOfFit | None: ...
    def discreteness(self) -> Discreteness | None: ...
    def influence(self, functional: Any) -> tuple[np.ndarray, bool] | None: ...
    def curve(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None: ...


class Assumption(Protocol):
    """Functionals and bands valid for every density with a stated bound on its second derivative, and a test of the bound."""

    def estimate(self, functional: Any, confidence: float) -> FunctionalEstimate: ...
    def density_band(self, x: np.ndarray, confidence: float, simultaneous: bool) -> Band: ...
    def cdf_band(self, x: np.ndarray, confidence: float, simultaneous: bool) -> Band: ...
    def evidence(self) -> Evidence: ...


class AnyLaw(Protocol):
    """Functionals, and bands of the distribution function, valid for every distribution of the values."""

    def estimate(self, functional: Any, confidence: float) -> FunctionalEstimate: ...
    def cdf_band(self, x: np.ndarray, confidence: float, simultaneous: bool) -> Band: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class DensityEstimate(OfGroup):
    """The density of a numeric attribute: call it, differentiate it, integrate it.

    density: the density shown, nonnegative and of mass one with its point masses; functionals accept it as a density.
    covariance: (K, K), of the coefficients that the estimator solved for: of `raw` if there is one, else of those shown.
    raw: the unbiased estimate before it was made proper (projection only).
    n: number of reports.  group: the subpopulation, None for all clients.  levels: comparisons of the level rule.
    sample: the reports used.  exposure: the effect of one report.
    silence: the nonresponse rate, if nonresponse is an answer; all else then describes the respondents.
    assumed: inference under a bound on |f''|_2; None if unavailable.  any_law: inference valid for every distribution, or None.
    """

    attribute: str
    unit: str
    density: DensityOnInterval
    covariance: np.ndarray
    raw: Spline | None = None
    n: int
    estimator: str
    group: Group | None = None
    levels: tuple[LevelRow, ...] = ()
    inference: Inference = field(repr=False)
    sample: Sample | None = field(default=None, repr=False)
    exposure: Exposure | None = field(default=None, repr=False)
    silence: FrequencyEstimate | None = field(default=None, repr=False)
    assumed: Callable[[float], Assumption] | None = field(default=None, repr=False)
    any_law: Callable[[], AnyLaw] | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        condition = f" given {self.given}" if self.given else ""
        return (
            f"<DensityEstimate of {self.attribute}{condition} on [{self.lower:g}, {self.upper:g}] by {self.estimator}: "
            f"degree {self.density.degree}, level {self.level}, {self.n} reports>"
        )

    @property
    def lower(self) -> float:
        """Lower bound of the values, in the attribute's unit."""
        return self.density.lower

    @property
    def upper(self) -> float:
        """Upper bound of the values, in the attribute's unit."""
        return self.density.upper

    @property
    def level(self) -> int:
        """j of the space V_j of the spline."""
        return self.density.level

    @property
    def atoms(self) -> tuple[float, float]:
        """Point masses at lower and at upper: values clipped to the bounds."""
        return self.density.atoms

    def __call__(self, x: Any) -> np.ndarray:
        """Return the density at x (any shape), per unit of x; 0 outside [lower, upper]."""
        return self.density.pdf(x)

    def derivative(self, order: int) -> Callable[[Any], np.ndarray]:
        """Return the density's derivative of that order >= 0, a function of x; zero above the degree."""
        return self.density.derivative(order)

    def cdf(self, x: Any) -> np.ndarray:
        """Return the proportion at or below x (any shape), nondecreasing to 1 at upper: the value of `functional(Cdf(x))`.

        Where no correction is significant it is the integral of the density shown (see `coherent_cdf`); `density.cdf` is that
        integral everywhere.
        """
        return self._coherent(None)(x)

    def quantile(self, t: Any) -> np.ndarray:
        """Return the least x with cdf(x) >= t, t in [0, 1] (any shape): the value of `functional(Quantile(t))`.

        Raises SchemeError for other t.
        """
        return self._coherent(None).quantile(t)

    def band(
        self, x: Any, confidence: float = 0.95, simultaneous: bool = False, *, second_derivative: float | None = None
    ) -> Band:
        """Return lower and upper limits, shapes (n,), of the band of the density at x, (n,), per unit of x.

        Pointwise, or with `simultaneous` a band of the whole density: of one as smooth as was estimated, which excludes corners
        and jumps that the data do not show, or, with a bound as for `functional`, of every density within the bound.
        The inference sets its centre; it is clipped at 0, and widened where needed to contain the density shown.
        """
        check_confidence(confidence)
        x = np.atleast_1d(np.asarray(x, dtype=np.float64))
        if second_derivative is not None:
            limits = self._assuming(second_derivative).density_band(x, confidence, simultaneous)
            return _cut(limits, self(x), np.inf)
        z = self.inference.critical_value(confidence) if simultaneous else normal_quantile(confidence)
        return _cut(self.inference.density_band(x, z), self(x), np.inf)

    def cdf_band(
        self,
        x: Any,
        confidence: float = 0.95,
        simultaneous: bool = False,
        *,
        second_derivative: float | None = None,
        distribution_free: bool = False,
    ) -> Band:
        """Return lower and upper limits, shapes (n,), of the band of the cdf at x, (n,), as `band` does; within [0, 1].

        With `simultaneous` it is a band of the whole cdf, for every density within a bound or for every distribution, as for
        `functional`; raises SchemeError if neither is asked for, since estimated smoothness gives no simultaneous band.
        """
        check_confidence(confidence)
        x = np.atleast_1d(np.asarray(x, dtype=np.float64))
        alternative = self._alternative(second_derivative, distribution_free)
        if alternative is not None:
            return _cut(alternative.cdf_band(x, confidence, simultaneous), self._coherent(alternative)(x), 1.0)
        if simultaneous:
            raise SchemeError("a simultaneous band of the cdf needs second_derivative=M or distribution_free=True")
        return self._coherent(None).contained(x, *self.inference.cdf_band(x, normal_quantile(confidence)))

    def functional(
        self,
        functional: Any,
        confidence: float = 0.95,
        *,
        second_derivative: float | None = None,
        distribution_free: bool = False,
    ) -> FunctionalEstimate:
        """Return a functional's corrected estimate with its interval, or a refusal with its reason.

        second_derivative: a bound on the root of int f''^2, in the attribute's unit to the power -5/2; the interval then holds
        for every density within the bound, and its kind is 'assumed'.  distribution_free: the interval holds for every
        distribution on [lower, upper]; its kind is 'distribution_free', and it is longer.
        The values of proportions and quantiles come from one distribution function; their intervals are moved where needed to
        contain them.
        """
        check_confidence(confidence)
        alternative = self._alternative(second_derivative, distribution_free)
        reason = None if alternative is not None else functional.refuses_density(self.density)
        if reason is not None:
            return refused(functional, reason, confidence)
        result = (alternative or self.inference).estimate(functional, confidence)
        if result.is_refused or not isinstance(functional, REPORTED):
            return result
        return result.around(
            self._coherent(alternative).value(functional), *functional.range_on(self.lower, self.upper)
        )

    def _coherent(self, alternative: Assumption | AnyLaw | None) -> CoherentCdf:
        """The distribution function of proportions and quantiles, for each kind of interval; cached."""
        if id(alternative) not in self._coherents:

            def band(x: np.ndarray) -> Band:
                if alternative is None:
                    return self.inference.cdf_band(x, normal_quantile(constants.CONFIDENCE))
                return alternative.cdf_band(x, constants.CONFIDENCE, False)

            self._coherents[id(alternative)] = CoherentCdf.from_band(self.density, band)
        return self._coherents[id(alternative)]

    @cached_property
    def _coherents(self) -> dict[int, CoherentCdf]:
        return {}

    def assumption(self, second_derivative: float) -> Evidence:
        """Return the test of a bound on the root of int f''^2, in the unit to the power -5/2, by the reports."""
        return self._assuming(second_derivative).evidence()

    def _alternative(self, second_derivative: float | None, distribution_free: bool) -> Assumption | AnyLaw | None:
        """The inference that the caller asks for instead of the estimator's own; None for the latter."""
        if not distribution_free:
            return None if second_derivative is None else self._assuming(second_derivative)
        if second_derivative is not None:
            raise SchemeError("second_derivative and distribution_free are two kinds of interval; ask for one")
        if self.any_law is None:
            raise SchemeError("distribution_free is not available with weights or item nonresponse; leave it out")
        return self.any_law()

    def _assuming(self, second_derivative: float) -> Assumption:
        check_bend(self.lower, self.upper, second_derivative=second_derivative)
        if self.assumed is None:
            raise SchemeError(
                "a bound on the second derivative needs the estimator log_spline, without weights and item nonresponse"
            )
        return self.assumed(second_derivative)

    def sensitivity(self, functional: Any) -> Sensitivity | None:
        """Return how far malicious clients can move a functional's estimate; None if it has no derivative or is refused.

        For a proportion or a quantile it is how far they can move the corrected estimate, to which the interval belongs.
        """
        if self.exposure is None or functional.refuses_density(self.density) is not None:
            return None
        influence = self.inference.influence(functional)
        if influence is None:
            return None
        return Sensitivity(self.exposure.sensitivity(influence[0]), influence[1] and self.exposure.is_constant)

    def curve_sensitivity(self, x: Any) -> tuple[np.ndarray, np.ndarray] | None:
        """Return how far malicious clients can move the density and the cdf at x (n,), `Sensitivity.value` of each, (n,).

        To first order in their share, at the estimated smoothness; None if unavailable.
        """
        if self.exposure is None:
            return None
        influences = self.inference.curve(np.atleast_1d(np.asarray(x, dtype=np.float64)))
        if influences is None:
            return None
        density, cdf = (self.exposure.sensitivities(weights) for weights in influences)
        return density, cdf

    @cached_property
    def fit(self) -> GoodnessOfFit | None:
        """Goodness of fit of the estimate; None if no degrees of freedom are left to judge it by."""
        return self.inference.goodness()

    @cached_property
    def discreteness(self) -> Discreteness | None:
        """Whether the reports suggest values concentrated on few points; None if not tested."""
        return self.inference.discreteness()

    @property
    def effective_n(self) -> float:
        """Number of direct observations with the same standard error of the mean: variance / SE^2 of the distribution shown.

        It measures the cost of privacy: n reports are worth effective_n observations for the mean.
        """
        x, width = np.linspace(self.lower, self.upper, constants.FINE_CELLS + 1), self.upper - self.lower
        above, share = 1 - self.density.cdf(x), (x - self.lower) / width
        mean, square = np.trapezoid(above, share), np.trapezoid(2 * share * above, share)
        error = self.inference.estimate(Mean(), 0.95).standard_error or np.nan
        return float((square - mean**2) * width**2 / error**2)

    def draw(self, n: int, random: Source) -> np.ndarray:
        """Return n >= 0 values, shape (n,), drawn from the distribution shown, point masses included; in the attribute's units.

        They come from the estimate, not from the data: use them to test a program or to simulate another round.
        """
        check_within(0, 10**9, n=n)
        x, (left, right) = np.linspace(self.lower, self.upper, constants.FINE_CELLS + 1), self.atoms
        # cdf of the continuous part: only the last point includes the point mass at upper
        below = np.append(self.density.cdf(x[:-1]), 1.0 - right)
        drawn = random.generator().random(n)
        values = np.interp(drawn, below, x)
        return np.where(drawn < left, self.lower, np.where(drawn >= 1 - right, self.upper, values))

    def to_frame(
        self,
        points: int = 201,
        confidence: float = 0.95,
        *,
        second_derivative: float | None = None,
        distribution_free: bool = False,
    ) -> pd.DataFrame:
        """Return a grid from lower to upper: x, density, low, high, cdf, cdf_low, cdf_high, confidence.

        Bands are pointwise, or simultaneous for the inference asked for as in `functional`; a distribution-free one exists for
        the cdf alone, and low and high are NaN.  The limits of the cdf's band are sorted, which never loses coverage for a
        rising function [Chernozhukov2009].  The density is the fitted one, the cdf that of `functional(Cdf(x))` for the same
        kind of interval.
        """
        import pandas as pd

        check_within(2, 1_000_000, points=points)
        x = np.linspace(self.lower, self.upper, points)
        at_once = distribution_free or second_derivative is not None
        band = self.cdf_band(
            x, confidence, at_once, second_derivative=second_derivative, distribution_free=distribution_free
        )
        cdf_low, cdf_high = (np.sort(limit) for limit in band)
        low = high = np.full(points, np.nan)
        if not distribution_free:
            low, high = self.band(x, confidence, at_once, second_derivative=second_derivative)
        return pd.DataFrame(
            {
                "x": x,
                "density": self(x),
                "low": low,
                "high": high,
                "cdf": self._coherent(self._alternative(second_derivative, distribution_free))(x),
                "cdf_low": cdf_low,
                "cdf_high": cdf_high,
                "confidence": confidence,
            }
        )


def _cut(band: Band, shown: np.ndarray, most: float) -> Band:
    low, high = (np.clip(end, 0.0, most) for end in band)
    return np.minimum(low, shown), np.maximum(high, shown)
