"""Moments, shares and point values: T does not depend on the density; central moments are made of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from dpcore.errors import SchemeError, check_within
from dpcore.functionals.base import Curvature, Density, Expansion, Function, Functional, Influence, needs_degree

_LARGEST_MOMENT = 8  # higher ones are ruled by the last cell
_EXTREMES = 4001  # grid on which the range of a power is looked up


def _power(k: int, centre: float = 0.0) -> Function:
    return lambda x: (np.asarray(x, dtype=np.float64) - centre) ** k


class _Linear(Functional):
    """int w f, w a weight that does not depend on the density."""

    is_linear = True

    @abstractmethod
    def _weight(self, x: Any) -> np.ndarray:
        """w at x (any shape)."""

    @property
    def _breaks(self) -> tuple[float, ...]:
        """Where w is not smooth."""
        return ()

    def expand(self, density: Density) -> Expansion:
        influence = Influence(density.lower, density.upper, ((0, self._weight),), breaks=self._breaks)
        return Expansion(influence(density), influence)


class _LinearOfNumbers(_Linear):
    """A linear functional that also applies to categories with numbers."""

    def expand_probabilities(
        self, probabilities: np.ndarray, numbers: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray]:
        weights = self._weight(numbers)
        return float(probabilities @ weights), weights, np.broadcast_to(0.0, (len(numbers),) * 2)  # without memory


class _Power(_LinearOfNumbers):
    """int x^k f."""

    k: int

    @property
    def unit(self) -> float:  # type: ignore[override]
        return self.k

    def _weight(self, x: Any) -> np.ndarray:
        return _power(self.k)(x)

    def range_on(self, lower: float, upper: float) -> tuple[float, float]:
        ends = [lower**self.k, upper**self.k] + ([0.0] if lower < 0 < upper else [])
        return min(ends), max(ends)


@dataclass(frozen=True)
class Moment(_Power):
    """int x^k f, k = 1..8, in the attribute's unit to the power k."""

    k: int

    name = "moment"
    example = "moment(3)"

    def __post_init__(self) -> None:
        _check_order(self.k)


@dataclass(frozen=True)
class Mean(_Power):
    """int x f, in the attribute's unit."""

    name = "mean"
    k = 1


@dataclass(frozen=True)
class Cdf(_LinearOfNumbers):
    """The share at or below x; x in the attribute's unit."""

    x: float

    name = "cdf"
    unit = "%"
    phrase = "share at or below {x} {unit}"
    example = "cdf(0.7)"

    def refuses_density(self, density: Density) -> str | None:
        """At lower it is the point mass of clipped values."""
        return Atom(self.x).refuses_density(density) if self.x == density.lower else None

    def _weight(self, x: Any) -> np.ndarray:
        return (np.asarray(x) <= self.x).astype(np.float64)

    @property
    def _breaks(self) -> tuple[float, ...]:
        return (self.x,)

    def range_on(self, lower: float, upper: float) -> tuple[float, float]:
        return float(self.x >= upper), float(self.x >= lower)


@dataclass(frozen=True)
class Probability(_LinearOfNumbers):
    """The share from a to b, both included; a < b in the attribute's unit."""

    a: float
    b: float

    name = "probability"
    unit = "%"
    phrase = "share from {a} to {b} {unit}"
    example = "probability(-0.5, 1.25)"

    def __post_init__(self) -> None:
        if not self.a < self.b:
            raise SchemeError(f"probability needs a < b, got {self.a} and {self.b}")

    def _weight(self, x: Any) -> np.ndarray:
        x = np.asarray(x)
        return ((x >= self.a) & (x <= self.b)).astype(np.float64)

    @property
    def _breaks(self) -> tuple[float, ...]:
        return (self.a, self.b)

    def range_on(self, lower: float, upper: float) -> tuple[float, float]:
        covers, meets = self.a <= lower and upper <= self.b, self.a <= upper and lower <= self.b
        return float(covers), float(meets)


@dataclass(frozen=True)
class Atom(_Linear):
    """The proportion of exactly x, a bound of the attribute, to which values are clipped."""

    x: float

    name = "atom"
    unit = "%"
    phrase = "share at the bound, {x} {unit}"
    example = "atom(3)"
    kind = "atomic"

    def refuses(self, lower: float, upper: float, degree: int | None = None) -> str | None:
        if self.x in (lower, upper):
            return None
        return f"x = {self.x:g} is no bound; atoms are at {lower:g} and {upper:g}, where values outside are clipped to"

    def refuses_density(self, density: Density) -> str | None:
        masses = dict(zip((density.lower, density.upper), getattr(density, "atoms", (0.0, 0.0)), strict=True))
        if masses.get(self.x, 0.0) > 0 or self.x not in masses:
            return self.refuses(density.lower, density.upper)
        return f"no point mass at {self.x:g} was estimated; use more reports, or an estimator with point masses (log_spline)"

    def _weight(self, x: Any) -> np.ndarray:
        return (np.asarray(x) == self.x).astype(np.float64)

    def range_on(self, lower: float, upper: float) -> tuple[float, float]:
        return 0.0, 1.0


@dataclass(frozen=True)
class Both(_LinearOfNumbers):
    """The share of respondents who chose both of two options of a set: the mean of 1 for the sets with both, 0 for others."""

    one: str
    other: str

    name = "both"
    unit = "%"
    phrase = "share of both {one} and {other}"
    example = "both(bus, train)"

    def __post_init__(self) -> None:
        if self.one == self.other:
            raise SchemeError(f"both takes two different options, got {self.one!r} twice")

    @property
    def options(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.one, self.other

    def refuses(self, lower: float, upper: float, degree: int | None = None) -> str | None:
        return self.refuses_probabilities()

    def refuses_probabilities(self) -> str:
        return 'it is about options of type = "set"; list it under [attributes.NAME] of a set'

    def refuses_options(self, options: Sequence[str]) -> str | None:
        unknown = [option for option in self.options if option not in options]
        if options and unknown:
            return f"{unknown[0]!r} is no option; name two of {', '.join(options)}"
        return None if options else self.refuses_probabilities()

    def _weight(self, x: Any) -> np.ndarray:
        return np.asarray(x)

    def range_on(self, lower: float, upper: float) -> tuple[float, float]:
        return 0.0, 1.0


@dataclass(frozen=True)
class Derivative(Functional):
    """The density's derivative of order r = 0..3 at x; r = 0 is the density itself.  Per unit of x to the power r + 1."""

    r: int
    x: float

    name = "derivative"
    example = "derivative(0, 0.9)"
    kind = "atomic"
    is_linear = True

    def __post_init__(self) -> None:
        check_within(0, 3, order=self.r)
        if self.r != int(self.r):
            raise SchemeError(f"the order of a derivative must be 0, 1, 2 or 3, got {self.r}")

    @property
    def unit(self) -> float:  # type: ignore[override]
        return -1 - self.r

    @property
    def phrase(self) -> str:  # type: ignore[override]
        return "density at {x} {unit}" if self.r == 0 else ""

    @property
    def index(self) -> int:
        return int(self.r)

    def refuses(self, lower: float, upper: float, degree: int | None = None) -> str | None:
        if not lower <= self.x <= upper:
            return f"x = {self.x:g} lies outside [{lower:g}, {upper:g}]; name a point inside"
        return needs_degree(self.r, degree)

    def expand(self, density: Density) -> Expansion:
        influence = Influence(density.lower, density.upper, (), ((int(self.r), float(self.x), 1.0),))
        return Expansion(float(density.derivative(int(self.r))(self.x)), influence)

    def range_on(self, lower: float, upper: float) -> tuple[float, float]:
        return (0.0 if self.r == 0 else -np.inf), np.inf


class _AroundMean(Functional):
    """int (x - mean)^k f.

    With a = int x h:  T(h) = int (x - mu)^k h - k mu_{k-1} a,
    Q(h) = -k a int (x - mu)^{k-1} h + k (k - 1) / 2 mu_{k-2} a^2.
    """

    k: int

    @property
    def unit(self) -> float:  # type: ignore[override]
        return self.k

    @property
    def is_quadratic(self) -> bool:
        return self.k == 2

    def expand(self, density: Density) -> Expansion:
        mean = Mean().value(density)

        def integral(k: int) -> Influence:
            return Influence(density.lower, density.upper, ((0, _power(k, mean)),))

        k, moments = self.k, [integral(i)(density) for i in range(self.k)]

        def weight(x: Any) -> np.ndarray:
            return _power(k, mean)(x) - k * moments[k - 1] * (np.asarray(x) - mean)

        first = integral(1)  # int h = 0, so that int x h = int (x - mu) h
        curvature = Curvature(
            products=((first, integral(k - 1), -float(k)), (first, first, comb(k, 2) * moments[k - 2]))
        )
        value = integral(k)(density)
        return Expansion(value, Influence(density.lower, density.upper, ((0, weight),)), curvature)

    def range_on(self, lower: float, upper: float) -> tuple[float, float]:
        width = upper - lower
        share = np.linspace(0.0, 1.0, _EXTREMES)  # extremes are two-point laws at the ends (even k: mu_k >= 0)
        two_points = width**self.k * (share * (1 - share) ** self.k + (1 - share) * (-share) ** self.k)
        return (0.0 if self.k % 2 == 0 else float(two_points.min())), float(two_points.max())

    def expand_probabilities(
        self, probabilities: np.ndarray, numbers: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray]:
        k, centred = self.k, numbers - float(probabilities @ numbers)
        moments = [float(probabilities @ centred**i) for i in range(k)]
        gradient = centred**k - k * moments[k - 1] * centred
        cross = np.outer(centred, centred ** (k - 1))
        curvature = -k * (cross + cross.T) / 2 + comb(k, 2) * moments[k - 2] * np.outer(centred, centred)
        return float(probabilities @ centred**k), gradient, curvature


@dataclass(frozen=True)
class CentralMoment(_AroundMean):
    """int (x - mean)^k f, k = 2..8, in the attribute's unit to the power k."""

    k: int

    name = "central_moment"
    example = "central_moment(3)"

    def __post_init__(self) -> None:
        _check_order(self.k, least=2)


@dataclass(frozen=True)
class Variance(_AroundMean):
    """int (x - mean)^2 f, in the attribute's unit squared."""

    name = "variance"
    k = 2


def _check_order(k: int, least: int = 1) -> None:
    if k != int(k) or not least <= k <= _LARGEST_MOMENT:
        raise SchemeError(f"the order of a moment must be a whole number from {least} to {_LARGEST_MOMENT}, got {k}")
