"""One distribution function for all reported proportions and quantiles of a numeric attribute in one round.

Corrected proportions at neighbouring values are not coordinated: with 1,000 clients they may decrease as the value rises, with
errors up to 1.4 times those of the uncorrected curve.  With F the curve's distribution function on a grid, d the distance from
it to the middle of the band of corrected proportions, and s half that band's length in standard errors,

    G = isotonic( F + d (1 - (3 s / d)^2)_+ ),    clipped to [0, 1].

The nonnegative garrote [Breiman1995] makes no correction within three standard errors and nearly all of a large one.  The
standard error of d itself is smaller [Hausman1978], but as a difference of two variances it is often too small: with 1,000
clients it makes errors up to 1.17 times the curve's, where s leaves them unchanged.  Isotonic regression gives the nearest
nondecreasing function [Barlow1972].

Proportions are differences of G, and quantiles invert it.  Between grid points G rises in proportion to F.  The band covers
without an assumption on the curve.  An interval whose inner three quarters do not contain the reported value is moved until
they do; its length does not change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from dpcore.estimation import constants
from dpcore.estimation.density.densities import DensityOnInterval
from dpcore.estimation.functional_estimate import moved, normal_quantile
from dpcore.functionals import Atom, Cdf, Probability, Quantile
from dpcore.functionals.quantile import proportions

REPORTED = Cdf | Probability | Atom | Quantile


def significant(correction: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Return corrections (n,) after shrinkage: zero within three standard errors (n,), nearly unchanged far beyond.

    >>> significant(np.array([0.2, 0.4, 4.0]), np.full(3, 0.1)).round(3)
    array([0.   , 0.175, 3.978])
    """
    ratio = constants.CLEAR_ERRORS * error / np.maximum(np.abs(correction), np.finfo(float).tiny)
    return np.asarray(correction * np.maximum(1 - np.minimum(ratio, 1.0) ** 2, 0.0))


def rising(curve: np.ndarray, corrected: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Return G of a nondecreasing curve F (n,) and corrected proportions (n,) with their standard errors (n,)."""
    target = curve + significant(corrected - curve, error)
    return np.asarray(np.clip(scipy.optimize.isotonic_regression(target).x, 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class CoherentCdf:
    """G on a grid.

    grid: (n,), from lower to upper.  curve, shares: F and G at or below each point, (n,), at upper without the point mass
    there.
    density: of F.
    """

    density: DensityOnInterval
    grid: np.ndarray
    curve: np.ndarray
    shares: np.ndarray

    @classmethod
    def from_band(
        cls, density: DensityOnInterval, band: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    ) -> CoherentCdf:
        """Return G; band: returns lower and upper limits of the proportions at or below x (n,), at `constants.CONFIDENCE`."""
        grid = np.linspace(density.lower, density.upper, constants.CURVE_CELLS + 1)
        low, high = band(np.append(grid[:-1], np.nextafter(density.upper, density.lower)))
        below = np.append(density.cdf(grid[:-1]), 1 - density.atoms[1])
        curve = np.clip(np.maximum.accumulate(below), 0.0, 1.0)
        return cls(
            density,
            grid,
            curve,
            rising(curve, (low + high) / 2, (high - low) / (2 * normal_quantile(constants.CONFIDENCE))),
        )

    def __call__(self, x: Any) -> np.ndarray:
        """Return the share at or below x (any shape)."""
        x = np.asarray(x, dtype=np.float64)
        inside = np.clip(x, self.grid[0], self.grid[-1])
        begin = np.clip(np.searchsorted(self.grid, inside, side="right") - 1, 0, len(self.grid) - 2)
        rise = (
            self.density.cdf(inside)
            - self.curve[begin]
            + constants.ROUNDING * (inside - self.grid[begin]) / self.density.width
        )
        step = (self.grid[begin + 1] - self.grid[begin]) / self.density.width
        part = np.clip(rise / (self.curve[begin + 1] - self.curve[begin] + constants.ROUNDING * step), 0.0, 1.0)
        share = self.shares[begin] + part * (self.shares[begin + 1] - self.shares[begin])
        return np.where(x < self.grid[0], 0.0, np.where(x >= self.grid[-1], 1.0, share))

    def contained(self, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return intervals within [0, 1] of the proportions at or below x (n,), moved where needed to contain G."""
        least, most = np.where(x >= self.grid[-1], 1.0, 0.0), np.where(x >= self.grid[0], 1.0, 0.0)
        low, high = moved(self(x), low, high, least, most)
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    def quantile(self, t: Any) -> np.ndarray:
        """Return the least x with G(x) >= t, t in [0, 1] (any shape); raises SchemeError for other t."""
        t = proportions(t)
        begin = np.clip(np.searchsorted(self.shares, t) - 1, 0, len(self.grid) - 2)
        rise = self.shares[begin + 1] - self.shares[begin]
        part = np.clip((t - self.shares[begin]) / np.where(rise > 0, rise, 1.0), 0.0, 1.0)
        own, step = self.curve[begin + 1] - self.curve[begin], self.grid[begin + 1] - self.grid[begin]
        x = np.where(
            own > constants.ROUNDING,
            self.density.quantile(self.curve[begin] + part * own),
            self.grid[begin] + part * step,
        )
        return np.where(t > self.shares[-1], self.grid[-1], np.clip(x, self.grid[begin], self.grid[begin + 1]))

    def value(self, functional: REPORTED) -> float:
        """Return a proportion or a quantile."""
        if isinstance(functional, Quantile):
            return float(self.quantile(functional.t))
        if isinstance(functional, Cdf):
            return float(self(functional.x))
        first, last = (functional.a, functional.b) if isinstance(functional, Probability) else (functional.x,) * 2
        below = 0.0 if first <= self.grid[0] else self.shares[-1] if first == self.grid[-1] else self(first)
        return float(self(last) - below)
