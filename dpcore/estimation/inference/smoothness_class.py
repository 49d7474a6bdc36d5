"""The class of densities with |f''|_2 <= M, observed through a likelihood, and the error of linear functionals over it.

f is a quadratic spline of V_8: its second derivative is constant on 256 pieces, and the piecewise means of any f'' of the class
belong to the class.  In coordinates w in which both the information and the bound are diagonal,

    f = 1 + sum_i w_i e_i,  int e_i = 0,    information = sum_i seen_i w_i^2,    (|f''|_2 / M)^2 = sum_i rough_i w_i^2,

the estimates w_i(t) = score_i / h_i, h_i = seen_i + t rough_i, are over t the minimax affine ones of a linear functional l'w
[Donoho1994], with

    sd^2 = sum_i l_i^2 seen_i / h_i^2,      |bias| <= t (sum_i l_i^2 rough_i / h_i^2)^{1/2}.

The interval value -+ sd cv(bias / sd), cv the quantile of |N(bias / sd, 1)|, covers for every density of the class
[ArmstrongKolesar2018]; t minimises its length.  That depends on the functional and the noise and not on the data, except for
the noise's variance at the fit.  The variation of f'' within a piece moves l'f by at most M / (256 pi) |B'|_2, B the weight of
f'' in the bias (Poincare's inequality), and is added to the bias.  A density may be negative here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import pi

import numpy as np
import scipy

from dpcore.estimation import constants
from dpcore.estimation.density.densities import cell_masses, cumulated
from dpcore.estimation.density.likelihood import Likelihood
from dpcore.estimation.inference.confidence_bands import massless
from dpcore.functionals import Influence
from dpcore.mechanisms.bases import bspline


@dataclass(frozen=True, eq=False)
class Linear:
    """Estimates of linear functionals: values, standard deviations and largest biases, (n,) each; trade: t, (n,) or (1,)."""

    value: np.ndarray
    deviation: np.ndarray
    bias: np.ndarray
    trade: np.ndarray

    def half(self, confidence: float) -> np.ndarray:
        """Return half the length of the intervals, (n,): sd cv(bias / sd)."""
        least = np.maximum(self.deviation, constants.TINY)
        ratio = np.minimum(self.bias / least, constants.MAX_BIAS)
        over = self.bias - ratio * least  # of a bias that is more than that
        return np.asarray(least * np.sqrt(scipy.special.chndtrix(confidence, 1, ratio**2)) + over)


@dataclass(frozen=True, eq=False)
class SmoothClass:
    """bound: M on the unit interval.  turn: (K, K - 1), of the splines' coefficients by w.

    seen, rough, score: (K - 1,), as above; score has mean seen w and variance seen.
    """

    lower: float
    upper: float
    bound: float
    turn: np.ndarray
    seen: np.ndarray
    rough: np.ndarray
    score: np.ndarray

    @property
    def width(self) -> float:
        """upper - lower."""
        return self.upper - self.lower

    @property
    def breakpoints(self) -> np.ndarray:
        """Limits of the pieces, in the attribute's units."""
        return self.lower + self.width * np.arange((1 << constants.FINEST_LEVEL) + 1) / (1 << constants.FINEST_LEVEL)

    def features(self, x: np.ndarray, order: int = 0) -> np.ndarray:
        """Return the splines' derivatives of that order at x (n,), (n, K), per unit of x to the power order + 1."""
        return bspline.evaluate(self._share(x), 2, constants.FINEST_LEVEL, order) / self.width ** (order + 1)

    def along(self, influence: Influence) -> np.ndarray:
        """Return T of each spline, (1, K)."""
        return influence.on(self.features, self.breakpoints)[None]

    def below(self, x: np.ndarray) -> np.ndarray:
        """Return the mass of each spline at or below x (n,), (n, K)."""
        return cumulated(self._share(x), 2, constants.FINEST_LEVEL)

    def linear(self, along: np.ndarray, confidence: float) -> Linear:
        """Return the estimate of one functional, along: (1, K), with the shortest interval."""
        lengths = self.alike(along, constants.TRADES).half(confidence)
        return self.alike(along, constants.TRADES[[int(np.argmin(lengths))]])

    def alike(self, along: np.ndarray, trade: np.ndarray) -> Linear:
        """Return estimates of functionals at one t, along: (n, K), trade: (1,), or of one at several, (1, K) and (n,)."""
        weights, t = along @ self.turn, trade[:, None]
        damped = self.seen + t * self.rough
        taken = t * weights / damped  # but for roughness, of each w_i
        steep = taken * self.rough
        within = np.einsum("nk,nk->n", steep @ self._steepness, steep)
        return Linear(
            along.sum(axis=1) + (weights / damped) @ self.score,
            np.sqrt(np.sum((weights / damped) ** 2 * self.seen, axis=1)),
            np.sqrt(np.sum(taken**2 * self.rough, axis=1) + np.maximum(within, 0.0)),
            trade,
        )

    def noise(self, along: np.ndarray, trade: np.ndarray) -> np.ndarray:
        """Return the weights of independent standard normal errors in estimates of several functionals at one t, (n, K - 1)."""
        return np.asarray((along @ self.turn) * np.sqrt(self.seen) / (self.seen + trade * self.rough))

    def nearest(self, score: np.ndarray, times: float = 1.0) -> np.ndarray:
        """Return the w nearest to scores (m, K - 1) with |f''|_2 at most a multiple of M, (m, K - 1), by its multiplier."""
        low, high = (np.full(len(score), end) for end in (-constants.MAX_LOG_TRADE, constants.MAX_LOG_TRADE))
        for _ in range(constants.TRADE_HALVINGS):
            middle = (low + high) / 2
            w = score / (self.seen + np.exp(middle)[:, None] * self.rough)
            is_rough = np.sum(self.rough * w**2, axis=1) > times**2
            low, high = np.where(is_rough, middle, low), np.where(is_rough, high, middle)
        return np.asarray(score / (self.seen + np.exp(high)[:, None] * self.rough))

    def distance(self, score: np.ndarray, times: float) -> np.ndarray:
        """Return chi-squared of scores (m, K - 1) at their nearest w, (m,), over the identified coordinates."""
        reduced = replace(self, seen=self.seen[self.identified], rough=self.rough[self.identified])
        left = score[:, self.identified] - reduced.seen * reduced.nearest(score[:, self.identified], times)
        return np.asarray(np.sum(left**2 / reduced.seen, axis=1))

    def chi_squared(self, score: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return the chi-squared distance, (m,), of scores (m, K - 1) from those expected at w (K - 1,), if identified."""
        left = (score - self.seen * w)[:, self.identified]
        return np.asarray(np.sum(left**2 / self.seen[self.identified], axis=1))

    @cached_property
    def identified(self) -> np.ndarray:
        """Whether reports carry information about each coordinate, (K - 1,)."""
        return np.asarray(self.seen > constants.UNSEEN)

    @cached_property
    def _steepness(self) -> np.ndarray:
        """The quadratic form of (M width / pi |B'|_2)^2 in the bias's weights, (K - 1, K - 1)."""
        slopes = _slopes() @ self.turn
        scale = self.bound / (1 << constants.FINEST_LEVEL) / pi
        return np.asarray(scale**2 * np.linalg.inv(slopes.T @ slopes))

    def _share(self, x: np.ndarray) -> np.ndarray:
        return np.clip((np.asarray(x, dtype=np.float64) - self.lower) / self.width, 0.0, 1.0)


def build(likelihood: Likelihood, expected: np.ndarray, lower: float, upper: float, bound: float) -> SmoothClass:
    """Return the class with the data, bound: M in the attribute's units; expected: (S,), under a fit."""
    masses, free, bends = _frame(likelihood.inputs)
    unit = bound * (upper - lower) ** 2.5  # f of x is f of u / width, and so on: |f''|_2 falls with width^(5/2)
    seen = likelihood.expected(masses) @ free
    weighted = seen * likelihood.weights(expected)[:, None]
    information, roughness = weighted.T @ seen, bends / unit**2
    # Cholesky's root of the sum makes both diagonal together, and their sum the unit
    root = np.linalg.cholesky(information + roughness)
    half = scipy.linalg.solve_triangular(root, roughness, lower=True)
    whitened = scipy.linalg.solve_triangular(root, half.T, lower=True)
    rough, axes = np.linalg.eigh((whitened + whitened.T) / 2)
    rough = np.clip(rough, 0.0, 1.0)
    turn = free @ scipy.linalg.solve_triangular(root, axes, lower=True, trans=1)
    flat = likelihood.expected(np.full(likelihood.inputs, 1 / likelihood.inputs))
    score = (weighted.T @ likelihood.residual(flat)) @ (free.T @ turn)
    return SmoothClass(lower, upper, unit, turn, 1 - rough, rough, score)


@lru_cache(maxsize=4)
def _frame(inputs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The splines' masses of the input cells, (inputs, K); those of mass zero, (K, K - 1), and their (|f''|_2)^2."""
    free = massless(bspline.integrals(2, constants.FINEST_LEVEL))
    middles = (np.arange(1 << constants.FINEST_LEVEL) + 0.5) / (1 << constants.FINEST_LEVEL)
    bends = bspline.evaluate(middles, 2, constants.FINEST_LEVEL, 2) @ free
    return cell_masses(2, constants.FINEST_LEVEL, inputs), free, bends.T @ bends / (1 << constants.FINEST_LEVEL)


@lru_cache(maxsize=1)
def _slopes() -> np.ndarray:
    """Rows whose squares add up to int f'^2 of a spline, (2 pieces, K): slopes are straight, two of Gauss's points do."""
    places = (np.arange(1 << constants.FINEST_LEVEL)[:, None] + 0.5 + np.array([-0.5, 0.5]) / 3**0.5) / (
        1 << constants.FINEST_LEVEL
    )
    return bspline.evaluate(places.ravel(), 2, constants.FINEST_LEVEL, 1) / (2 << constants.FINEST_LEVEL) ** 0.5
