"""Distribution of a weighted sum of squared normals, X = sum_i w_i (Z_i + d_i)^2, by a saddlepoint approximation.

Level rules compare L2 norms of estimates with it; intervals of quadratic functionals are its quantiles.  The Lugannani-Rice
formula is deterministic, with a small relative error far in the tail, where simulation needs millions of draws.
Sources: [Lugannani1980]; for this distribution [Kuonen1999].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from dpcore.estimation import constants
from dpcore.estimation.inference.confidence_bands import root


@dataclass(frozen=True, eq=False)
class ChiSquareMixture:
    """X = constant + sum_i w_i (Z_i + d_i)^2 + s Z_0, Z standard normal and independent.

    weights: (k,) of any sign.  shifts: (k,), d, zero where left out.  linear: s >= 0.
    """

    weights: np.ndarray
    shifts: np.ndarray | None = None
    linear: float = 0.0
    constant: float = 0.0

    @property
    def mean(self) -> float:
        """E X."""
        return self.constant + float(np.sum(self._w * (1 + self._d2)))

    @property
    def variance(self) -> float:
        """Var X = 2 sum w^2 (1 + 2 d^2) + s^2."""
        return float(2 * np.sum(self._w**2 * (1 + 2 * self._d2))) + self.linear**2

    def tail(self, x: float) -> float:
        """Return P(X > x)."""
        if self.variance == 0:
            return float(x < self.mean)
        low, high = self._bracket(lambda s: self._first(s) - (x - self.constant))
        if low == high:
            return 1.0 if low < 0 else 0.0
        return 1 - self._cdf_at(
            scipy.optimize.brentq(lambda s: self._first(s) - (x - self.constant), low, high, xtol=1e-300)
        )

    def quantile(self, probability: float) -> float:
        """Return x with P(X <= x) = probability, 0 < probability < 1.

        The saddlepoint itself is the unknown: x is the first derivative of the cumulant generating function there.
        """
        if self.variance == 0:
            return self.mean
        low, high = self._bracket(lambda s: self._cdf_at(s) - probability)
        s = (
            low
            if low == high
            else scipy.optimize.brentq(lambda s: self._cdf_at(s) - probability, low, high, xtol=1e-300)
        )
        return self.constant + self._first(s)

    def _bracket(self, increasing: Callable[[float], float]) -> tuple[float, float]:
        """Saddlepoints between which an increasing function changes sign; twice the same where it does not.

        They lie between the poles 1 / (2 w) of the generating function: each step goes half the way to the pole, or doubles
        without one.
        """
        above, below = self._w.max(initial=0.0), self._w.min(initial=0.0)
        ends = []
        for sign, weight in ((-1.0, below), (1.0, above)):
            pole = 1 / (2 * weight) if weight else None
            s = sign * min(1 / np.sqrt(self.variance), abs(pole) / 2 if pole else np.inf)
            for _ in range(constants.POLE_STEPS):
                if sign * increasing(s) > 0:
                    break
                s = (s + pole) / 2 if pole else 2 * s
            else:
                return s, s
            ends.append(float(s))
        return ends[0], ends[1]

    @cached_property
    def _w(self) -> np.ndarray:
        return np.asarray(self.weights, dtype=np.float64)[self._significant]

    @cached_property
    def _d2(self) -> np.ndarray:
        if self.shifts is None:
            return np.zeros(len(self._w))
        return np.asarray(self.shifts, dtype=np.float64)[self._significant] ** 2

    @cached_property
    def _significant(self) -> np.ndarray:
        size = np.abs(np.asarray(self.weights, dtype=np.float64))
        return size > constants.RANK_ROUNDING * size.max(initial=0.0)

    def _cumulant(self, s: float) -> float:
        room = 1 - 2 * s * self._w
        return float(np.sum(-0.5 * np.log(room) + s * self._w * self._d2 / room)) + self.linear**2 * s**2 / 2

    def _first(self, s: float) -> float:
        room = 1 - 2 * s * self._w
        return float(np.sum(self._w / room + self._w * self._d2 / room**2)) + self.linear**2 * s

    def _second(self, s: float) -> float:
        room = 1 - 2 * s * self._w
        return float(np.sum(2 * self._w**2 / room**2 + 4 * self._w**2 * self._d2 / room**3)) + self.linear**2

    def _third(self, s: float) -> float:
        room = 1 - 2 * s * self._w
        return float(np.sum(8 * self._w**3 / room**3 + 24 * self._w**3 * self._d2 / room**4))

    def _cdf_at(self, s: float) -> float:
        """P(X <= x) for the x whose saddlepoint is s."""
        spread = np.sqrt(self._second(s))
        w = np.sign(s) * np.sqrt(max(0.0, 2 * (s * self._first(s) - self._cumulant(s))))
        if abs(w) < constants.NEAR_MEAN:  # the limit of what follows
            return float(scipy.special.ndtr(w + self._third(0.0) / self._second(0.0) ** 1.5 / 6))
        # Barndorff-Nielsen's form of the same approximation: it stays within [0, 1]
        return float(scipy.special.ndtr(w + np.log(s * spread / w) / w))


def error_law(t: np.ndarray, Q: np.ndarray, S: np.ndarray) -> ChiSquareMixture:
    """Return the distribution of t'x + x'Qx - tr(QS), x ~ N(0, S): a mixture of noncentral chi-squares."""
    spread = root(S)
    weights, axes = np.linalg.eigh(spread.T @ Q @ spread)
    slopes = axes.T @ (spread.T @ t)
    bent = np.abs(weights) > 1e-9 * np.abs(weights).max()  # linear directions have no square to complete
    w, b = weights[bent], slopes[bent]
    return ChiSquareMixture(
        w,
        b / (2 * w),
        linear=float(np.linalg.norm(slopes[~bent])),
        constant=-float(np.sum(b**2 / (4 * w))) - float(np.sum(weights)),
    )
