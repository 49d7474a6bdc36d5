"""Laws of one attribute: what a truth is made of.

A numeric law is a mixture of components on a closed interval.
A component is anything with the methods `pdf`, `cdf`, `rvs` and `support` of scipy's frozen distributions.
`Beta` is the one we ship: with whole parameters of at least three its density is a polynomial that vanishes at both
ends together with its slope, so no mass sits at a bound and every derivative is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import comb, lgamma
from typing import Any, Protocol

import numpy as np
import scipy

from dpcore.errors import SchemeError
from dpcore.functionals.quantile import proportions

_TOLERANCE = 1e-9  # how far probabilities written as decimals may be from summing to one
_HALVINGS = 64  # bisection steps: 2^-64 of the interval is below the spacing of doubles anywhere inside it
_TAIL = 1e-12  # mass of a distribution of scipy that is cut off at either end
_PIECES = 64  # pieces of the interval on which a truth is integrated; each holds a smooth arc of every density we ship


class Component(Protocol):
    """One part of a mixture; scipy's frozen continuous distributions are components as they are."""

    def pdf(self, x: Any) -> Any: ...

    def cdf(self, x: Any) -> Any: ...

    def rvs(self, size: int, random_state: np.random.Generator) -> Any: ...

    def support(self) -> Any: ...


@dataclass(frozen=True)
class Beta:
    """The Beta law with shapes a and b, stretched to [lower, upper].

    a, b: > 0; both above 2 for a density whose slope vanishes at the ends.
    """

    a: float
    b: float
    lower: float = 0.0
    upper: float = 1.0

    def __post_init__(self) -> None:
        if not (self.a > 0 and self.b > 0 and self.lower < self.upper):
            raise SchemeError(
                f"Beta needs a > 0, b > 0 and lower < upper, got {self.a}, {self.b}, {self.lower}, {self.upper}"
            )

    def support(self) -> tuple[float, float]:
        return self.lower, self.upper

    def pdf(self, x: Any) -> np.ndarray:
        """Return the density at x (any shape), per unit of x; 0 outside [lower, upper]."""
        u, inside = self._unit(x)
        width = self.upper - self.lower
        return np.where(
            inside,
            np.exp(scipy.special.xlogy(self.a - 1, u) + scipy.special.xlog1py(self.b - 1, -u) - self._log_beta) / width,
            0.0,
        )

    def cdf(self, x: Any) -> np.ndarray:
        """Return the probability of at most x (any shape)."""
        return np.asarray(scipy.special.betainc(self.a, self.b, self._unit(x)[0]))

    def rvs(self, size: int, random_state: np.random.Generator) -> np.ndarray:
        """Return independent draws, shape (size,)."""
        return self.lower + (self.upper - self.lower) * random_state.beta(self.a, self.b, size)

    def derivative(self, order: int) -> Callable[[Any], np.ndarray]:
        """Return the density's derivative of that order, a function of x; exact (Leibniz on u^(a-1) (1-u)^(b-1))."""

        def evaluate(x: Any) -> np.ndarray:
            u, inside = self._unit(x)
            total = np.zeros_like(u)
            for k in range(order + 1):
                left, right = _falling(self.a - 1, k), _falling(self.b - 1, order - k)
                if left and right:  # a vanished factor of a polynomial would meet a negative power: 0 * inf
                    powers = u ** (self.a - 1 - k) * (1 - u) ** (self.b - 1 - order + k)
                    total += comb(order, k) * left * right * (-1) ** (order - k) * powers
            scale = np.exp(-self._log_beta) / (self.upper - self.lower) ** (order + 1)
            return np.where(inside, scale * total, 0.0)

        return evaluate

    @property
    def _log_beta(self) -> float:
        return lgamma(self.a) + lgamma(self.b) - lgamma(self.a + self.b)

    def _unit(self, x: Any) -> tuple[np.ndarray, np.ndarray]:
        """x on the unit interval, clipped, and where it was inside."""
        u = (np.asarray(x, dtype=np.float64) - self.lower) / (self.upper - self.lower)
        return np.clip(u, 0.0, 1.0), (u >= 0) & (u <= 1)


@dataclass(frozen=True, eq=False)
class NumericLaw:
    """A mixture of components on [lower, upper], and a truth for functionals.

    lower, upper: bounds in the attribute's units; every component's support lies within them.
    components: (weight, component) pairs; weights are positive and sum to one.
    """

    lower: float
    upper: float
    components: tuple[tuple[float, Component], ...]

    def __post_init__(self) -> None:
        _check_probabilities([weight for weight, _ in self.components], "weights of a law's components", above=0.0)
        for _, component in self.components:
            low, high = component.support()
            if not self.lower <= low < high <= self.upper:
                raise SchemeError(
                    f"a component lives on [{low}, {high}], outside its law's [{self.lower}, {self.upper}]"
                )

    def pdf(self, x: Any) -> np.ndarray:
        """Return the density at x (any shape), per unit of x; 0 outside [lower, upper]."""
        return self._mix(lambda component: component.pdf(x))

    def cdf(self, x: Any) -> np.ndarray:
        """Return the probability of at most x (any shape); exactly 0 up to lower, exactly 1 from upper."""
        mixed = np.clip(self._mix(lambda component: component.cdf(x)), 0.0, 1.0)
        return np.where(np.asarray(x) >= self.upper, 1.0, mixed)

    def below(self, x: Any) -> np.ndarray:
        """Return the probability of less than x (any shape): that of at most x, as there are no point masses."""
        return self.cdf(x)

    def quantile(self, t: Any) -> np.ndarray:
        """Return the x with cdf(x) = t, for t in [0, 1] (any shape); by bisection, to the last bits."""
        t = proportions(t)
        low, high = np.full(t.shape, float(self.lower)), np.full(t.shape, float(self.upper))
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            below = self.cdf(middle) < t
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return low

    def derivative(self, order: int) -> Callable[[Any], np.ndarray]:
        """Return the density's derivative of that order >= 0, a function of x in the attribute's units.

        Raises SchemeError where a component gives no derivatives (scipy's do not; `Beta` does).
        """
        if order == 0:
            return self.pdf
        parts = []
        for _, component in self.components:
            derivative = getattr(component, "derivative", None)
            if derivative is None:
                raise SchemeError("this law has a component without derivatives; build it from Beta components")
            parts.append(derivative(order))

        def evaluate(x: Any) -> np.ndarray:
            weighted = zip(self.components, parts, strict=True)
            return np.asarray(sum(weight * part(x) for (weight, _), part in weighted))

        return evaluate

    @cached_property
    def breakpoints(self) -> np.ndarray:
        """Ends of the pieces to integrate over, shape (k,), increasing, from lower to upper."""
        ends = [end for _, part in self.components for end in (*part.support(), *getattr(part, "breakpoints", ()))]
        return np.unique(np.concatenate([np.linspace(self.lower, self.upper, _PIECES + 1), ends]))

    def draw(self, n: int, generator: np.random.Generator) -> np.ndarray:
        """Return n independent draws, shape (n,)."""
        if len(self.components) == 1:
            return np.asarray(self.components[0][1].rvs(n, generator))
        which = generator.choice(len(self.components), size=n, p=[weight for weight, _ in self.components])
        drawn = np.empty(n)
        for index, (_, component) in enumerate(self.components):
            members = np.flatnonzero(which == index)
            drawn[members] = component.rvs(members.size, generator)
        return drawn

    def clipped(self, lower: float, upper: float) -> NumericLaw | ClippedLaw:
        """Return the distribution of values clipped to [lower, upper], as a scheme with these bounds receives them."""
        return self if (lower, upper) == (self.lower, self.upper) else ClippedLaw(float(lower), float(upper), self)

    def _mix(self, value: Callable[[Component], Any]) -> np.ndarray:
        return np.asarray(sum(weight * np.asarray(value(component)) for weight, component in self.components))


@dataclass(frozen=True, eq=False)
class ClippedLaw:
    """A law whose values outside [lower, upper] sit at the bounds: a density inside, and an atom at each end.

    `pdf` and `derivative` are of the density; `cdf` and `quantile` of the whole law.
    """

    lower: float
    upper: float
    law: NumericLaw

    @cached_property
    def atoms(self) -> tuple[float, float]:
        """The masses at lower and at upper."""
        return float(self.law.cdf(self.lower)), float(1 - self.law.cdf(self.upper))

    @cached_property
    def breakpoints(self) -> np.ndarray:
        """Ends of the pieces to integrate over, shape (k,), increasing, from lower to upper."""
        inside = self.law.breakpoints[(self.law.breakpoints > self.lower) & (self.law.breakpoints < self.upper)]
        return np.concatenate([[self.lower], inside, [self.upper]])

    def pdf(self, x: Any) -> np.ndarray:
        """Return the density at x (any shape), per unit of x; 0 outside [lower, upper]."""
        return self.derivative(0)(x)

    def derivative(self, order: int) -> Callable[[Any], np.ndarray]:
        """Return the density's derivative of that order, a function of x (any shape)."""
        whole = self.law.derivative(order) if order else self.law.pdf

        def evaluate(x: Any) -> np.ndarray:
            x = np.asarray(x, dtype=np.float64)
            return np.where((x >= self.lower) & (x <= self.upper), whole(x), 0.0)

        return evaluate

    def cdf(self, x: Any) -> np.ndarray:
        """Return the probability of at most x (any shape), atoms included."""
        x = np.asarray(x, dtype=np.float64)
        return np.where(x < self.lower, 0.0, np.where(x >= self.upper, 1.0, self.law.cdf(x)))

    def quantile(self, t: Any) -> np.ndarray:
        """Return the smallest x with cdf(x) >= t, t in [0, 1] (any shape)."""
        return np.clip(self.law.quantile(t), self.lower, self.upper)


@dataclass(frozen=True, eq=False)
class Truncated:
    """A distribution of scipy as a component of a law, between two bounds that hold all but 1e-12 of its mass.

    distribution: a frozen continuous distribution of `scipy.stats`.
    """

    distribution: Any

    def support(self) -> tuple[float, float]:
        return float(self.breakpoints[0]), float(self.breakpoints[-1])

    @cached_property
    def breakpoints(self) -> np.ndarray:
        """Quantiles between which the density is integrated, shape (k,), increasing."""
        tails = np.geomspace(_TAIL, 1e-2, 12)
        return np.unique(
            self.distribution.ppf(np.concatenate([tails, np.linspace(0, 1, _PIECES + 1)[1:-1], 1 - tails]))
        )

    def pdf(self, x: Any) -> np.ndarray:
        """Return the density at x (any shape), per unit of x."""
        return np.asarray(self.distribution.pdf(x))

    def cdf(self, x: Any) -> np.ndarray:
        """Return the probability of at most x (any shape)."""
        return np.asarray(self.distribution.cdf(x))

    def rvs(self, size: int, random_state: np.random.Generator) -> np.ndarray:
        """Return independent draws, shape (size,)."""
        return np.clip(self.distribution.rvs(size, random_state=random_state), *self.support())


@dataclass(frozen=True, eq=False)
class PointsLaw:
    """Finitely many values, each with a probability: a numeric distribution without a density.

    values: (k,) increasing, in the attribute's units.  probabilities: (k,), above 0; they sum to one.
    """

    values: np.ndarray
    probabilities: np.ndarray

    def __post_init__(self) -> None:
        _check_probabilities(self.probabilities.tolist(), "probabilities of a law's values")

    @classmethod
    def from_values(cls, values: Any, probabilities: Any) -> PointsLaw:
        """Return the distribution on values in any order, (k,); repeated values are merged."""
        distinct, places = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True)
        mass = np.bincount(places, weights=probabilities)
        return cls(distinct[mass > 0], mass[mass > 0] / mass.sum())

    @property
    def lower(self) -> float:
        return float(self.values[0])

    @property
    def upper(self) -> float:
        return float(self.values[-1])

    def cdf(self, x: Any) -> np.ndarray:
        """Return the probability of at most x (any shape)."""
        return self._cumulated[np.searchsorted(self.values, x, side="right")]

    def below(self, x: Any) -> np.ndarray:
        """Return the probability of less than x (any shape)."""
        return self._cumulated[np.searchsorted(self.values, x, side="left")]

    def quantile(self, t: Any) -> np.ndarray:
        """Return the smallest value with cdf(x) >= t, t in [0, 1] (any shape)."""
        places = np.searchsorted(self._cumulated[1:], np.asarray(t) - _TOLERANCE, side="left")
        return self.values[np.minimum(places, len(self.values) - 1)]

    def draw(self, n: int, generator: np.random.Generator) -> np.ndarray:
        """Return n independent draws, shape (n,)."""
        return generator.choice(self.values, size=n, p=self.probabilities)

    def pdf(self, x: Any) -> np.ndarray:
        """Raise SchemeError: points have no density."""
        raise SchemeError("a discrete distribution has no density")

    def derivative(self, order: int) -> Callable[[Any], np.ndarray]:
        """Raise SchemeError: points have no density."""
        raise SchemeError("a discrete distribution has no density")

    def clipped(self, lower: float, upper: float) -> PointsLaw:
        """Return the distribution of values clipped to [lower, upper]."""
        return PointsLaw.from_values(np.clip(self.values, lower, upper), self.probabilities)

    @cached_property
    def _cumulated(self) -> np.ndarray:
        cumulated = np.cumsum(self.probabilities)
        return np.append(0.0, cumulated / cumulated[-1])


@dataclass(frozen=True)
class CategoricalLaw:
    """Probabilities of categories, in the order of `categories`."""

    categories: tuple[str, ...]
    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.categories) != len(self.probabilities) or len(set(self.categories)) != len(self.categories):
            raise SchemeError(
                f"a law needs one probability for each of its categories, all different; got {len(self.categories)} "
                f"categories and {len(self.probabilities)} probabilities"
            )
        _check_probabilities(self.probabilities, "probabilities of a law's categories")

    def draw(self, n: int, generator: np.random.Generator) -> np.ndarray:
        """Return the places of n independent categories, shape (n,), int64."""
        return generator.choice(len(self.categories), size=n, p=self.probabilities)


Law = NumericLaw | PointsLaw | CategoricalLaw


def mixture(parts: list[tuple[float, NumericLaw | PointsLaw]]) -> NumericLaw | PointsLaw:
    """Return the mixture of laws, all with densities or all of points; parts of weight zero are left out."""
    points = [(share, law) for share, law in parts if isinstance(law, PointsLaw)]
    if points:
        values = np.concatenate([law.values for _, law in points])
        return PointsLaw.from_values(values, np.concatenate([share * law.probabilities for share, law in points]))
    laws = [(share, law) for share, law in parts if isinstance(law, NumericLaw)]
    components = tuple((share * weight, part) for share, law in laws if share > 0 for weight, part in law.components)
    total = sum(weight for weight, _ in components)
    bounds = min(law.lower for _, law in laws), max(law.upper for _, law in laws)
    return NumericLaw(*bounds, tuple((weight / total, part) for weight, part in components))


def _check_probabilities(values: Any, subject: str, above: float = -1.0) -> None:
    if not len(values) or not all(above < value <= 1 and value >= 0 for value in values):
        raise SchemeError(f"{subject} must lie between 0 and 1, got {list(values)}")
    if abs(sum(values) - 1) > _TOLERANCE:
        raise SchemeError(f"{subject} must sum to 1, got {sum(values)}")


def _falling(x: float, k: int) -> float:
    """x (x-1) ... (x-k+1)."""
    product = 1.0
    for i in range(k):
        product *= x - i
    return product
