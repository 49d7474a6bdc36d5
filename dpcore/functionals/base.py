"""The functional interface: a real function of a density, with its first derivative (the influence) and half its second.

A functional L of a density f satisfies

    L(f + h) = L(f) + T(h) + Q(h) + remainder,    int h = 0,

T linear (`Influence`), Q quadratic (`Curvature`).  T is a sum of integrals of derivatives of h against weights, and of values
of derivatives at a point: "smooth" without points and boundary terms, else "atomic", with the highest order
of a derivative at a point as index.  Everything is in the attribute's units.  Source: [Szabo2024] for the classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from dpcore.errors import SchemeError

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)  # exact to degree 23 on each piece
_PARTIAL = np.array(  # [i, k]: the integral up to node i of the polynomial that is one at node k and zero at the others
    [
        np.polynomial.legendre.legval(_NODES, np.polynomial.legendre.legint(c, lbnd=-1))
        for c in np.linalg.inv(np.polynomial.legendre.legvander(_NODES, len(_NODES) - 1)).T
    ]
).T
_LEAST_PIECES = 64  # coarse splines are cut further: logarithms and powers of them are no polynomials

Function = Callable[[Any], np.ndarray]
Features = Callable[[np.ndarray, int], np.ndarray]  # (x, order) -> (n, K)


class Density(Protocol):
    """The interface of densities on [lower, upper] that functionals use: splines, exponential splines and simulated truths."""

    @property
    def lower(self) -> float: ...
    @property
    def upper(self) -> float: ...
    @property
    def breakpoints(self) -> np.ndarray: ...
    def pdf(self, x: Any) -> np.ndarray: ...
    def cdf(self, x: Any) -> np.ndarray: ...
    def derivative(self, order: int) -> Function: ...
    def quantile(self, t: Any) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class FunctionDensity:
    """A density as a vectorised function on [lower, upper], smooth between `breaks`.

    derivatives: its derivatives of order 1, 2, ..., if available.
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
            raise SchemeError(f"the derivative of order {order} of this density is unknown; pass `derivatives`")
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


def running(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return integrals from lower up to each of the points of `nodes`, shape (n, ...), from values there, (n, ...)."""
    pieces = values.reshape(-1, len(_NODES), *values.shape[1:])
    halves = weights.reshape(-1, len(_NODES)).sum(axis=1) / 2
    scaled = pieces * halves.reshape(-1, *(1,) * values.ndim)
    whole = np.tensordot(scaled, _WEIGHTS, axes=(1, 0))
    before = np.cumsum(whole, axis=0) - whole
    inside = np.moveaxis(np.tensordot(scaled, _PARTIAL, axes=(1, 1)), -1, 1)
    return np.asarray((before[:, None] + inside).reshape(values.shape))


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

    @classmethod
    def of_density(cls, density: Density, *weights: tuple[int, Function]) -> Influence:
        """Return a T of the density alone, with weights as smooth as the density."""
        return cls(density.lower, density.upper, weights, breaks=tuple(density.breakpoints), of_law=False)

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

    def jump(self, at: float) -> float:
        """Return the jump of the weight of the distribution at an inner point, for rising values."""
        if not self.lower < at < self.upper:
            return 0.0
        beside = np.array([np.nextafter(at, -np.inf), np.nextafter(at, np.inf)])
        return float(sum(float(np.diff(weight(beside))[0]) for order, weight in self.weights if order == 0))

    def on(self, features: Features, breakpoints: np.ndarray, masses: np.ndarray | None = None) -> np.ndarray:
        """Return T of every function of a basis, shape (K,); masses: (2, K), its atoms at lower and at upper."""
        total = np.zeros(features(np.array([self.lower]), 0).shape[1])
        if masses is not None:
            total += self.at_ends() @ masses
        if self.weights:
            x, w = nodes(self.lower, self.upper, breakpoints, self.breaks)
            for order, weight in self.weights:
                total += (w * weight(x)) @ features(x, order)
        for order, at, c in self.points:
            total += c * features(np.array([at]), order)[0]
        return total


@dataclass(frozen=True, eq=False)
class Curvature:
    """Half the second derivative: Q(h) = sum of int v h^(i) h^(j) + sum of c A(h) B(h) + sum of int v H^2.

    weights: (i, v) pairs, j = i.  mixed: (i, j, v) triples.  products: (A, B, c) triples, A and B influences.
    cumulative: the v of squares of H(x) = int_lower^x h.
    """

    weights: tuple[tuple[int, Function], ...] = ()
    products: tuple[tuple[Influence, Influence, float], ...] = ()
    mixed: tuple[tuple[int, int, Function], ...] = ()
    cumulative: tuple[Function, ...] = ()

    def __call__(self, h: Any, lower: float, upper: float) -> float:
        """Return Q(h), h with `derivative`, `breakpoints` and, where it has any, `atoms`."""
        x, w = nodes(lower, upper, h.breakpoints)
        total = sum(float(np.sum(w * v(x) * h.derivative(i)(x) * h.derivative(j)(x))) for i, j, v in self._integrals)
        if self.cumulative:
            H = getattr(h, "atoms", (0.0, 0.0))[0] + running(h.derivative(0)(x), w)
            total += sum(float(np.sum(w * v(x) * H**2)) for v in self.cumulative)
        return total + sum(c * a(h) * b(h) for a, b, c in self.products)

    def on(
        self, features: Features, breakpoints: np.ndarray, size: int, masses: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the matrix of Q on a basis, shape (K, K), symmetric; masses: (2, K), its atoms at lower and at upper."""
        total = np.zeros((size, size))
        x, w = nodes(breakpoints[0], breakpoints[-1], breakpoints)
        for i, j, v in self._integrals:
            cross = features(x, i).T @ ((w * v(x))[:, None] * features(x, j))
            total += (cross + cross.T) / 2
        for v in self.cumulative:
            H = running(features(x, 0), w) + (0.0 if masses is None else masses[0])
            total += H.T @ ((w * v(x))[:, None] * H)
        for a, b, c in self.products:
            left, right = (influence.on(features, breakpoints, masses) for influence in (a, b))
            total += c * (np.outer(left, right) + np.outer(right, left)) / 2
        return total

    @property
    def _integrals(self) -> tuple[tuple[int, int, Function], ...]:
        return (*((order, order, v) for order, v in self.weights), *self.mixed)


@dataclass(frozen=True, eq=False)
class Expansion:
    """A functional around a density: its value, T and Q (None where Q is zero)."""

    value: float
    influence: Influence
    curvature: Curvature | None = None


class Functional(ABC):
    """A functional of a density.  `str(f)` is its name in schemes and tables; `functionals.parse` reads it back.

    A subclass is a frozen dataclass whose fields are its arguments, in order; it declares all that other code uses (its
    description, its range, whether it applies to categories).  This one is the share of a total held above x, the
    ratio of a = int_x u f to b = int u f, whose change is (a' - share b') / b (1 - b' / b + ...):

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class ShareAbove(Functional):
    ...     x: float
    ...     name, unit, phrase = "share_above", "%", "held by those above {x} {unit}"
    ...     def expand(self, density):
    ...         def integral(weight):
    ...             return Influence(density.lower, density.upper, ((0, weight),), breaks=(self.x,))
    ...         total = integral(lambda u: u)
    ...         mean = total(density)
    ...         share = integral(lambda u: u * (u > self.x))(density) / mean
    ...         change = integral(lambda u: u * ((u > self.x) - share) / mean)
    ...         return Expansion(share, change, Curvature(products=((change, total, -1 / mean),)))
    >>> uniform = FunctionDensity(0.0, 3.0, lambda u: np.full(np.shape(u), 1 / 3))
    >>> round(ShareAbove(1.5).value(uniform), 12)
    0.75

    unit: '%' of a share, 'nats', or the power of the attribute's unit that values have.
    phrase: its description, with its arguments and the attribute's unit in braces; '' for the words of its name.
    example: one with arguments, as in a scheme on [-1, 3]; '' without arguments.
    kind: 'smooth' or 'atomic'; index: the order of the point values in an atomic one's T.
    is_linear: Q and the remainder vanish.  is_quadratic: the remainder vanishes.
    needs_positive: weights grow without bound where the density vanishes.
    is_distance: changes by at most the Wasserstein distance W_2 between distributions.
    options: those of a set that it is about; () for a functional of numbers.
    """

    name: ClassVar[str]
    unit: ClassVar[float | str]
    phrase: ClassVar[str] = ""
    example: ClassVar[str] = ""
    kind: ClassVar[str] = "smooth"
    is_linear: ClassVar[bool] = False
    needs_positive: ClassVar[bool] = False
    is_distance: ClassVar[bool] = False
    options: ClassVar[tuple[str, ...]] = ()

    @property
    def index(self) -> int | None:
        """The highest order of a derivative that T takes at a point; None for a smooth functional."""
        return None

    @property
    def is_quadratic(self) -> bool:
        return self.is_linear

    @abstractmethod
    def expand(self, density: Density) -> Expansion:
        """Return value, T and Q at a density; raises SchemeError where they do not exist."""

    def value(self, density: Density) -> float:
        """Return the functional of a density, a truth's for instance."""
        reason = self.refuses(density.lower, density.upper)
        if reason is not None:
            raise SchemeError(f"{self}: {reason}")
        return self.expand(density).value

    def has_normal_limit(self, density: Density, within: float = 0.0) -> bool:
        """Return whether T exists at a density, so that errors are asymptotically normal; otherwise they must be simulated.

        within: tolerance of the distribution function, such as two standard errors; 0 refers to the density itself.
        """
        return True

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
        """Return why it does not apply to a categorical attribute's numbers, or None."""
        if type(self).expand_probabilities is not Functional.expand_probabilities:
            return None
        return f"{self} is a number of a density, not of categories with numbers"

    def refuses_options(self, options: Sequence[str]) -> str | None:
        """Return why it does not apply to a set of these options (none if the attribute is no set), or None."""
        return self.refuses_probabilities()

    def expand_probabilities(
        self, probabilities: np.ndarray, numbers: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return value, gradient (k,) and half the second derivative (k, k) for categories with numbers."""
        raise SchemeError(str(self.refuses_probabilities()))

    def of_probabilities(self, probabilities: np.ndarray, numbers: np.ndarray) -> float:
        """Return the functional of categories with numbers, both (k,); raises SchemeError if undefined."""
        return float(self.expand_probabilities(np.asarray(probabilities), np.asarray(numbers))[0])

    def range_of_numbers(self, numbers: np.ndarray) -> tuple[float, float]:
        """Return the least and the largest possible value for categories with these numbers."""
        return self.range_on(float(np.min(numbers)), float(np.max(numbers)))

    def __str__(self) -> str:
        arguments = [written(getattr(self, field.name)) for field in fields(self)]  # type: ignore[arg-type]
        return f"{self.name}({', '.join(arguments)})" if arguments else self.name


def needs_degree(order: int, degree: int | None) -> str | None:
    """Return why a spline of that degree has no derivative of that order, or None."""
    if degree is None or order <= degree:
        return None
    return f"a spline of degree {degree} has no derivative of order {order}; collect with degree >= {order}"


def written(value: Any) -> str:
    """Return an argument as a scheme writes it: a number as 50000, 0.5 or -1.25, a density by its name or as 'given'."""
    if isinstance(value, str):
        return value
    if not isinstance(value, int | float | np.number):
        return str(getattr(value, "name", "given"))
    number = float(value)
    return str(int(value)) if number.is_integer() and abs(number) < 1e15 else repr(number)
