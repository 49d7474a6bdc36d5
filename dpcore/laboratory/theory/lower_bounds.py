"""Lower bounds with their constants: no estimator of data released in a given way has a smaller largest risk.

Two laws that the released data cannot tell apart force an error of half their distance; `two_points` has the two points, the
mean, and two ways of release, Direct and Local.  Here are those of a curator,

    Central   one release of all records is epsilon-private
    Diverging one release of all records is alpha-total-variation private

and many pairs of laws side by side, which bound the integrated error of a density (Assouad).  Bounds for two points are those
of Garivier [Garivier2022], [BarberDuchi2014] and [Duchi2018]; the constants for densities are worked out here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial import Polynomial

from dpcore.errors import check_positive, check_within
from dpcore.laboratory.theory.two_points import HEIGHTS, Direct, Release, contraction, two_points

_MOST_CELLS = 4096


@dataclass(frozen=True)
class Central:
    """One epsilon-private release of n records: 1 - TV >= e^{-n epsilon tv}, by coupling the records."""

    n: float
    epsilon: float

    def variation(self, tv: float, chi: float) -> float:
        return min(-math.expm1(-self.n * self.epsilon * tv), Direct(self.n).variation(tv, chi))


@dataclass(frozen=True)
class Diverging:
    """One alpha-total-variation private release of n records: TV <= n alpha tv (theorem 2 of [BarberDuchi2014])."""

    n: float
    alpha: float

    def variation(self, tv: float, chi: float) -> float:
        return min(self.n * self.alpha * tv, Direct(self.n).variation(tv, chi))


def printed_contraction(epsilon: float, tv: float) -> float:
    """Return min(4, e^{2 epsilon}) (e^epsilon - 1)^2 tv^2, as [Duchi2018] has it."""
    return min(4.0, math.exp(2 * epsilon)) * contraction(epsilon, tv)


def le_cam(separation: float, kl: float, n: int) -> float:
    """Return the bound separation e^{-n KL} / 8 of the expected distance without privacy [Garivier2022]."""
    return separation / 8 * math.exp(-n * kl)


def le_cam_private(separation: float, tv: float, n: int, epsilon: float) -> float:
    """Return the bound separation e^{-n epsilon TV} / 4 of the expected distance with a trusted curator [Garivier2022]."""
    return separation / 4 * math.exp(-n * epsilon * tv)


# Unbiased answers about a database (Garivier); for discrete answers see
# `central.exponential.inverse_sensitivity.truth_upper_bound`


def continuous(changes: Sequence[float], epsilon: float) -> float:
    """Return sup_k Delta(x, k)^2 / (4 (1 + e^{2 k epsilon})), below the variance of an unbiased epsilon-private answer.

    changes: Delta(x, k), how far k = 1, 2, .. records can move the answer.
    """
    moved = np.asarray(changes, dtype=float)
    shrinking = np.exp(-2 * epsilon * np.arange(1, len(moved) + 1))
    return float(np.max(moved**2 / 4 * shrinking / (shrinking + 1)))


def continuous_linear(change: float, epsilon: float) -> float:
    """Return change^2 / (68 epsilon^2), what `continuous` gives at least where Delta(x, k) = k change and epsilon <= 1/2.

    k = ceil(1 / (2 epsilon)) has u = k epsilon in [1/2, 1], where u^2 / (4 (1 + e^{2u})) is at least 1/59.5.
    """
    check_positive(epsilon=epsilon)
    check_within(0, 0.5, epsilon=epsilon)
    return change**2 / (68 * epsilon**2)


# Densities and their derivatives


@dataclass(frozen=True, eq=False)
class Bump:
    """A polynomial on [0, 1], with its derivatives up to the p-th zero at both ends and mean zero, |p-th derivative| <= 1."""

    polynomial: Polynomial
    height: float  # its largest size
    energy: float  # its integrated square
    mass: float  # the integral of its positive part


@lru_cache(maxsize=16)
def bump(p: int) -> Bump:
    """Return the derivative of (x (1 - x))^{p+2}, scaled.

    >>> bump(1).height < 1 / 4 and bump(1).mass < 1 / 16
    True
    """
    check_within(1, 8, smoothness=p)
    shape = (Polynomial([0, 1, -1]) ** (p + 2)).deriv()
    shape = shape / _largest(shape.deriv(p))
    grid = np.linspace(0, 1, 20_001)
    values = shape(grid)
    square = (shape**2).integ()
    return Bump(
        shape, _largest(shape), float(square(1) - square(0)), float(np.trapezoid(np.maximum(values, 0.0), grid))
    )


def _largest(polynomial: Polynomial) -> float:
    return float(np.max(np.abs(polynomial(np.linspace(0, 1, 20_001)))))


@dataclass(frozen=True, kw_only=True)
class HardDensities:
    """The densities 1 + height sum_j +-w^p bump((x - j w) / w), w = 1 / cells, that force the bound.

    bound: no estimator's integrated squared error, averaged over the signs, is smaller.
    """

    bound: float
    smoothness: int
    cells: int
    height: float

    def density(self, signs: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the density with those signs, (cells,), at x in [0, 1]."""
        x = np.asarray(x, dtype=float)
        cell = np.minimum((x * self.cells).astype(int), self.cells - 1)
        return np.asarray(
            1 + self._scale * np.asarray(signs)[cell] * bump(self.smoothness).polynomial(x * self.cells - cell)
        )

    def distribution(self, signs: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the distribution function with those signs at x."""
        x = np.asarray(x, dtype=float)
        cell = np.minimum((x * self.cells).astype(int), self.cells - 1)
        running = bump(self.smoothness).polynomial.integ()
        return np.asarray(x + self._scale * np.asarray(signs)[cell] * running(x * self.cells - cell) / self.cells)

    @property
    def _scale(self) -> float:
        return self.height * self.cells**-self.smoothness


def density(release: Release, smoothness: int, size: float) -> HardDensities:
    """Return a bound of the integrated squared error of densities on [0, 1] with |f^(p)| <= size, and who forces it.

    Cells of width w carry independent signs.  An estimate that takes a cell's sign for the other one is half the two bumps'
    distance off there, so that the risk is at least (1 / w) (4 h^2 w^{2p+1} B / 4) (1 - variation) / 2, B the bump's energy.

    smoothness: p, 1..8.  size: > 0.
    """
    check_positive(size=size)
    shape, best = bump(smoothness), HardDensities(bound=0.0, smoothness=smoothness, cells=1, height=0.0)
    cells, behind = 1, 0
    while cells <= _MOST_CELLS and behind < 8:
        w = 1 / cells
        highest = min(size, 1 / (w**smoothness * shape.height))
        best_here = 0.0
        for height in highest * HEIGHTS:
            amplitude = height * w**smoothness
            least = 1 - amplitude * shape.height
            chi = 4 * amplitude**2 * w * shape.energy / least if least > 0 else math.inf
            seen = release.variation(2 * amplitude * w * shape.mass, chi)
            bound = amplitude**2 * shape.energy / 2 * (1 - seen)
            best_here = max(best_here, bound)
            if bound > best.bound:
                best = HardDensities(bound=float(bound), smoothness=smoothness, cells=cells, height=float(height))
        behind = 0 if best_here >= best.bound else behind + 1
        cells = max(cells + 1, round(cells * 1.1))
    return best


@dataclass(frozen=True, kw_only=True)
class HardPoint:
    """Two densities 1 +- amplitude bump((x - start) / width) that force the bound of a derivative at a point."""

    bound: float
    smoothness: int
    start: float
    width: float
    amplitude: float

    def density(self, sign: int, x: np.ndarray) -> np.ndarray:
        """Return the density with that sign, 1 or -1, at x in [0, 1]."""
        u = (np.asarray(x, dtype=float) - self.start) / self.width
        inside = (u > 0) & (u < 1)
        return np.asarray(
            1 + sign * self.amplitude * np.where(inside, bump(self.smoothness).polynomial(np.clip(u, 0, 1)), 0)
        )

    def distribution(self, sign: int, x: np.ndarray) -> np.ndarray:
        """Return the distribution function with that sign at x."""
        x = np.asarray(x, dtype=float)
        running = bump(self.smoothness).polynomial.integ()
        return np.asarray(
            x + sign * self.amplitude * self.width * running(np.clip((x - self.start) / self.width, 0, 1))
        )

    def truth(self, sign: int, order: int, x: float) -> float:
        """Return the order-th derivative of the density with that sign at x within the bump."""
        shape = bump(self.smoothness).polynomial.deriv(order)
        value = sign * self.amplitude * self.width**-order * float(shape((x - self.start) / self.width))
        return value + (order == 0)


def derivative(release: Release, smoothness: int, size: float, order: int, x: float, power: int = 2) -> HardPoint:
    """Return a bound of the risk E |error|^power of f^(order)(x), densities as in `density`, order < smoothness.

    The bump is placed so that its derivative is largest at x; it must fit into [0, 1].
    """
    check_positive(size=size)
    check_within(0, smoothness - 1, order=order)
    check_within(0, 1, x=x)
    shape = bump(smoothness)
    grid = np.linspace(0, 1, 20_001)
    steep = np.abs(shape.polynomial.deriv(order)(grid)) if order else np.abs(shape.polynomial(grid))
    at = float(grid[int(np.argmax(steep))])
    if (at > 0.5) != (x > 0.5):
        at = 1 - at  # the bump is odd or even around its middle
    widest = min(x / at if at > 0 else 1.0, (1 - x) / (1 - at) if at < 1 else 1.0, 1.0)
    best = HardPoint(bound=0.0, smoothness=smoothness, start=x, width=widest, amplitude=0.0)
    for width in widest * np.geomspace(1e-3, 1.0, 150):
        highest = min(size * width**smoothness, 1 / shape.height)
        for amplitude in highest * HEIGHTS[::2]:
            least = 1 - amplitude * shape.height
            chi = 4 * amplitude**2 * width * shape.energy / least if least > 0 else math.inf
            separation = 2 * amplitude * width**-order * float(np.max(steep))
            seen = release.variation(2 * amplitude * width * shape.mass, chi)
            bound = two_points(separation, seen, power)
            if bound > best.bound:
                best = HardPoint(
                    bound=float(bound),
                    smoothness=smoothness,
                    start=float(x - at * width),
                    width=float(width),
                    amplitude=float(amplitude),
                )
    return best
