"""How an aggregate depends on the truth: the one interface between mechanisms and estimators.

A finite channel yields counts, multinomial around known mixtures of the input cells' probabilities.  Additive noise
yields averages of known features of the input cells plus noise of known variance.  Estimators are written once against
these two.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpcore.bases.base import Basis


@dataclass(frozen=True, eq=False)
class FiniteChannel:
    """Counts of reported cells.

    matrices: one (outputs_l, inputs) column-stochastic matrix per level.
    level_law: (L,) probabilities of the levels.
    Statistics are the counts of the levels' cells, level after level.
    """

    matrices: tuple[np.ndarray, ...]
    level_law: np.ndarray

    def split(self, statistics: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the counts of each level, shapes (outputs_l,)."""
        ends = np.cumsum([len(matrix) for matrix in self.matrices])
        return tuple(np.split(statistics, ends[:-1]))


@dataclass(frozen=True, eq=False)
class NoisyFeatures:
    """Sums of integer features of the input cell plus noise, in B blocks.

    basis: the functions whose scaled values are the features; block b of the model is block b of the basis.
    tables: per block (inputs, K_b) integers, what a client in that input cell would send without noise.
    units: per block (K_b,) floats; units * (mean of the reports) is unbiased for <f, psi_bk>, f the density on [0, 1].
    noise_variances: (B,) variance of the noise on one integer of one report, lattice units.
    block_law: (B,) probabilities with which a client sends that block alone, or None where every client sends all blocks.
    Statistics are the reports of each block (B,) followed by the sums of each block's integers, block after block.
    """

    basis: Basis
    tables: tuple[np.ndarray, ...]
    units: tuple[np.ndarray, ...]
    noise_variances: np.ndarray
    block_law: np.ndarray | None

    @cached_property
    def _ends(self) -> np.ndarray:
        return np.cumsum([table.shape[1] for table in self.tables])

    def split(self, statistics: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Return the reports of each block, shape (B,), and the sums of each block, shapes (K_b,)."""
        blocks = len(self.tables)
        return statistics[:blocks], tuple(np.split(statistics[blocks:], self._ends[:-1]))

    def coefficients(self, statistics: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return unbiased estimates of <f, psi_bk> per block, shapes (K_b,); NaN where a block has no report."""
        reports, sums = self.split(statistics)
        with np.errstate(invalid="ignore", divide="ignore"):
            return tuple(
                unit * (block / np.float64(count)) for unit, block, count in zip(self.units, sums, reports, strict=True)
            )

    def noise_covariances(self, reports: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the variances, shapes (K_b,), of the coefficients' noise, given the reports of each block."""
        return tuple(
            unit**2 * variance / count
            for unit, variance, count in zip(self.units, self.noise_variances, reports, strict=True)
        )

    def noise_energy(self, n: float, level: int, cell_law: np.ndarray | None = None) -> float:
        """Return E int (f_hat - E f_hat)^2 over [0, 1], the variance of the projection estimate on V_level from n reports.

        Levels are orthogonal, so that blocks add: sum_b E[1/n_b] tr(G_b^{-1} C_b), C_b the variance of one report's
        features in units of <f, psi_k>: the noise, diagonal, and with `cell_law` (inputs,), the probabilities of the input
        cells, the spread of the clients' own features too.  Where a client sends one block, n_b is binomial and
        E[1/n_b] = (1 + (1 - pi_b) / (n pi_b)) / (n pi_b) to second order.
        """
        total = 0.0
        for block in range(level - self.basis.coarsest_level + 1):
            energy = self._block_energy(block, cell_law)
            if self.block_law is None:
                total += energy / n
            else:
                expected = n * float(self.block_law[block])
                total += energy / expected * (1 + (1 - float(self.block_law[block])) / expected)
        return total

    def _block_energy(self, block: int, cell_law: np.ndarray | None) -> float:
        inverse, units = np.linalg.inv(self.basis.gram(block)), self.units[block]
        energy = float(np.sum(np.diagonal(inverse) * units**2) * self.noise_variances[block])
        if cell_law is not None:
            features = self.tables[block] * units
            features = features - cell_law @ features
            energy += float(np.sum((features @ inverse) * features * cell_law[:, None]))
        return energy


ObservationModel = FiniteChannel | NoisyFeatures
