"""Densities on an interval, as coefficients and a basis.

Both are splines on the unit interval, read in the attribute's units.  A `Spline` is the density; an `ExponentialSpline` has a
spline as its logarithm, so that it is positive and of known mass.  It may leave part of the mass to point masses at the two
ends of the interval, the values that values outside the bounds are clipped to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from math import comb
from typing import Any

import numpy as np
import scipy

from dpcore.errors import check_within
from dpcore.estimation import constants
from dpcore.functionals.quantile import proportions
from dpcore.mechanisms.bases import bspline


def cumulated(u: np.ndarray, degree: int, level: int) -> np.ndarray:
    """Return the integrals of the B-splines of V_level from 0 to u (n,) in [0, 1], shape (n, 2^level + degree)."""
    functions = scipy.interpolate.BSpline.construct_fast(
        bspline.knots(degree, level), np.eye(bspline.size(degree, level)), degree
    )
    return np.asarray(functions.antiderivative()(np.asarray(u, dtype=np.float64)))


def cell_masses(degree: int, level: int, cells: int) -> np.ndarray:
    """Return the integral of each B-spline of V_level over each of equal cells, shape (cells, 2^level + degree)."""
    return np.diff(cumulated(np.arange(cells + 1) / cells, degree, level), axis=0)


@dataclass(frozen=True, eq=False)
class _OnInterval:
    """A spline of V_level on the unit interval, read on [lower, upper] in the attribute's units."""

    lower: float
    upper: float
    degree: int
    level: int
    coefficients: np.ndarray

    def __repr__(self) -> str:
        where = f"[{self.lower:g}, {self.upper:g}]"
        return f"<{type(self).__name__} of degree {self.degree} in V_{self.level} on {where}>"

    @property
    def width(self) -> float:
        """upper - lower."""
        return self.upper - self.lower

    @cached_property
    def breakpoints(self) -> np.ndarray:
        """The knots, shape (2^level + 1,), in the attribute's units."""
        return self.lower + self.width * np.arange((1 << self.level) + 1) / (1 << self.level)

    def pdf(self, x: Any) -> np.ndarray:
        """Return the density, without atoms, at x (any shape), per unit of x; 0 outside [lower, upper]."""
        return self.derivative(0)(x)

    def derivative(self, order: int) -> Callable[[Any], np.ndarray]:
        """Return its derivative of that order >= 0, a function of x (any shape); 0 outside [lower, upper]."""
        raise NotImplementedError

    def _share(self, x: Any) -> np.ndarray:
        """Position of x on the unit interval, not clipped."""
        return np.asarray((np.asarray(x, dtype=np.float64) - self.lower) / self.width)

    @cached_property
    def _spline(self) -> scipy.interpolate.BSpline:
        return scipy.interpolate.BSpline(bspline.knots(self.degree, self.level), self.coefficients, self.degree)


@dataclass(frozen=True, eq=False, repr=False)
class Spline(_OnInterval):
    """A spline of V_level on the unit interval, read as a density on [lower, upper] in the attribute's units.

    coefficients: (2^level + degree,) of the B-splines; the density with respect to u = (x - lower) / (upper - lower).
    It may be negative and need not integrate to one; `quantile` requires a proper density.
    """

    @property
    def atoms(self) -> tuple[float, float]:
        """Point masses: none."""
        return 0.0, 0.0

    def derivative(self, order: int) -> Callable[[Any], np.ndarray]:
        """Return the derivative of that order >= 0, a function of x (any shape); 0 outside [lower, upper]."""
        check_within(0, 16, order=order)
        if order > self.degree:
            return lambda x: np.zeros(np.shape(x))
        spline = self._spline.derivative(order) if order else self._spline

        def evaluate(x: Any) -> np.ndarray:
            u = self._share(x)
            inside = (u >= 0) & (u <= 1)
            return np.where(inside, spline(np.clip(u, 0.0, 1.0)), 0.0) / self.width ** (order + 1)

        return evaluate

    def cdf(self, x: Any) -> np.ndarray:
        """Return the integral from lower to x (any shape)."""
        u = self._share(x)
        return np.asarray(self._integral(np.clip(u, 0.0, 1.0)))

    def quantile(self, t: Any) -> np.ndarray:
        """Return the smallest x with cdf(x) >= t, t in [0, 1] (any shape); the spline must be a proper density."""
        t = proportions(t)
        low, high = np.zeros(t.shape), np.ones(t.shape)
        for _ in range(constants.HALVINGS):
            middle = (low + high) / 2
            below = self._integral(middle) < t
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return self.lower + self.width * high

    def features(self, x: np.ndarray, order: int = 0) -> np.ndarray:
        """Return d (order-th derivative at x) / d coefficients, shape (n, K); x: (n,) in [lower, upper]."""
        u = np.clip(self._share(x), 0.0, 1.0)
        return bspline.evaluate(u, self.degree, self.level, order) / self.width ** (order + 1)

    def cumulative_features(self, x: np.ndarray) -> np.ndarray:
        """Return the derivative of cdf(x) by the coefficients, shape (n, K)."""
        u = np.clip(self._share(x), 0.0, 1.0)
        return cumulated(np.ravel(u), self.degree, self.level)

    @cached_property
    def _integral(self) -> scipy.interpolate.BSpline:
        return self._spline.antiderivative()


@dataclass(frozen=True, eq=False, repr=False)
class ExponentialSpline(_OnInterval):
    """A density on [lower, upper] whose logarithm is a cubic spline, with point masses at the two ends.

    coefficients: (2^level + degree,) of the B-splines of V_level on the unit interval: the log density up to a constant.
    atoms: masses at lower and at upper, each in [0, 1); the density integrates to the rest.
    `pdf` and `derivative` describe the continuous part, `cdf` and `quantile` the whole distribution.
    """

    atoms: tuple[float, float] = (0.0, 0.0)

    def derivative(self, order: int) -> Callable[[Any], np.ndarray]:
        """Return the derivative of that order >= 0, a function of x (any shape); 0 outside [lower, upper].

        f = exp(s) gives f^(n) = sum_k C(n-1, k) f^(k) s^(n-k), exact between knots, where s^(4) and higher derivatives vanish.
        """
        check_within(0, 16, order=order)
        parts = [self._spline.derivative(k) if k else self._spline for k in range(min(order, self.degree) + 1)]

        def evaluate(x: Any) -> np.ndarray:
            u = self._share(x)
            inside, u = (u >= 0) & (u <= 1), np.clip(u, 0.0, 1.0)
            s = [part(u) for part in parts] + [np.zeros(np.shape(u))] * (order + 1 - len(parts))
            f = [np.exp(s[0] - self._log_scale)]
            for n in range(1, order + 1):
                f.append(sum((comb(n - 1, k) * f[k] * s[n - k] for k in range(n)), np.zeros(np.shape(u))))
            return np.where(inside, f[order], 0.0) / self.width ** (order + 1)

        return evaluate

    def cdf(self, x: Any) -> np.ndarray:
        """Return P(X <= x), point masses included, for x of any shape."""
        u = self._share(x)
        total = self.atoms[0] + self._integral(np.clip(u, 0.0, 1.0)) + np.where(u >= 1, self.atoms[1], 0.0)
        return np.where(u < 0, 0.0, np.where(u >= 1, 1.0, np.clip(total, 0.0, 1.0)))

    def quantile(self, t: Any) -> np.ndarray:
        """Return the smallest x with cdf(x) >= t, t in [0, 1] (any shape)."""
        t = proportions(t)
        # Newton's steps within a knot interval, replaced by bisection where they leave the bracket
        masses, pieces = self.atoms[0] + self._cumulated, 1 << self.level
        piece = np.clip(np.searchsorted(masses, t, side="left") - 1, 0, pieces - 1)
        low, high = piece / pieces, (piece + 1) / pieces
        u = low + (high - low) * np.clip(
            (t - masses[piece]) / np.maximum(masses[piece + 1] - masses[piece], constants.TINY), 0, 1
        )
        for _ in range(constants.QUANTILE_STEPS):
            missing = t - self.atoms[0] - self._integral(u)
            low, high = np.where(missing > 0, u, low), np.where(missing > 0, high, u)
            step = u + missing / np.maximum(np.exp(self._spline(u) - self._log_scale), constants.TINY)
            u = np.where((step >= low) & (step <= high), step, (low + high) / 2)
        return self.lower + self.width * np.where(t <= self.atoms[0], 0.0, np.where(t >= masses[-1], 1.0, u))

    def _integral(self, u: np.ndarray) -> np.ndarray:
        """Mass of the continuous part on [0, u], u in [0, 1]."""
        pieces = 1 << self.level
        piece = np.clip((u * pieces).astype(np.int64), 0, pieces - 1)
        start = piece / pieces
        rest = np.asarray(u - start)
        nodes, weights = self._rule
        inside = np.exp(self._spline(start[..., None] + rest[..., None] * (nodes + 1) / 2) - self._log_scale)
        return self._cumulated[piece] + (inside @ weights) * rest / 2

    @cached_property
    def _rule(self) -> tuple[np.ndarray, np.ndarray]:
        is_steep = np.max(np.abs(np.diff(self.coefficients))) > constants.STEEP
        return _gauss(constants.STEEP_NODES if is_steep else constants.GAUSS_NODES)

    @cached_property
    def _pieces(self) -> np.ndarray:
        """int exp(s - max s) over each knot interval, shape (2^level,)."""
        return np.asarray(np.exp(self._values - self._highest) @ self._rule[1]) / (2 << self.level)

    @cached_property
    def _values(self) -> np.ndarray:
        """The log density at the quadrature nodes, shape (2^level, nodes)."""
        count = 1 << self.level
        return np.asarray(self._spline((np.arange(count)[:, None] + (self._rule[0] + 1) / 2) / count))

    @cached_property
    def _highest(self) -> float:
        return float(np.max(self._values))

    @cached_property
    def _log_scale(self) -> float:
        """log of int exp(s) over the mass of the continuous part."""
        return self._highest + float(np.log(self._pieces.sum()) - np.log(1 - sum(self.atoms)))

    @cached_property
    def _cumulated(self) -> np.ndarray:
        masses = self._pieces * np.exp(self._highest - self._log_scale)
        return np.concatenate([[0.0], np.cumsum(masses)])


DensityOnInterval = Spline | ExponentialSpline


@cache
def _gauss(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss's points and weights on [-1, 1], (nodes,) each."""
    return np.polynomial.legendre.leggauss(nodes)
