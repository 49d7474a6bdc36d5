"""Estimates of one density at all levels: the projections f^j0, f^{j0+1}, ... through the dual.

Noisy features give unbiased inner products z_b of the density with each block of the basis.  The L2 projection on V_j is
estimated by the sum over blocks b <= j - j0 of synthesis(b, j) z_b.  So f^l - f^j lies in the blocks between j and l, and
levels are compared without overlap.  Source: [Szabo2024].

If the levels of a basis are not orthogonal, all blocks are first transformed together, with their covariance (see
`dual.to_orthogonal`); f^j is then the L2 projection of all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from dpcore.estimation.consistency import project_density
from dpcore.estimation.density.densities import Spline
from dpcore.estimation.density.inner_products import InnerProducts, conditioned, mass_gain
from dpcore.mechanisms.bases.base import OrthogonalBasis
from dpcore.mechanisms.bases.dual import to_orthogonal


@dataclass(frozen=True, eq=False)
class Rung:
    """Estimate at one level: raw and proper splines, and the covariance (K, K) of the raw coefficients.

    weights: (K, S), with which the raw coefficients are sums of the levels' average reports, up to a constant; None if unknown.
    """

    raw: Spline
    proper: Spline
    covariance: np.ndarray
    weights: np.ndarray | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Ladder:
    """Estimates at every level whose blocks all have reports.

    basis: with orthogonal levels.  inner_products: per available block (K_b,), unbiased for <f, psi_bk>.
    covariance: of all of them, stacked.  n: number of reports.  epsilon: natural-log units, of one report.
    weights: (stacked, S), with which they are sums of the blocks' average reports, up to a constant.
    """

    basis: OrthogonalBasis
    inner_products: tuple[np.ndarray, ...]
    covariance: np.ndarray
    n: float
    epsilon: float
    weights: np.ndarray

    @property
    def levels(self) -> range:
        """Levels with an estimate, coarsest first."""
        j0 = self.basis.coarsest_level
        return range(j0, j0 + len(self.inner_products))

    def coefficients(self, level: int) -> np.ndarray:
        """Return the B-spline coefficients of f^level in V_level, shape (2^level + degree,)."""
        stacked = np.concatenate(self.inner_products[: level - self.basis.coarsest_level + 1])
        return np.asarray(self._synthesis(level) @ stacked)

    def covariance_of(self, level: int) -> np.ndarray:
        """Return the covariance of `coefficients(level)`."""
        synthesis = self._synthesis(level)
        used = synthesis.shape[1]
        return np.asarray(synthesis @ self.covariance[:used, :used] @ synthesis.T)

    def rung(self, level: int, lower: float, upper: float) -> Rung:
        """Return f^level as splines in the attribute's units."""
        degree, raw = self.basis.degree, self.coefficients(level)
        proper, synthesis = project_density(raw, degree, level), self._synthesis(level)
        return Rung(
            Spline(lower, upper, degree, level, raw),
            Spline(lower, upper, degree, level, proper),
            self.covariance_of(level),
            synthesis @ self.weights[: synthesis.shape[1]],
        )

    @cached_property
    def energies(self) -> np.ndarray:
        """||f^{j+1} - f^j||^2 in L2[0, 1] for each j but the last, shape (levels - 1,)."""
        blocks = enumerate(self.inner_products[1:], 1)
        return np.array([float(z @ np.linalg.solve(self.basis.gram(b), z)) for b, z in blocks])

    @cached_property
    def spectra(self) -> tuple[np.ndarray, ...]:
        """Eigenvalues, (K_b,), of G_b^{-1/2} Cov_b G_b^{-1/2} for each block b >= 1: the noise of `energies` is their mixture
        of chi-squares."""
        eigenvalues, start = [], len(self.inner_products[0])
        for b, z in enumerate(self.inner_products[1:], 1):
            block = self.covariance[start : start + len(z), start : start + len(z)]
            eigenvalues.append(np.maximum(scipy.linalg.eigh(block, self.basis.gram(b), eigvals_only=True), 0.0))
            start += len(z)
        return tuple(eigenvalues)

    def _synthesis(self, level: int) -> np.ndarray:
        blocks = range(level - self.basis.coarsest_level + 1)
        return np.hstack([self.basis.synthesis(b, level) for b in blocks])


def build(measured: InnerProducts, epsilon: float, unit_mass: bool = True) -> Ladder:
    """Return the ladder of reports of that epsilon; unit_mass: whether to condition on mass one."""
    oblique, covariance, weights, stacked = (
        measured.model.basis,
        measured.covariance,
        measured.reading,
        measured.stacked,
    )
    if unit_mass:
        mass, gain = mass_gain(oblique, covariance)
        stacked, covariance = conditioned(oblique, stacked, covariance)
        weights = weights - np.outer(gain, mass @ weights)
    basis, turn = oblique.orthogonal, to_orthogonal(oblique, len(measured.z))
    if turn is not None:
        stacked, covariance, weights = turn @ stacked, turn @ covariance @ turn.T, turn @ weights
    sizes = [basis.size(b) for b in range(len(measured.z))]
    blocks = tuple(np.split(stacked, np.cumsum(sizes)[:-1]))
    return Ladder(
        basis=basis, inner_products=blocks, covariance=covariance, n=measured.n, epsilon=epsilon, weights=weights
    )
