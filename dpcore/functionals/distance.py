"""Distances of a distribution from a reference: Wasserstein distances and the Kullback-Leibler divergence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.errors import SchemeError
from dpcore.functionals import reference as references
from dpcore.functionals.base import Curvature, Density, Expansion, Functional, Influence, nodes, running

_TINY = 1e-300
_EQUAL = 1e-12  # distribution functions nearer than this are equal but for rounding
_EQUAL_SHARE = 0.1  # of the people, living where the distribution functions are equal, that W1 has a derivative with
_FLAT = 1e-30  # of a difference of densities, below which distribution functions touch rather than cross
_NEAR = 1e-9  # of the width: points nearer than this are one
_HALVINGS = 40  # of a gap between two nodes


@dataclass(frozen=True)
class Wasserstein(Functional):
    """The Wasserstein distance W_p, p = 1 or 2, to a reference, in the attribute's unit.

    reference: 'uniform', or from Python any density on the attribute's bounds, alone or with a name (`Reference`).

    With F, G the distribution functions of the values and the reference, H(x) = int_lower^x h and M = G^-1(F) the transport,

        W1 = int |F - G|,            T(h) = int sgn(F - G) H,      Q(h) = sum of H(c)^2 / |f - g|(c) over the crossings c,
        W2^2 = int (x - M(x))^2 dF,  T(h) = -int (x - M) H / W2,   Q(h) = int H^2 / g(M) / (2 W2) - T(h)^2 / (2 W2).

    All refer to the whole distribution, point masses included.  If F = G there is a value but no T: see `has_normal_limit`.
    """

    p: int
    reference: Any

    name = "wasserstein"
    unit = 1
    example = "wasserstein(1, uniform)"
    is_distance = True

    def __post_init__(self) -> None:
        if self.p not in (1, 2):
            raise SchemeError(f"p of wasserstein must be 1 or 2, got {self.p}")
        references.check(self.reference)

    def refuses(self, lower: float, upper: float, degree: int | None = None) -> str | None:
        return references.refuses(self.reference, lower, upper)

    def range_on(self, lower: float, upper: float) -> tuple[float, float]:
        return 0.0, upper - lower

    def has_normal_limit(self, density: Density, within: float = 0.0) -> bool:
        """Return whether it is differentiable at a density.

        W2 is not if the two distribution functions are equal up to `within`; W1 already if they are for more than a tenth
        of the respondents: its error there is an integral of |normal|.
        """
        g = references.on(self.reference, density.lower, density.upper)
        x, w = nodes(density.lower, density.upper, density.breakpoints, g.breakpoints)
        equal = np.abs(density.cdf(x) - g.cdf(x)) <= max(within, _EQUAL)
        people = w * (density.pdf(x) + g.pdf(x))
        return bool(np.sum(people * equal) <= _EQUAL_SHARE * np.sum(people) if self.p == 1 else not np.all(equal))

    def value(self, density: Density) -> float:
        reason = self.refuses(density.lower, density.upper)
        if reason is not None:
            raise SchemeError(f"{self}: {reason}")
        g = references.on(self.reference, density.lower, density.upper)
        return _first(density, g, _crossings(density, g)[0]) if self.p == 1 else _second(density, g)

    def expand(self, density: Density) -> Expansion:
        g = references.on(self.reference, density.lower, density.upper)
        if not self.has_normal_limit(density):
            raise SchemeError(f"{self} has no influence where law and reference are equal; simulate its error there")
        return _expand_first(density, g) if self.p == 1 else _expand_second(density, g)


@dataclass(frozen=True)
class KullbackLeibler(Functional):
    """int f log(f / g), in nats, g the reference; 0 where f = g.

    reference: as `Wasserstein` takes it; nowhere zero.

    T(h) = int log(f / g) h, Q(h) = int h^2 / (2 f).  Of the densities alone: with atoms, whose masses the integrals of f and g
    leave out, it is int f log(f / g) - f + g, never negative either.
    """

    reference: Any

    name = "kullback_leibler"
    unit = "nats"
    example = "kullback_leibler(uniform)"
    needs_positive = True

    def __post_init__(self) -> None:
        references.check(self.reference)

    def refuses(self, lower: float, upper: float, degree: int | None = None) -> str | None:
        reason = references.refuses(self.reference, lower, upper)
        if reason is None:
            g = references.on(self.reference, lower, upper)
            x, _ = nodes(lower, upper, g.breakpoints)
            zero = g.pdf(x) <= 0
            if np.any(zero):
                return f"the reference vanishes, at {x[np.argmax(zero)]:g} for one; give a density that is nowhere zero"
        return reason

    def range_on(self, lower: float, upper: float) -> tuple[float, float]:
        return 0.0, np.inf

    def expand(self, density: Density) -> Expansion:
        from scipy.special import xlogy

        g = references.on(self.reference, density.lower, density.upper)

        def positive(u: Any) -> np.ndarray:
            return np.maximum(density.pdf(u), _TINY)

        def ratio(u: Any) -> np.ndarray:
            return np.log(positive(u)) - np.log(np.maximum(g.pdf(u), _TINY))

        x, w = nodes(density.lower, density.upper, density.breakpoints, g.breakpoints)
        f, other = np.maximum(density.pdf(x), 0.0), np.maximum(g.pdf(x), _TINY)
        value = float(np.sum(w * (xlogy(f, f) - xlogy(f, other) - f + other)))
        breaks = (*density.breakpoints, *g.breakpoints)
        influence = Influence(density.lower, density.upper, ((0, ratio),), (), breaks, of_law=False)
        return Expansion(value, influence, Curvature(((0, lambda u: 0.5 / positive(u)),)))


def _crossings(density: Density, g: Density) -> tuple[np.ndarray, np.ndarray]:
    """Return where F crosses G, shape (k,), and the sign of F - G before, between and after, (k + 1,)."""
    x, _ = nodes(density.lower, density.upper, density.breakpoints, g.breakpoints)
    apart = density.cdf(x) - g.cdf(x)
    differs = np.abs(apart) > _EQUAL
    x, signs = x[differs], np.sign(apart[differs])
    if len(x) == 0:
        return x, np.zeros(1)
    change = np.flatnonzero(signs[1:] != signs[:-1])
    low, high, before = x[change], x[change + 1], signs[change]
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        same = np.sign(density.cdf(middle) - g.cdf(middle)) == before
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return high, np.append(before, signs[-1])


def _first(density: Density, g: Density, crossings: np.ndarray) -> float:
    x, w = nodes(density.lower, density.upper, density.breakpoints, g.breakpoints, crossings)
    return float(np.sum(w * np.abs(density.cdf(x) - g.cdf(x))))


def _expand_first(density: Density, g: Density) -> Expansion:
    lower, upper = density.lower, density.upper
    crossings, signs = _crossings(density, g)
    ends = np.concatenate([[lower], crossings, [upper]])
    # A mass at u moves H from u on: its weight is int_u^upper sgn(F - G), straight between crossings.
    weight = np.append(np.cumsum((signs * np.diff(ends))[::-1])[::-1], 0.0)
    influence = Influence(lower, upper, ((0, lambda u: np.interp(u, ends, weight)),), (), tuple(crossings))
    slopes = np.maximum(np.abs(density.pdf(crossings) - g.pdf(crossings)), _FLAT)
    below = [Influence(lower, upper, ((0, _up_to(c)),), (), (float(c),)) for c in crossings]
    curvature = Curvature(products=tuple((H, H, 1 / float(slope)) for H, slope in zip(below, slopes, strict=True)))
    return Expansion(_first(density, g, crossings), influence, curvature)


def _up_to(c: float) -> Callable[[Any], np.ndarray]:
    return lambda u: (np.asarray(u) <= c).astype(np.float64)


def _bends(density: Density, g: Density) -> np.ndarray:
    """Where the transport M may not be smooth: it arrives at a knot, or leaves an atom, of the reference."""
    shares = np.append(np.asarray(g.cdf(g.breakpoints[:-1])), 1 - getattr(g, "atoms", (0.0, 0.0))[1])
    return np.asarray(density.quantile(np.clip(shares, 0.0, 1.0)))


def _second(density: Density, g: Density) -> float:
    x, w = nodes(density.lower, density.upper, density.breakpoints, _bends(density, g))
    inside = float(np.sum(w * (x - g.quantile(density.cdf(x))) ** 2 * np.maximum(density.pdf(x), 0.0)))
    at_lower, at_upper = getattr(density, "atoms", (0.0, 0.0))
    ends = _moved(g, 0.0, at_lower, density.lower) + _moved(g, 1 - at_upper, 1.0, density.upper)
    return float(np.sqrt(inside + ends))


def _moved(g: Density, start: float, stop: float, end: float) -> float:
    """int over start < t < stop of (end - G^-1(t))^2: transport cost of a point mass."""
    if stop <= start:
        return 0.0
    low, high = float(g.quantile(start)), float(g.quantile(stop))
    at_lower, at_upper = getattr(g, "atoms", (0.0, 0.0))
    total = max(0.0, min(stop, at_lower) - start) * (end - g.lower) ** 2
    total += max(0.0, stop - max(start, 1 - at_upper)) * (end - g.upper) ** 2
    if low < high:
        y, w = nodes(low, high, g.breakpoints)
        total += float(np.sum(w * (end - y) ** 2 * g.pdf(y)))
    return total


def _expand_second(density: Density, g: Density) -> Expansion:
    from scipy.interpolate import CubicHermiteSpline

    lower, upper, value = density.lower, density.upper, _second(density, g)
    breaks = np.unique(np.concatenate([density.breakpoints, _bends(density, g)]))
    x, w = nodes(lower, upper, breaks)
    slope = (x - g.quantile(density.cdf(x))) / value
    # The weight is int_lower^u (x - M) / W2, between the points of the quadrature by its values and slopes there.
    knots = np.concatenate([[lower], x, [upper]])
    heights = np.concatenate([[0.0], running(slope, w), [np.sum(w * slope)]])
    slopes = np.concatenate([slope[:1], slope, slope[-1:]])
    apart = np.append(True, np.diff(knots) > _NEAR * (upper - lower))  # where the transport bends beside a knot
    weight = CubicHermiteSpline(knots[apart], heights[apart], slopes[apart])
    influence = Influence(lower, upper, ((0, weight),), (), tuple(breaks))
    at_lower, at_upper = getattr(g, "atoms", (0.0, 0.0))

    def spread(u: Any) -> np.ndarray:  # 1 / g(M); nothing moves on the way to an atom
        share = density.cdf(u)
        to_atom = (share <= at_lower) | (share >= 1 - at_upper)
        return np.where(to_atom, 0.0, 1 / np.maximum(g.pdf(g.quantile(share)), _TINY))

    curvature = Curvature(
        products=((influence, influence, -1 / (2 * value)),), cumulative=(lambda u: spread(u) / (2 * value),)
    )
    return Expansion(value, influence, curvature)
