"""Estimates: what an aggregate says of one attribute, with its uncertainty.

An estimate is built by an estimator, which hands it the inference it needs; it imports nothing above it.  The density of a
numeric attribute is a spline: coefficients and a space.  Grids exist only in `to_frame`.

Rules.  (1) x and everything returned are in the attribute's units.  (2) What is shown is a proper density or proper
frequencies; what is inferred starts from the raw, unbiased ones, which are kept beside them.  (3) No coefficient is printed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np
import pandas as pd

from dpcore._random import Source
from dpcore.errors import SchemeError, check_within
from dpcore.estimation.densities import DensityOnInterval, Spline
from dpcore.functionals import Mean

_FINE = 16385  # points of a grid on which a law is integrated or inverted


@dataclass(frozen=True, kw_only=True)
class FunctionalEstimate:
    """A number of a density, or of frequencies, with its interval.

    value, standard_error, low, high: the corrected estimate's, in the functional's unit; all None where it was refused.
    plug_in: the functional of the density that is shown.  kind: 'smooth' or 'atomic'.
    reason: why it was refused and what would do; None otherwise.
    second_order: the share of standard_error^2 that the functional's second derivative adds; None where nobody said.
    """

    functional: str
    value: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    confidence: float
    plug_in: float | None
    kind: str
    reason: str | None = None
    second_order: float | None = None

    @property
    def is_refused(self) -> bool:
        """Whether there is no estimate, for the reason given."""
        return self.value is None


@dataclass(frozen=True, kw_only=True)
class GoodnessOfFit:
    """How far what was observed lies from what an estimate expects, against what chance explains.

    statistic: chi-squared.  degrees: of freedom, effective: its mean where the model is right.  threshold: what it exceeds once
    in a thousand times then.  p_value: how often it would be as large.
    """

    statistic: float
    degrees: float
    threshold: float
    p_value: float

    @property
    def passed(self) -> bool:
        """Whether the estimate explains what was observed."""
        return self.statistic <= self.threshold

    def __str__(self) -> str:
        return f"chi-squared {self.statistic:.1f} on {self.degrees:.1f} effective degrees of freedom, p = {self.p_value:.2g}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Sample:
    """Whose reports an estimate was made of: what a comparison has to know of how two estimates are correlated.

    aggregate: the fingerprint of the aggregate.  n: its reports.
    weights, reported: of a group (k,), the row w of the inverse of the categorical channel and the reports m by what they said
    of the other attribute, so that w' m is unbiased for the group's reports; None for everyone.
    """

    aggregate: str
    n: int
    weights: np.ndarray | None = None
    reported: np.ndarray | None = None

    @property
    def size(self) -> float:
        """The group's reports, estimated: w' m."""
        return float(self.n) if self.weights is None or self.reported is None else float(self.weights @ self.reported)

    @property
    def error(self) -> float:
        """Its standard error, sqrt(sum w^2 m), but for the sampling of the clients; 0 for everyone."""
        return 0.0 if self.weights is None or self.reported is None else float(np.sqrt(self.weights**2 @ self.reported))

    @property
    def effective_n(self) -> float:
        """How many reports, their category known, the group's are worth: n P(c)^2 / E w^2."""
        return float(self.n) if self.weights is None else (max(0.0, self.size) / max(self.error, 1e-300)) ** 2


@dataclass(frozen=True)
class Sensitivity:
    """How far malicious clients can move an estimate, in its unit, whatever they report.

    value: the most that one report is worth, max |U(z)| (see `estimators.sensitivity`).
    is_exact: whether the bound holds for any number of them; else to first order in their share.
    """

    value: float
    is_exact: bool

    def bias(self, beta: float) -> float:
        """Return the most that a share beta of the counted reports, 0 <= beta < 1, has moved the estimate."""
        if not 0 <= beta < 1:
            raise SchemeError(f"beta must be a share of the reports, at least 0 and below 1, got {beta}")
        return self.value * beta / (1 - beta)


class Exposure(Protocol):
    """What one report can do to the averages that estimates are made of."""

    def sensitivity(self, weights: np.ndarray) -> float:
        """Return max |U(z)| of a number with these weights of the average reports."""

    def sensitivities(self, weights: np.ndarray) -> np.ndarray:
        """Return the same of many numbers, (n,); weights: (n, S)."""


@dataclass(frozen=True)
class LevelRow:
    """What a level rule found at one candidate level: the comparison that came closest to its threshold, or passed it most.

    statistic, threshold: L2 distances on the unit interval; None where there was nothing finer to compare with.
    """

    level: int
    statistic: float | None
    threshold: float | None
    selected: bool


class Inference(Protocol):
    """How an estimator turns its own density estimate into intervals.

    Bands are pointwise, `deviations` standard errors to either side, uncut, at x (n,) in the attribute's units.
    critical_value: the deviations with which the density's band holds the whole density at once.
    goodness: how the fit explains what was observed.
    influence: the weights of the average reports in a functional's estimate, its derivative, and whether they are all of it;
    None where it has none.  curve: of the density and of its cdf at x, (n, S) each, to first order; None likewise.
    """

    def density_band(self, x: np.ndarray, deviations: float) -> tuple[np.ndarray, np.ndarray]: ...
    def cdf_band(self, x: np.ndarray, deviations: float) -> tuple[np.ndarray, np.ndarray]: ...
    def critical_value(self, confidence: float) -> float: ...
    def estimate(self, functional: Any, confidence: float) -> FunctionalEstimate: ...
    def goodness(self) -> GoodnessOfFit | None: ...
    def influence(self, functional: Any) -> tuple[np.ndarray, bool] | None: ...
    def curve(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class DensityEstimate:
    """The density of a numeric attribute: call it, differentiate it, integrate it.

    density: what is shown, nonnegative and of mass one with its atoms; to give to a functional as a density.
    covariance: (K, K), of the coefficients that the estimator solved for: of `raw` where there is one, else of the shown ones.
    raw: the unbiased estimate that was made proper, where there was one (projection).
    n: reports used.  given: '' or 'ATTRIBUTE=CATEGORY'.  levels: what the level rule compared.  sample: whose reports.
    exposure: what one of them can do.
    """

    attribute: str
    unit: str
    density: DensityOnInterval
    covariance: np.ndarray
    raw: Spline | None = None
    n: int
    estimator: str
    given: str = ""
    levels: tuple[LevelRow, ...] = ()
    inference: Inference = field(repr=False)
    sample: Sample | None = field(default=None, repr=False)
    exposure: Exposure | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        given = f" given {self.given}" if self.given else ""
        return (
            f"<DensityEstimate of {self.attribute}{given} on [{self.lower:g}, {self.upper:g}] by {self.estimator}: "
            f"degree {self.density.degree}, level {self.level}, {self.n} reports>"
        )

    @property
    def lower(self) -> float:
        return self.density.lower

    @property
    def upper(self) -> float:
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
        """Return the share at or below x (any shape), nondecreasing from 0 at lower to 1 at upper."""
        return np.clip(self.density.cdf(x), 0.0, 1.0)

    def quantile(self, t: Any) -> np.ndarray:
        """Return the x with cdf(x) = t, t in [0, 1] (any shape); raises SchemeError for other t."""
        return self.density.quantile(t)

    def band(self, x: Any, confidence: float = 0.95, simultaneous: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return low and high, shapes (n,), of the band of the density at x, (n,), per unit of x.

        Pointwise, or with `simultaneous` one that holds the whole density with that confidence.  Centred where the inference
        says, cut at 0, and widened where needed to hold the density shown.
        """
        check_confidence(confidence)
        x = np.atleast_1d(np.asarray(x, dtype=np.float64))
        z = self.inference.critical_value(confidence) if simultaneous else normal_quantile(confidence)
        return _cut(self.inference.density_band(x, z), self(x), np.inf)

    def cdf_band(self, x: Any, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return low and high, shapes (n,), of the pointwise band of the cdf at x, (n,), made as `band` is; within [0, 1]."""
        check_confidence(confidence)
        x = np.atleast_1d(np.asarray(x, dtype=np.float64))
        return _cut(self.inference.cdf_band(x, normal_quantile(confidence)), self.cdf(x), 1.0)

    def functional(self, functional: Any, confidence: float = 0.95) -> FunctionalEstimate:
        """Return a functional's corrected estimate with its interval, or a refusal with its reason."""
        check_confidence(confidence)
        reason = functional.refuses_density(self.density)
        if reason is None:
            return self.inference.estimate(functional, confidence)
        return refused(functional, reason, confidence)

    def sensitivity(self, functional: Any) -> Sensitivity | None:
        """Return how far malicious clients can move a functional's estimate; None where it has no derivative or is refused."""
        if self.exposure is None or functional.refuses_density(self.density) is not None:
            return None
        found = self.inference.influence(functional)
        return None if found is None else Sensitivity(self.exposure.sensitivity(found[0]), found[1])

    def curve_sensitivity(self, x: Any) -> tuple[np.ndarray, np.ndarray] | None:
        """Return how far malicious clients can move the density and the cdf at x (n,), `Sensitivity.value` of each, (n,).

        To first order in their share, at the smoothness that was found; None where nobody has worked it out.
        """
        found = None if self.exposure is None else self.inference.curve(np.atleast_1d(np.asarray(x, dtype=np.float64)))
        if self.exposure is None or found is None:
            return None
        density, cdf = (self.exposure.sensitivities(weights) for weights in found)
        return density, cdf

    @cached_property
    def fit(self) -> GoodnessOfFit | None:
        """How the estimate explains what was observed; None where nothing is left over to judge it by."""
        return self.inference.goodness()

    @property
    def effective_n(self) -> float:
        """How many direct observations would give the mean the standard error it has: variance / SE^2, of the law shown.

        It tells what privacy costs: of n reports, about effective_n are left for the mean.
        """
        x, width = np.linspace(self.lower, self.upper, _FINE), self.upper - self.lower
        above, share = 1 - self.cdf(x), (x - self.lower) / width
        mean, square = np.trapezoid(above, share), np.trapezoid(2 * share * above, share)
        error = self.inference.estimate(Mean(), 0.95).standard_error or np.nan
        return float((square - mean**2) * width**2 / error**2)

    def draw(self, n: int, random: Source) -> np.ndarray:
        """Return n >= 0 values, shape (n,), drawn from the law that is shown, atoms included; in the attribute's units.

        They are people of the estimate, not of the data: to try a program on, or to simulate another round with.
        """
        check_within(0, 10**9, n=n)
        x, (left, right) = np.linspace(self.lower, self.upper, _FINE), self.atoms
        # The continuous part's cdf: the last point alone has the atom at upper
        below = np.append(self.cdf(x[:-1]), 1.0 - right)
        drawn = random.generator().random(n)
        values = np.interp(drawn, below, x)
        return np.where(drawn < left, self.lower, np.where(drawn >= 1 - right, self.upper, values))

    def to_frame(self, points: int = 201, confidence: float = 0.95) -> pd.DataFrame:
        """Return a grid from lower to upper: x, density, low, high, cdf, cdf_low, cdf_high, confidence."""
        check_within(2, 1_000_000, points=points)
        x = np.linspace(self.lower, self.upper, points)
        low, high = self.band(x, confidence)
        cdf_low, cdf_high = self.cdf_band(x, confidence)
        return pd.DataFrame(
            {
                "x": x,
                "density": self(x),
                "low": low,
                "high": high,
                "cdf": self.cdf(x),
                "cdf_low": cdf_low,
                "cdf_high": cdf_high,
                "confidence": confidence,
            }
        )


def _cut(band: tuple[np.ndarray, np.ndarray], shown: np.ndarray, most: float) -> tuple[np.ndarray, np.ndarray]:
    low, high = (np.clip(end, 0.0, most) for end in band)
    return np.minimum(low, shown), np.maximum(high, shown)


@dataclass(frozen=True, eq=False)
class Spread:
    """A covariance matrix of k numbers, diag(own) + shared' weights shared: exact, and small where k is large.

    own: (k,).  shared: (r, k).  weights: (r, r), symmetric.
    """

    own: np.ndarray
    shared: np.ndarray
    weights: np.ndarray

    @property
    def variances(self) -> np.ndarray:
        """The diagonal, shape (k,)."""
        return np.asarray(self.own + np.einsum("rk,rs,sk->k", self.shared, self.weights, self.shared, optimize=True))

    def along(self, gradient: np.ndarray) -> float:
        """Return the variance of gradient' x, gradient (k,)."""
        common = self.shared @ gradient
        return float(self.own @ gradient**2 + common @ self.weights @ common)

    def trace(self, matrix: np.ndarray) -> float:
        """Return tr(matrix S), matrix (k, k) symmetric."""
        return float(self.own @ np.diagonal(matrix) + np.sum(self.weights * (self.shared @ matrix @ self.shared.T)))

    def matrix(self) -> np.ndarray:
        """Return the whole matrix, (k, k)."""
        return np.asarray(np.diag(self.own) + self.shared.T @ self.weights @ self.shared)


class Intervals(Protocol):
    """The ends, shapes (k,), of intervals of `deviations` standard errors around unbiased frequencies, uncut."""

    def __call__(self, deviations: float) -> tuple[np.ndarray, np.ndarray]: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class FrequencyEstimate:
    """The frequencies of a categorical attribute, in the order of its categories; arrays have shape (k,).

    values: a projection of `raw`: nonnegative, sum one.  raw: unbiased; may be negative.
    low, high: pointwise intervals, `interval(confidence)`, cut at 0 and 1 and widened where needed to hold `values`.
    spread: the covariance of raw, at `values`.  n: reports used.  numbers: the categories' numbers, or None.
    sensitivities: (k,), how far malicious clients can move each of raw per share of them (`Sensitivity`), exact.
    exposure: what one report can do to numbers made of raw.
    """

    attribute: str
    categories: tuple[str, ...]
    values: np.ndarray
    raw: np.ndarray
    spread: Spread = field(repr=False)
    intervals: Intervals = field(repr=False)
    confidence: float
    n: int
    numbers: tuple[float, ...] | None
    estimator: str
    given: str = ""
    sample: Sample | None = field(default=None, repr=False)
    sensitivities: np.ndarray | None = field(default=None, repr=False)
    exposure: Exposure | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return (
            f"<FrequencyEstimate of {self.attribute} by {self.estimator}: {len(self.categories)} categories, "
            f"{self.n} reports>"
        )

    def __getitem__(self, category: str) -> float:
        """Return one category's frequency."""
        if category not in self.categories:
            raise SchemeError(f"{self.attribute} has no category {category!r}; it has {', '.join(self.categories)}")
        return float(self.values[self.categories.index(category)])

    @cached_property
    def standard_errors(self) -> np.ndarray:
        """Of raw, shape (k,)."""
        return np.sqrt(np.maximum(self.spread.variances, 0.0))

    @property
    def covariance(self) -> np.ndarray:
        """Of raw, shape (k, k); made when asked for, 800 MB for 10,000 categories, where `spread` is small."""
        return self.spread.matrix()

    @property
    def low(self) -> np.ndarray:
        return self._shown[0]

    @property
    def high(self) -> np.ndarray:
        return self._shown[1]

    @cached_property
    def _shown(self) -> tuple[np.ndarray, np.ndarray]:
        low, high = self.interval(self.confidence)
        return np.minimum(np.clip(low, 0.0, 1.0), self.values), np.maximum(np.clip(high, 0.0, 1.0), self.values)

    def interval(self, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return low and high, shapes (k,), each of which holds one category's frequency with that confidence.

        Around `raw` and uncut: they may reach below 0 or above 1, and `values` may lie outside them.
        """
        check_confidence(confidence)
        return self.intervals(normal_quantile(confidence))

    def simultaneous(self, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return low and high, shapes (k,), within [0, 1], that hold all frequencies at once with that confidence.

        Each interval has confidence c^(1/k): for normal errors, however they are correlated, all hold with at least c
        [Sidak1967].  Errors of different categories are all but uncorrelated, so that for k above a few nothing is lost.
        """
        check_confidence(confidence)
        low, high = self.intervals(normal_quantile(confidence ** (1 / len(self.categories))))
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    @property
    def effective_n(self) -> float:
        """How many direct observations would give the frequencies the summed variance they have: (1 - sum f^2) / tr S."""
        return float((1 - self.values @ self.values) / self.spread.variances.sum())

    def draw(self, n: int, random: Source) -> np.ndarray:
        """Return n >= 0 categories, shape (n,), drawn from the frequencies that are shown."""
        check_within(0, 10**9, n=n)
        return random.generator().choice(
            np.array(self.categories, dtype=object), size=n, p=self.values / self.values.sum()
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per category: category, estimate, standard_error, confidence, low, high."""
        return pd.DataFrame(
            {
                "category": list(self.categories),
                "estimate": self.values,
                "standard_error": self.standard_errors,
                "confidence": self.confidence,
                "low": self.low,
                "high": self.high,
            }
        )

    def functional(self, functional: Any, confidence: float = 0.95) -> FunctionalEstimate:
        """Return a functional of the categories' numbers, such as Mean(), with its interval, or a refusal.

        value = L(raw) - tr(Q S), the second-order bias removed (Q half the second derivative, S the covariance);
        SE^2 = g' S g, g the gradient.
        """
        check_confidence(confidence)
        name, kind = str(functional), functional.kind
        reason = functional.refuses_probabilities()
        if self.numbers is None:
            reason = f"the categories of {self.attribute} have no numbers; give `values` in the scheme"
        if reason is not None or self.numbers is None:
            return refused(functional, str(reason), confidence)
        numbers = np.asarray(self.numbers, dtype=np.float64)
        value, gradient, curvature = functional.expand_probabilities(self.raw, numbers)
        if not functional.is_linear:
            value -= self.spread.trace(curvature)
        error = float(np.sqrt(max(0.0, self.spread.along(gradient))))
        least, most = functional.range_of_numbers(numbers)
        half = normal_quantile(confidence) * error
        return FunctionalEstimate(
            functional=name,
            value=float(np.clip(value, least, most)),
            standard_error=error,
            low=float(np.clip(value - half, least, most)),
            high=float(np.clip(value + half, least, most)),
            confidence=confidence,
            plug_in=float(functional.of_probabilities(self.values, numbers)),
            kind=kind,
        )

    def sensitivity(self, functional: Any) -> Sensitivity | None:
        """Return how far malicious clients can move a functional of the categories' numbers; None where it is refused."""
        if self.exposure is None or self.numbers is None or functional.refuses_probabilities() is not None:
            return None
        _, gradient, _ = functional.expand_probabilities(self.raw, np.asarray(self.numbers, dtype=np.float64))
        return Sensitivity(self.exposure.sensitivity(gradient), functional.is_linear)


def refused(functional: Any, reason: str, confidence: float = 0.95, plug_in: float | None = None) -> FunctionalEstimate:
    """Return the result of a functional that cannot be inferred, and why; plug_in: of what is shown, where it has one."""
    return FunctionalEstimate(
        functional=str(functional),
        value=None,
        standard_error=None,
        low=None,
        high=None,
        confidence=confidence,
        plug_in=plug_in,
        kind=functional.kind,
        reason=reason,
    )


def normal_quantile(confidence: float) -> float:
    """Return z with P(|N(0, 1)| <= z) = confidence."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def check_confidence(confidence: float) -> None:
    """Raise SchemeError unless 0 < confidence < 1."""
    if not 0 < confidence < 1:
        raise SchemeError(f"confidence must lie strictly between 0 and 1, got {confidence}")
