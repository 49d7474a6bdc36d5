"""Estimates: what an aggregate says of one attribute, with its uncertainty.

An estimate is built by an estimator, which hands it the inference it needs; it imports nothing above it.  The density of a
numeric attribute is a spline: coefficients and a space.  Grids exist only in `to_frame`.

Rules.  (1) x and everything returned are in the attribute's units.  (2) What is shown is a proper density or proper
frequencies; what is inferred starts from the raw, unbiased ones, which are kept beside them.  (3) No coefficient is printed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np
import pandas as pd
from scipy.interpolate import BSpline

from dpcore import _checks
from dpcore.bases import bspline
from dpcore.errors import SchemeError

_HALVINGS = 60  # bisection steps: 2^-60 of the interval is below the spacing of doubles


@dataclass(frozen=True, kw_only=True)
class FunctionalEstimate:
    """A number of a density, or of frequencies, with its interval.

    value, standard_error, low, high: the corrected estimate's, in the functional's unit; all None where it was refused.
    plug_in: the functional of the density that is shown.  kind: 'smooth' or 'atomic'.
    reason: why it was refused and what would do; None otherwise.
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

    @property
    def is_refused(self) -> bool:
        """Whether there is no estimate, for the reason given."""
        return self.value is None


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

    raw, covariance: the unbiased estimate that bands are centred on, at whatever level it holds its bias small, and the
    covariance of its coefficients.
    """

    @property
    def raw(self) -> Spline: ...
    @property
    def covariance(self) -> np.ndarray: ...
    def estimate(self, functional: Any, confidence: float) -> FunctionalEstimate: ...


@dataclass(frozen=True, eq=False)
class Spline:
    """A function on [lower, upper]: a spline of V_level on the unit interval, read as a density in the attribute's units.

    coefficients: (2^level + degree,) of the B-splines; the density with respect to u = (x - lower) / (upper - lower).
    It need be neither nonnegative nor of mass one; `quantile` wants both.
    """

    lower: float
    upper: float
    degree: int
    level: int
    coefficients: np.ndarray

    def __repr__(self) -> str:
        return f"<Spline of degree {self.degree} in V_{self.level} on [{self.lower:g}, {self.upper:g}]>"

    @property
    def width(self) -> float:
        """upper - lower."""
        return self.upper - self.lower

    @cached_property
    def breakpoints(self) -> np.ndarray:
        """The knots, shape (2^level + 1,), in the attribute's units."""
        return self.lower + self.width * np.arange((1 << self.level) + 1) / (1 << self.level)

    def pdf(self, x: Any) -> np.ndarray:
        """Return the density at x (any shape), per unit of x; 0 outside [lower, upper]."""
        return self.derivative(0)(x)

    def derivative(self, order: int) -> Callable[[Any], np.ndarray]:
        """Return the derivative of that order >= 0, a function of x (any shape); 0 outside [lower, upper]."""
        _checks.within(0, 16, order=order)
        if order > self.degree:
            return lambda x: np.zeros(np.shape(x))
        spline = self._spline.derivative(order) if order else self._spline

        def evaluate(x: Any) -> np.ndarray:
            u = (np.asarray(x, dtype=np.float64) - self.lower) / self.width
            inside = (u >= 0) & (u <= 1)
            return np.where(inside, spline(np.clip(u, 0.0, 1.0)), 0.0) / self.width ** (order + 1)

        return evaluate

    def cdf(self, x: Any) -> np.ndarray:
        """Return the integral from lower to x (any shape)."""
        u = (np.asarray(x, dtype=np.float64) - self.lower) / self.width
        return np.asarray(self._integral(np.clip(u, 0.0, 1.0)))

    def quantile(self, t: Any) -> np.ndarray:
        """Return the smallest x with cdf(x) >= t, t in [0, 1] (any shape); the spline must be a proper density."""
        t = np.asarray(t, dtype=np.float64)
        if not np.all((t >= 0) & (t <= 1)):
            raise SchemeError("t of a quantile must lie between 0 and 1")
        low, high = np.zeros(t.shape), np.ones(t.shape)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            below = self._integral(middle) < t
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return self.lower + self.width * high

    def features(self, x: np.ndarray, order: int = 0) -> np.ndarray:
        """Return d (order-th derivative at x) / d coefficients, shape (n, K); x: (n,) in [lower, upper]."""
        u = np.clip((np.asarray(x, dtype=np.float64) - self.lower) / self.width, 0.0, 1.0)
        return bspline.evaluate(u, self.degree, self.level, order) / self.width ** (order + 1)

    def cumulative_features(self, x: np.ndarray) -> np.ndarray:
        """Return d cdf(x) / d coefficients, shape (n, K)."""
        u = np.clip((np.asarray(x, dtype=np.float64) - self.lower) / self.width, 0.0, 1.0)
        each = BSpline.construct_fast(self._spline.t, np.eye(len(self.coefficients)), self.degree)
        return np.asarray(each.antiderivative()(u))

    @cached_property
    def _spline(self) -> BSpline:
        return BSpline(bspline.knots(self.degree, self.level), self.coefficients, self.degree)

    @cached_property
    def _integral(self) -> BSpline:
        return self._spline.antiderivative()


@dataclass(frozen=True, eq=False, kw_only=True)
class DensityEstimate:
    """The density of a numeric attribute: call it, differentiate it, integrate it.

    coefficients: (K,), K = 2^level + degree, B-splines of V_level of the proper density (nonnegative, mass one).
    raw_coefficients: (K,), of the unbiased estimate of the density's projection on V_level.
    covariance: (K, K), of the raw coefficients: the mechanism's noise, known, plus the sampling of the clients.
    n: reports used.  given: '' or 'ATTRIBUTE=CATEGORY'.  levels: what the level rule compared.
    """

    attribute: str
    lower: float
    upper: float
    unit: str
    degree: int
    level: int
    coefficients: np.ndarray
    raw_coefficients: np.ndarray
    covariance: np.ndarray
    n: int
    estimator: str
    given: str = ""
    levels: tuple[LevelRow, ...] = ()
    inference: Inference = field(repr=False)

    def __repr__(self) -> str:
        given = f" given {self.given}" if self.given else ""
        return (
            f"<DensityEstimate of {self.attribute}{given} on [{self.lower:g}, {self.upper:g}] by {self.estimator}: "
            f"degree {self.degree}, level {self.level}, {self.n} reports>"
        )

    @cached_property
    def proper(self) -> Spline:
        """The density that is shown: nonnegative, mass one."""
        return Spline(self.lower, self.upper, self.degree, self.level, self.coefficients)

    @cached_property
    def raw(self) -> Spline:
        """The unbiased estimate of the density's projection; may be negative in places."""
        return Spline(self.lower, self.upper, self.degree, self.level, self.raw_coefficients)

    @property
    def breakpoints(self) -> np.ndarray:
        """The knots in the attribute's units, shape (2^level + 1,)."""
        return self.proper.breakpoints

    def __call__(self, x: Any) -> np.ndarray:
        """Return the density at x (any shape), per unit of x; 0 outside [lower, upper]."""
        return self.proper.pdf(x)

    def pdf(self, x: Any) -> np.ndarray:
        """Return the density at x, as calling the estimate does."""
        return self.proper.pdf(x)

    def derivative(self, order: int) -> Callable[[Any], np.ndarray]:
        """Return the density's derivative of that order >= 0, a function of x; zero above the degree."""
        return self.proper.derivative(order)

    def cdf(self, x: Any) -> np.ndarray:
        """Return the share at or below x (any shape), nondecreasing from 0 at lower to 1 at upper."""
        return np.clip(self.proper.cdf(x), 0.0, 1.0)

    def quantile(self, t: Any) -> np.ndarray:
        """Return the x with cdf(x) = t, t in [0, 1] (any shape); raises SchemeError for other t."""
        return self.proper.quantile(t)

    def band(self, x: Any, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return low and high, shapes (n,), of the pointwise band of the density at x, (n,), per unit of x.

        Centred on the inference's raw estimate, which is finer than the density shown where a level rule balanced bias
        and noise: intervals of `Derivative(0, x)`.  Cut at 0, and widened where needed to hold the density shown.
        """
        raw = self.inference.raw
        x = np.atleast_1d(np.asarray(x, dtype=np.float64))
        return self._interval(raw.pdf(x), raw.features(x), confidence, np.inf, self(x))

    def cdf_band(self, x: Any, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return low and high, shapes (n,), of the pointwise band of the cdf at x, (n,), made as `band` is; within [0, 1]."""
        raw = self.inference.raw
        x = np.atleast_1d(np.asarray(x, dtype=np.float64))
        return self._interval(raw.cdf(x), raw.cumulative_features(x), confidence, 1.0, self.cdf(x))

    def functional(self, functional: Any, confidence: float = 0.95) -> FunctionalEstimate:
        """Return a functional's corrected estimate with its interval, or a refusal with its reason."""
        check_confidence(confidence)
        return self.inference.estimate(functional, confidence)

    def to_frame(self, points: int = 201, confidence: float = 0.95) -> pd.DataFrame:
        """Return a grid from lower to upper: x, density, low, high, cdf, cdf_low, cdf_high, confidence."""
        _checks.within(2, 1_000_000, points=points)
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

    def _interval(
        self, centre: np.ndarray, features: np.ndarray, confidence: float, most: float, shown: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        check_confidence(confidence)
        variance = np.einsum("nk,nk->n", features @ self.inference.covariance, features)
        half = normal_quantile(confidence) * np.sqrt(np.maximum(variance, 0.0))
        low, high = np.clip(centre - half, 0.0, most), np.clip(centre + half, 0.0, most)
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

    def as_mapping(self) -> Mapping[str, float]:
        """Return category -> frequency."""
        return dict(zip(self.categories, map(float, self.values), strict=True))

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
            return FunctionalEstimate(
                functional=name,
                value=None,
                standard_error=None,
                low=None,
                high=None,
                confidence=confidence,
                plug_in=None,
                kind=kind,
                reason=reason,
            )
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


def normal_quantile(confidence: float) -> float:
    """Return z with P(|N(0, 1)| <= z) = confidence."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def check_confidence(confidence: float) -> None:
    """Raise SchemeError unless 0 < confidence < 1."""
    if not 0 < confidence < 1:
        raise SchemeError(f"confidence must lie strictly between 0 and 1, got {confidence}")
