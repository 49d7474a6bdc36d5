"""Functionals of two attributes together: each a function of a few means of products, E a(X) b(Y).

X is the first attribute, Y the second; conditional ones describe the first given the second.  All describe the clients who
responded to both.  Estimators provide the means and their covariance; value and gradient are defined here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from dpcore.errors import SchemeError
from dpcore.functionals.axis import Axis
from dpcore.functionals.base import written

Combined = Callable[[np.ndarray], tuple[float, np.ndarray]]  # of the means (r,): the number, and its gradient (r,)


@dataclass(frozen=True, eq=False)
class Means:
    """The means that a functional is a function of.

    first: (r, K_x), the functions a.  second: (r, K_y), the functions b.  combine: from means to the functional.
    divisors: its divisors, (d,), which must be significantly above zero, and their gradients (d, r).
    plug_in: the functional of the distribution shown, where that is no `combine` of its means.
    """

    first: np.ndarray
    second: np.ndarray
    combine: Combined
    divisors: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    plug_in: float | None = None

    def value(self, law: np.ndarray) -> float:
        """Return the functional of a distribution (K_x, K_y)."""
        if self.plug_in is not None:
            return self.plug_in
        return self.combine(np.einsum("ri,ij,rj->r", self.first, law, self.second, optimize=True))[0]


class JointFunctional(ABC):
    """A functional of two attributes.  A subclass is a frozen dataclass whose fields are its arguments.

    unit: '%' for a proportion, '' without a unit, or its relation to the attributes' units: 'first', 'product', 'ratio'.
    range: the least and the largest possible value.
    """

    name: ClassVar[str]
    unit: ClassVar[str] = ""
    range: ClassVar[tuple[float, float]] = (-np.inf, np.inf)
    kind: ClassVar[str] = "smooth"

    @abstractmethod
    def means(self, first: Axis, second: Axis, law: np.ndarray) -> Means:
        """Return its means; law: (K_x, K_y), the distribution shown.  Raises SchemeError if the axes do not support it."""

    def range_on(self, first: Axis) -> tuple[float, float]:
        """Return the least and the largest value there is; first: the first attribute's values."""
        return self.range

    def __str__(self) -> str:
        arguments: list[str] = []
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            arguments += [written(part) for part in value] if isinstance(value, tuple) else [written(value)]
        return f"{self.name}({', '.join(arguments)})" if arguments else self.name


def _moments(first: Axis, second: Axis, functional: str) -> tuple[np.ndarray, np.ndarray]:
    """1, x, y, x^2, y^2 and xy among respondents to both."""
    x, y = first.values(functional), second.values(functional)
    one, other = first.answered, second.answered
    squares = [np.asarray(axis.squares) * axis.answered for axis in (first, second)]
    return np.array([one, x, one, squares[0], one, x]), np.array([other, other, y, other, squares[1], y])


def _central(m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both variances and the covariance, (3,), of those moments, with their gradients, (3, 6)."""
    share, ex, ey = m[0], m[1] / m[0], m[2] / m[0]
    values = np.array([m[3] / share - ex**2, m[4] / share - ey**2, m[5] / share - ex * ey])
    gradients = np.zeros((3, 6))
    gradients[0, [1, 3]] = -2 * ex, 1
    gradients[1, [2, 4]] = -2 * ey, 1
    gradients[2, [1, 2, 5]] = -ey, -ex, 1
    gradients[:, 0] = -np.array([values[0] - ex**2, values[1] - ey**2, values[2] - ex * ey])
    return values, gradients / share


@dataclass(frozen=True)
class Covariance(JointFunctional):
    """E (X - E X)(Y - E Y)."""

    name, unit = "covariance", "product"

    def means(self, first: Axis, second: Axis, law: np.ndarray) -> Means:
        def combine(m: np.ndarray) -> tuple[float, np.ndarray]:
            values, gradients = _central(m)
            return float(values[2]), gradients[2]

        return Means(*_moments(first, second, self.name), combine, _share)


@dataclass(frozen=True)
class Correlation(JointFunctional):
    """Pearson's correlation of the values as reported: clipped to their bounds, and no finer than input cells."""

    name, range = "correlation", (-1.0, 1.0)

    def means(self, first: Axis, second: Axis, law: np.ndarray) -> Means:
        def combine(m: np.ndarray) -> tuple[float, np.ndarray]:
            (u, v, c), gradients = _central(m)
            scale = np.sqrt(u * v)
            return float(c / scale), np.array([-c / (2 * u), -c / (2 * v), 1.0]) / scale @ gradients

        return Means(*_moments(first, second, self.name), combine, _variances(0, 1))


@dataclass(frozen=True)
class RankCorrelation(JointFunctional):
    """Spearman's: the correlation of F(X) and G(Y), middle ranks where values are alike."""

    name, range = "rank_correlation", (-1.0, 1.0)

    def means(self, first: Axis, second: Axis, law: np.ndarray) -> Means:
        for axis in (first, second):
            axis.values(self.name)
        both = law * np.outer(first.answered, second.answered)
        both = both / both.sum()
        f, g = both.sum(axis=1), both.sum(axis=0)
        ranks, others = (np.cumsum(p) - p / 2 - 0.5 for p in (f, g))
        scale = 1 / np.sqrt((f @ ranks**2) * (g @ others**2))
        # Ranks are estimated, too: what a person at x adds to all ranks above, weighted by how the other goes with them.
        along, across = both @ others, both.T @ ranks
        moved, moved_others = (np.cumsum(w[::-1])[::-1] - w / 2 for w in (along, across))
        one, other = first.answered, second.answered
        a = np.array([one, ranks * one, moved * one, one])
        b = np.array([other, others * other, other, moved_others * other])
        offset = float(f @ moved + g @ moved_others)

        def combine(m: np.ndarray) -> tuple[float, np.ndarray]:
            total = m[1:].sum() / m[0]
            return float((total - offset) * scale), np.array([-total, 1.0, 1.0, 1.0]) * scale / m[0]

        return Means(a, b, combine, _share)


def _share(m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first mean as a divisor: the proportion of the respondents described."""
    return m[:1], np.eye(1, len(m))


def _variances(*which: int) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    def divisors(m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, gradients = _central(m)
        return values[list(which)], gradients[list(which)]

    return divisors


@dataclass(frozen=True)
class Slope(JointFunctional):
    """Of the regression line of the first on the second: Cov(X, Y) / Var(Y)."""

    name, unit = "slope", "ratio"

    def means(self, first: Axis, second: Axis, law: np.ndarray) -> Means:
        def combine(m: np.ndarray) -> tuple[float, np.ndarray]:
            (_, v, c), gradients = _central(m)
            return float(c / v), np.array([0.0, -c / v, 1.0]) / v @ gradients

        return Means(*_moments(first, second, self.name), combine, _variances(1))


@dataclass(frozen=True)
class Intercept(JointFunctional):
    """Of that line: E X - slope E Y."""

    name, unit = "intercept", "first"

    def means(self, first: Axis, second: Axis, law: np.ndarray) -> Means:
        slope = Slope().means(first, second, law).combine

        def combine(m: np.ndarray) -> tuple[float, np.ndarray]:
            rise, gradient = slope(m)
            ex, ey = m[1] / m[0], m[2] / m[0]
            own = np.array([-ex + rise * ey, 1.0, -rise, 0.0, 0.0, 0.0]) / m[0]
            return float(ex - rise * ey), own - ey * gradient

        return Means(*_moments(first, second, self.name), combine, _variances(1))


@dataclass(frozen=True)
class Rectangle(JointFunctional):
    """P(a <= X <= b, c <= Y <= d); the part of each may be a category: `Rectangle(("rural",), (0, 500))`."""

    first: tuple[float | str, ...]
    second: tuple[float | str, ...]
    name, unit, range = "rectangle", "%", (0.0, 1.0)

    def means(self, first: Axis, second: Axis, law: np.ndarray) -> Means:
        a = np.array([first.answered, first.part(self.first)])
        b = np.array([second.answered, second.part(self.second)])
        return Means(a, b, _ratio, _share)


@dataclass(frozen=True)
class ConditionalProbability(JointFunctional):
    """P(X in a part, given Y in a part)."""

    first: tuple[float | str, ...]
    second: tuple[float | str, ...]
    name, unit, range = "conditional_probability", "%", (0.0, 1.0)

    def means(self, first: Axis, second: Axis, law: np.ndarray) -> Means:
        condition = second.part(self.second)
        return Means(
            np.array([first.answered, first.part(self.first)]), np.array([condition, condition]), _ratio, _share
        )


class _OfFirst(JointFunctional):
    """A functional whose value is a value of the first attribute."""

    unit = "first"

    def range_on(self, first: Axis) -> tuple[float, float]:
        return first.bounds


@dataclass(frozen=True)
class ConditionalMean(_OfFirst):
    """E(X given Y in a part): a category, `ConditionalMean(("rural",))`, or a range, `ConditionalMean((20, 30))`."""

    second: tuple[float | str, ...]
    name = "conditional_mean"

    def means(self, first: Axis, second: Axis, law: np.ndarray) -> Means:
        condition = second.part(self.second)
        return Means(
            np.array([first.answered, first.values(self.name)]), np.array([condition, condition]), _ratio, _share
        )


@dataclass(frozen=True)
class ConditionalQuantile(_OfFirst):
    """The least x with P(X <= x given Y in a part) >= t."""

    t: float
    second: tuple[float | str, ...]
    name = "conditional_quantile"

    def means(self, first: Axis, second: Axis, law: np.ndarray) -> Means:
        if not 0 < self.t < 1:
            raise SchemeError(f"t of a quantile must lie strictly between 0 and 1, got {self.t}")
        if first.edges is None:
            raise SchemeError(f"{self.name} needs a density of {first.name}; ask conditional_probability of its values")
        condition, edges, ranges = second.part(self.second), first.edges, len(first.edges) - 1
        conditional = (law @ condition)[:ranges]
        conditional = conditional / conditional.sum()
        cdf = np.append(0.0, np.cumsum(conditional))
        at = float(np.interp(self.t, cdf, edges))
        density = _smoothed(conditional, edges, at)
        below = first.within(float(edges[0]), at)

        def combine(m: np.ndarray) -> tuple[float, np.ndarray]:
            share = m[1] / m[0]
            return at - (share - self.t) / density, np.array([share, -1.0]) / (density * m[0])

        return Means(np.array([first.answered, below]), np.array([condition, condition]), combine, _share, at)


def _smoothed(law: np.ndarray, edges: np.ndarray, at: float, reach: int = 2) -> float:
    """The density at a point: the mean over a few cells around it."""
    place = int(np.clip(np.searchsorted(edges, at) - 1, 0, len(law) - 1))
    low, high = max(0, place - reach), min(len(law), place + reach + 1)
    return float(max(law[low:high].sum() / (edges[high] - edges[low]), 1e-12 / (edges[-1] - edges[0])))


@dataclass(frozen=True)
class CellDifference(JointFunctional):
    """By how much more are in one cell of the table than in another: P(X, Y in the first) - P(X, Y in the other)."""

    one: tuple[str, str]
    other: tuple[str, str]
    name, unit, range = "cell_difference", "%", (-1.0, 1.0)

    def means(self, first: Axis, second: Axis, law: np.ndarray) -> Means:
        a = np.array([first.answered, first.at(self.one[0]), first.at(self.other[0])])
        b = np.array([second.answered, second.at(self.one[1]), second.at(self.other[1])])

        def combine(m: np.ndarray) -> tuple[float, np.ndarray]:
            value = (m[1] - m[2]) / m[0]
            return float(value), np.array([-value, 1.0, -1.0]) / m[0]

        return Means(a, b, combine, _share)


def _ratio(m: np.ndarray) -> tuple[float, np.ndarray]:
    return float(m[1] / m[0]), np.array([-m[1] / m[0], 1.0]) / m[0]
