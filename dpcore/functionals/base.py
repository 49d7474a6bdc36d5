"""What a functional is: a number of a density, with its first derivative (the influence) and half its second.

A functional L of a density f satisfies

    L(f + h) = L(f) + T(h) + Q(h) + remainder,    int h = 0,

T linear (`Influence`), Q quadratic (`Curvature`).  T is a sum of integrals of derivatives of h against weights, and of values
of derivatives at points: "smooth" without points and without boundary terms, else "atomic".  Everything is in the
attribute's units.  Source: [Szabo2024] for the classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from dpcore.errors import SchemeError

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)  # exact to degree 23 on each piece
_LEAST_PIECES = 64  # coarse splines are cut further: logarithms and powers of them are no polynomials

Function = Callable[[Any], np.ndarray]
Features = Callable[[np.ndarray, int], np.ndarray]  # (x, order) -> (n, K)


class Density(Protocol):
    """What functionals ask of a density on [lower, upper]: estimates, splines and simulated truths all are one."""

    @property
    def lower(self) -> float: ...
    @property
    def upper(self) -> float: ...
    @property
    def breakpoints(self) -> np.ndarray: ...
    def pdf(self, x: Any) -> np.ndarray: ...
    def derivative(self, order: int) -> Function: ...
    def quantile(self, t: Any) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class FunctionDensity:
    """A density given as a vectorised function on [lower, upper], smooth between `breaks`.

    derivatives: its derivatives of order 1, 2, ..., as far as they are known.
    """

    lower: float
    upper: float
    function: Function
    breaks: tuple[float, ...] = ()
    derivatives: tuple[Function, ...] = ()

    @cached_property
    def breakpoints(self) -> np.ndarray:
        return np.unique(np.concatenate([np.linspace(self.lower, self.upper, _LEAST_PIECES + 1), self.breaks]))

    def pdf(self, x: Any) -> np.ndarray:
        return self.function(np.asarray(x, dtype=np.float64))

    def derivative(self, order: int) -> Function:
        if order == 0:
            return self.pdf
        if order > len(self.derivatives):
            raise SchemeError(f"this density was given without its derivative of order {order}")
        return self.derivatives[order - 1]

    def cdf(self, x: Any) -> np.ndarray:
        """Return the integral from lower to x (any shape), by quadrature."""
        x = np.clip(np.asarray(x, dtype=np.float64), self.lower, self.upper)
        piece = np.clip(np.searchsorted(self.breakpoints, x, side="right") - 1, 0, len(self.breakpoints) - 2)
        start = self.breakpoints[piece]
        rest = (x - start)[..., None] * (_NODES + 1) / 2
        return self._cumulated[piece] + (self.pdf(start[..., None] + rest) @ _WEIGHTS) * (x - start) / 2

    def quantile(self, t: Any) -> np.ndarray:
        """Return the smallest x with cdf(x) >= t (any shape), by bisection."""
        t = np.asarray(t, dtype=np.float64)
        low, high = np.full(t.shape, float(self.lower)), np.full(t.shape, float(self.upper))
        for _ in range(60):  # 2^-60 of the interval is below the spacing of doubles
            middle = (low + high) / 2
            below = self.cdf(middle) < t
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return high

    @cached_property
    def _cumulated(self) -> np.ndarray:
        ends = self.breakpoints
        middle, half = (ends[1:] + ends[:-1]) / 2, np.diff(ends) / 2
        return np.append(0.0, np.cumsum(half * (self.pdf(middle[:, None] + half[:, None] * _NODES) @ _WEIGHTS)))


def nodes(lower: float, upper: float, *breaks: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return Gauss-Legendre points and weights, shapes (n,), of [lower, upper] cut at the breaks inside it."""
    inside = np.concatenate([[lower, upper], *[np.ravel(np.asarray(b, dtype=np.float64)) for b in breaks]])
    ends = np.unique(inside[(inside >= lower) & (inside <= upper)])
    parts = -(-_LEAST_PIECES // (len(ends) - 1))
    if parts > 1:
        shares = np.arange(parts) / parts
        ends = np.append((ends[:-1, None] + np.diff(ends)[:, None] * shares).ravel(), ends[-1])
    middle, half = (ends[1:] + ends[:-1]) / 2, np.diff(ends) / 2
    return (middle[:, None] + half[:, None] * _NODES).ravel(), (half[:, None] * _WEIGHTS).ravel()


@dataclass(frozen=True, eq=False)
class Influence:
    """T(h) = sum of int w h^(order) + sum of c h^(order)(x).

    weights: (order, w) pairs, w a function on [lower, upper].  points: (order, x, c) triples.
    breaks: where a weight is not smooth.
    of_law: whether atoms at lower and upper count, each with the weight's value there (moments, shares); where not, T is of
    the density alone (entropy, int f^2).
    """

    lower: float
    upper: float
    weights: tuple[tuple[int, Function], ...] = ()
    points: tuple[tuple[int, float, float], ...] = ()
    breaks: tuple[float, ...] = ()
    of_law: bool = True

    def __call__(self, h: Any) -> float:
        """Return T(h), h with `derivative`, `breakpoints` and, where it has any, `atoms`."""
        x, w = nodes(self.lower, self.upper, h.breakpoints, self.breaks)
        smooth = sum(float(np.sum(w * weight(x) * h.derivative(order)(x))) for order, weight in self.weights)
        smooth += float(self.at_ends() @ np.array(getattr(h, "atoms", (0.0, 0.0))))
        return smooth + sum(c * float(h.derivative(order)(at)) for order, at, c in self.points)

    def at_ends(self) -> np.ndarray:
        """Return T of a mass of one at lower and at upper, shape (2,)."""
        ends = np.array([self.lower, self.upper])
        if not self.of_law:
            return np.zeros(2)
        return np.asarray(sum((weight(ends) for order, weight in self.weights if order == 0), np.zeros(2)))

    def on(self, features: Features, breakpoints: np.ndarray) -> np.ndarray:
        """Return T of every function of a basis, shape (K,)."""
        total = np.zeros(features(np.array([self.lower]), 0).shape[1])
        if self.weights:
            x, w = nodes(self.lower, self.upper, breakpoints, self.breaks)
            for order, weight in self.weights:
                total += (w * weight(x)) @ features(x, order)
        for order, at, c in self.points:
            total += c * features(np.array([at]), order)[0]
        return total


@dataclass(frozen=True, eq=False)
class Curvature:
    """Q(h) = sum of int v (h^(order))^2 + sum of c A(h) B(h), with A and B influences: half the second derivative."""

    weights: tuple[tuple[int, Function], ...] = ()
    products: tuple[tuple[Influence, Influence, float], ...] = ()

    def __call__(self, h: Any, lower: float, upper: float) -> float:
        """Return Q(h), h with `derivative` and `breakpoints`."""
        x, w = nodes(lower, upper, h.breakpoints)
        squares = sum(float(np.sum(w * v(x) * h.derivative(order)(x) ** 2)) for order, v in self.weights)
        return squares + sum(c * a(h) * b(h) for a, b, c in self.products)

    def on(self, features: Features, breakpoints: np.ndarray, size: int) -> np.ndarray:
        """Return the matrix of Q on a basis, shape (K, K), symmetric."""
        total = np.zeros((size, size))
        if self.weights:
            x, w = nodes(breakpoints[0], breakpoints[-1], breakpoints)
            for order, v in self.weights:
                values = features(x, order)
                total += values.T @ ((w * v(x))[:, None] * values)
        for a, b, c in self.products:
            left, right = a.on(features, breakpoints), b.on(features, breakpoints)
            total += c * (np.outer(left, right) + np.outer(right, left)) / 2
        return total


@dataclass(frozen=True, eq=False)
class Expansion:
    """A functional around a density: its value, T and Q (None where Q is zero)."""

    value: float
    influence: Influence
    curvature: Curvature | None = None


class Functional(ABC):
    """A number of a density.  `str(f)` is its name in schemes and tables; `functionals.parse` reads it back.

    A subclass is a frozen dataclass whose fields are its arguments, in their order:

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class SecondMoment(Functional):
    ...     name, kind, is_linear = "second_moment", "smooth", True
    ...     def expand(self, density):
    ...         influence = Influence(density.lower, density.upper, ((0, lambda x: x**2),))
    ...         return Expansion(influence(density), influence)
    >>> uniform = FunctionDensity(0.0, 3.0, lambda x: np.full(np.shape(x), 1 / 3))
    >>> round(SecondMoment().value(uniform), 12)
    3.0

    kind: 'smooth' or 'atomic'.  is_linear: Q and the remainder vanish.  is_quadratic: the remainder vanishes.
    needs_positive: weights grow without bound where the density vanishes.
    """

    name: ClassVar[str]
    kind: ClassVar[str] = "smooth"
    is_linear: ClassVar[bool] = False
    needs_positive: ClassVar[bool] = False

    @property
    def is_quadratic(self) -> bool:
        return self.is_linear

    @abstractmethod
    def expand(self, density: Density) -> Expansion:
        """Return the value, T and Q at a density; raises SchemeError where they do not exist."""

    def value_and_influence(self, density: Density) -> tuple[float, Influence]:
        """Return the value and T at a density."""
        expansion = self.expand(density)
        return expansion.value, expansion.influence

    def value(self, density: Density) -> float:
        """Return the functional of a density, a truth's for instance."""
        reason = self.refuses(density.lower, density.upper)
        if reason is not None:
            raise SchemeError(f"{self}: {reason}")
        return self.expand(density).value

    def refuses(self, lower: float, upper: float, degree: int | None = None) -> str | None:
        """Return why it cannot be asked of a density on [lower, upper] (a spline of that degree), or None."""
        return None

    def refuses_density(self, density: Density) -> str | None:
        """Return why it cannot be inferred around this estimate, or None."""
        return None

    def range_on(self, lower: float, upper: float) -> tuple[float, float]:
        """Return the least and the largest value a density on [lower, upper] can have."""
        return -np.inf, np.inf

    def refuses_probabilities(self) -> str | None:
        """Return why it cannot be asked of a categorical attribute's numbers, or None."""
        return f"{self} is a number of a density, not of categories with numbers"

    def expand_probabilities(
        self, probabilities: np.ndarray, numbers: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return value, gradient (k,) and half the second derivative (k, k) for categories with numbers."""
        raise SchemeError(str(self.refuses_probabilities()))

    def of_probabilities(self, probabilities: np.ndarray, numbers: np.ndarray) -> float:
        """Return the functional of categories with numbers, both (k,); raises SchemeError where it has none."""
        if self.refuses_probabilities() is not None:
            raise SchemeError(str(self.refuses_probabilities()))
        return float(self.expand_probabilities(np.asarray(probabilities), np.asarray(numbers))[0])

    def range_of_numbers(self, numbers: np.ndarray) -> tuple[float, float]:
        """Return the least and the largest value that categories with these numbers can have."""
        return self.range_on(float(np.min(numbers)), float(np.max(numbers)))

    def __str__(self) -> str:
        arguments = [written(getattr(self, field.name)) for field in fields(self)]  # type: ignore[arg-type]
        return f"{self.name}({', '.join(arguments)})" if arguments else self.name


def written(value: float) -> str:
    """Return a number as a scheme writes it: 50000, 0.5, -1.25."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))
