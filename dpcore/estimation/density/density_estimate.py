"""The estimate of a numeric attribute: its density, and what is inferred from it.

An estimator builds it together with the inference that it needs.  The density is a spline, or the exponential of one:
coefficients and a space.  Grids exist only in `to_frame`.

Rules.  (1) x and everything returned are in the attribute's units.  (2) What is shown is a proper density; what is inferred
starts from the raw, unbiased one where there is one, which is kept beside it.  (3) No coefficient is printed.
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


Band = tuple[np.ndarray, np.ndarray]  # low and high, (n,) each


class Inference(Protocol):
    """How an estimator turns its own density estimate into intervals.

    Bands are pointwise, `deviations` standard errors to either side, of all or each of the points (n,), uncut, at x (n,) in the
    attribute's units.
    critical_value: the deviations with which the density's band holds the whole density at once.
    goodness: how the fit explains what was observed.  discreteness: whether values sit at few points; None where nobody looked.
    influence: the weights of the average reports in a functional's estimate, its derivative, and whether they are all of it;
    None where it has none.  curve: of the density and of its cdf at x, (n, S) each, to first order; None likewise.
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
    """Numbers and bands of every density that is as smooth as was said, and whether reports contradict it."""

    def estimate(self, functional: Any, confidence: float) -> FunctionalEstimate: ...
    def density_band(self, x: np.ndarray, confidence: float, simultaneous: bool) -> Band: ...
    def cdf_band(self, x: np.ndarray, confidence: float, simultaneous: bool) -> Band: ...
    def evidence(self) -> Evidence: ...


class AnyLaw(Protocol):
    """Numbers of every law that values may have, and bands of its distribution function."""

    def estimate(self, functional: Any, confidence: float) -> FunctionalEstimate: ...
    def cdf_band(self, x: np.ndarray, confidence: float, simultaneous: bool) -> Band: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class DensityEstimate(OfGroup):
    """The density of a numeric attribute: call it, differentiate it, integrate it.

    density: what is shown, nonnegative and of mass one with its atoms; to give to a functional as a density.
    covariance: (K, K), of the coefficients that the estimator solved for: of `raw` where there is one, else of the shown ones.
    raw: the unbiased estimate that was made proper, where there was one (projection).
    n: reports used.  group: whose density it is, None for everyone's.  levels: what the level rule compared.
    sample: whose reports.  exposure: what one of them can do.
    silence: the share of those who gave no answer, where that is one; all else is then of those who answered.
    assumed: what is inferred where |f''|_2 is at most a number; None where nobody has worked it out.  any_law: what holds
    whatever the law; None likewise.
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
        """The least value, in the attribute's unit."""
        return self.density.lower

    @property
    def upper(self) -> float:
        """The largest value, in the attribute's unit."""
        return self.density.upper

    @property
    def level(self) -> int:
        """j of the space V_j that the spline is of."""
        return self.density.level

    @property
    def atoms(self) -> tuple[float, float]:
        """The masses at lower and at upper that no density holds: values clipped to the bounds."""
        return self.density.atoms

    def __call__(self, x: Any) -> np.ndarray:
        """Return the density at x (any shape), per unit of x; 0 outside [lower, upper]."""
        return self.density.pdf(x)

    def derivative(self, order: int) -> Callable[[Any], np.ndarray]:
        """Return the density's derivative of that order >= 0, a function of x; zero above the degree."""
        return self.density.derivative(order)

    def cdf(self, x: Any) -> np.ndarray:
        """Return the share at or below x (any shape), nondecreasing to 1 at upper: what `functional(Cdf(x))` reports.

        It is the integral of the density shown where no correction is significant (see `coherent_cdf`); `density.cdf` is that
        integral everywhere.
        """
        return self._coherent(None)(x)

    def quantile(self, t: Any) -> np.ndarray:
        """Return the least x with cdf(x) >= t, t in [0, 1] (any shape): what `functional(Quantile(t))` reports.

        Raises SchemeError for other t.
        """
        return self._coherent(None).quantile(t)

    def band(
        self, x: Any, confidence: float = 0.95, simultaneous: bool = False, *, second_derivative: float | None = None
    ) -> Band:
        """Return low and high, shapes (n,), of the band of the density at x, (n,), per unit of x.

        Pointwise, or with `simultaneous` one that holds the whole density with that confidence: one as smooth as was found, so
        that corners and jumps that the data do not show are missed, or, with a bound as for `functional`, any that keeps it.
        Centred where the inference says, cut at 0, and widened where needed to hold the density shown.
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
        """Return low and high, shapes (n,), of the band of the cdf at x, (n,), made as `band` is; within [0, 1].

        With `simultaneous` one of the whole cdf, of every density that keeps a bound or of every law there is, as for
        `functional`; raises SchemeError where neither was said, as smoothness found in reports holds none at once.
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
        for every density that keeps it, and is of the kind 'assumed'.  distribution_free: it holds for every law on [lower,
        upper], is of the kind 'distribution_free', and longer.
        A share or a quantile is that of one distribution function, and its interval is moved where needed to contain it.
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
        """What shares and quantiles are reported from, of each kind of interval, made once."""
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
        """Return whether the reports contradict that the root of int f''^2 is at most that, in the unit to the power -5/2."""
        return self._assuming(second_derivative).evidence()

    def _alternative(self, second_derivative: float | None, distribution_free: bool) -> Assumption | AnyLaw | None:
        """What is inferred of the laws that somebody named; None where nobody did."""
        if not distribution_free:
            return None if second_derivative is None else self._assuming(second_derivative)
        if second_derivative is not None:
            raise SchemeError("second_derivative and distribution_free are two kinds of interval; ask for one")
        if self.any_law is None:
            raise SchemeError("distribution_free goes without weights and missing answers")
        return self.any_law()

    def _assuming(self, second_derivative: float) -> Assumption:
        check_bend(self.lower, self.upper, second_derivative=second_derivative)
        if self.assumed is None:
            raise SchemeError(
                "a bound on the second derivative goes with the estimator log_spline, without weights and missing answers"
            )
        return self.assumed(second_derivative)

    def sensitivity(self, functional: Any) -> Sensitivity | None:
        """Return how far malicious clients can move a functional's estimate; None where it has no derivative or is refused.

        Of a share or a quantile it is how far they can move the corrected estimate, which its interval belongs to.
        """
        if self.exposure is None or functional.refuses_density(self.density) is not None:
            return None
        influence = self.inference.influence(functional)
        if influence is None:
            return None
        return Sensitivity(self.exposure.sensitivity(influence[0]), influence[1] and self.exposure.is_constant)

    def curve_sensitivity(self, x: Any) -> tuple[np.ndarray, np.ndarray] | None:
        """Return how far malicious clients can move the density and the cdf at x (n,), `Sensitivity.value` of each, (n,).

        To first order in their share, at the smoothness that was found; None where nobody has worked it out.
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
        """How the estimate explains what was observed; None where nothing is left over to judge it by."""
        return self.inference.goodness()

    @cached_property
    def discreteness(self) -> Discreteness | None:
        """Whether values sit at few points, as far as reports can tell; None where nobody looked."""
        return self.inference.discreteness()

    @property
    def effective_n(self) -> float:
        """How many direct observations would give the mean the standard error it has: variance / SE^2, of the law shown.

        It tells what privacy costs: of n reports, about effective_n are left for the mean.
        """
        x, width = np.linspace(self.lower, self.upper, constants.FINE_CELLS + 1), self.upper - self.lower
        above, share = 1 - self.density.cdf(x), (x - self.lower) / width
        mean, square = np.trapezoid(above, share), np.trapezoid(2 * share * above, share)
        error = self.inference.estimate(Mean(), 0.95).standard_error or np.nan
        return float((square - mean**2) * width**2 / error**2)

    def draw(self, n: int, random: Source) -> np.ndarray:
        """Return n >= 0 values, shape (n,), drawn from the law that is shown, atoms included; in the attribute's units.

        They are people of the estimate, not of the data: to try a program on, or to simulate another round with.
        """
        check_within(0, 10**9, n=n)
        x, (left, right) = np.linspace(self.lower, self.upper, constants.FINE_CELLS + 1), self.atoms
        # The continuous part's cdf: the last point alone has the atom at upper
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

        Bands are pointwise, or simultaneous of what is said as for `functional`; whatever the law, no density has one, and low
        and high are NaN.  The ends of the cdf's band are put in rising order, by which a band of a rising function only gains
        [Chernozhukov2009].  The density is that of the fit, the cdf what `functional(Cdf(x))` reports of
        the same kind of interval.
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
