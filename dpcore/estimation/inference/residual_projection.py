"""Residuals of a penalised fit, projected without a penalty on a space of B-splines.

The residual r = observed - A f, projected by weighted least squares on B-splines B_k of V_level and the detected point masses,

    h = sum_k c_k B_k,  int h = 0,    c = R r,   R = (A_B' W A_B)^{-1} A_B' W,   S = (A_B' W A_B)^{-1},

W the Fisher weights and A_B = A applied to the B-splines, estimates f* - f with the covariance S, whatever the penalty was.  A
change of the fit's parameters moves it by R A F, F their features; the rest of a change is not seen by the span.

A correction by an unbounded derivative, such as of a logarithm where a density is close to zero, is mostly noise.  It may be
evaluated at a density bounded below by a share of the uniform one; the posterior then accounts for the difference of the two
derivatives (`one_step_correction`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dpcore.estimation import constants
from dpcore.estimation.density.densities import DensityOnInterval, cell_masses, cumulated
from dpcore.estimation.density.log_spline_posterior import Posterior
from dpcore.estimation.inference.confidence_bands import massless
from dpcore.functionals import Expansion, Functional, Influence
from dpcore.mechanisms.bases import bspline


@dataclass(frozen=True, eq=False)
class Span:
    """correction: c, (K,).  covariance: S, (K, K).  reach: R A F, (K, D), the projected change of each parameter.

    solve: R, (K, S).  K: 2^level + 3 B-splines and the detected point masses at the ends.
    """

    level: int
    lower: float
    upper: float
    ends: np.ndarray
    correction: np.ndarray
    covariance: np.ndarray
    reach: np.ndarray
    solve: np.ndarray

    @property
    def masses(self) -> np.ndarray:
        """Change of the point masses by coefficient, (2, K): at lower and at upper."""
        rows = np.zeros((2, len(self.correction)))
        rows[self.ends, len(self.correction) - len(self.ends) + np.arange(len(self.ends))] = 1.0
        return rows

    def features(self, x: np.ndarray, order: int = 0) -> np.ndarray:
        """Return B_k^(order)(x), (n, K), per unit of x to the power order + 1; point masses have no density."""
        width = self.upper - self.lower
        share = np.clip((np.asarray(x, dtype=np.float64) - self.lower) / width, 0.0, 1.0)
        smooth = _splines(share.tobytes(), self.level, order) / width ** (order + 1)
        return np.hstack([smooth, np.zeros((len(smooth), len(self.ends)))])

    def cdf_features(self, x: np.ndarray) -> np.ndarray:
        """Return the distribution function of each function of the span at x (n,), shape (n, K)."""
        share = (np.asarray(x, dtype=np.float64) - self.lower) / (self.upper - self.lower)
        steps = [np.where(share >= end, 1.0, 0.0) for end in self.ends]
        return np.column_stack([_cumulated(share.tobytes(), self.level), *steps])

    def along(self, influence: Influence, breakpoints: np.ndarray) -> np.ndarray:
        """Return T of each function of the span, shape (K,)."""
        return influence.on(self.features, breakpoints, self.masses)


def project(posterior: Posterior, level: int, ends: np.ndarray | None = None) -> Span:
    """Return the projection of a posterior's residual on V_level; ends: point masses, by default the detected ones."""
    likelihood, density, ends = (
        posterior.likelihood,
        posterior.density,
        posterior.detected_ends if ends is None else ends,
    )
    inputs = likelihood.inputs
    masses = cell_masses(constants.DEGREE, level, inputs)
    atoms = np.zeros((inputs, len(ends)))
    atoms[-ends, np.arange(len(ends))] = 1.0  # cell 0 or cell -1
    total = np.concatenate([bspline.integrals(constants.DEGREE, level), np.ones(len(ends))])
    free = massless(total)
    seen, weights = likelihood.expected(np.hstack([masses, atoms])) @ free, likelihood.weights(posterior.expected)
    information = (seen * weights[:, None]).T @ seen
    inverse = np.linalg.pinv(information, rcond=constants.RANK_ROUNDING, hermitian=True)
    solve = free @ inverse @ (seen.T * weights)
    return Span(
        level=level,
        lower=density.lower,
        upper=density.upper,
        ends=ends,
        correction=solve @ likelihood.residual(posterior.expected),
        covariance=free @ inverse @ free.T,
        reach=solve @ posterior.slope,
        solve=solve,
    )


@lru_cache(maxsize=32)
def _splines(share: bytes, level: int, order: int) -> np.ndarray:
    """B-splines at positions of the unit interval; cached, as functionals of all fits use few sets of nodes."""
    return bspline.evaluate(np.frombuffer(share), constants.DEGREE, level, order)


@lru_cache(maxsize=32)
def _cumulated(share: bytes, level: int) -> np.ndarray:
    """Their integrals from 0 to positions of the unit interval."""
    return cumulated(np.frombuffer(share), constants.DEGREE, level)


def influences(functional: Functional, expansion: Expansion, density: DensityOnInterval) -> tuple[Influence, ...]:
    """Return the derivatives for a correction: the expansion's own, and a bounded one if that may be unbounded."""
    if not functional.needs_positive:
        return (expansion.influence,)
    return expansion.influence, functional.expand(_NowhereScarce(density)).influence


@dataclass(frozen=True, eq=False)
class _NowhereScarce:
    """A density bounded below by a share of the uniform one."""

    whole: DensityOnInterval

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole, name)

    def pdf(self, x: Any) -> np.ndarray:
        return np.maximum(self.whole.pdf(x), constants.SMALL / self.whole.width)
