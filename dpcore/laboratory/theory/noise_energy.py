"""What the noise of wavelet reports leaves in a density, as an expected integrated squared error."""

from __future__ import annotations

import numpy as np

from dpcore.mechanisms.bases import bspline
from dpcore.mechanisms.bases.dual import to_orthogonal
from dpcore.mechanisms.observation_model import NoisyFeatures


def noise_energy(model: NoisyFeatures, n: float, level: int, cell_law: np.ndarray | None = None) -> float:
    """Return E int (f_hat - E f_hat)^2 over [0, 1], the variance of the projection estimate on V_level from n reports.

    f_hat = sum_b P_b z_b, z_b block b's inner products and P_b from `_projections`.  What is summed is
    E[1/n_b] tr(P_b' G P_b C_b), G the B-splines' Gram matrix and C_b the variance of one report's features in units of
    <f, psi_k>: the noise, diagonal, and with `cell_law` (inputs,), the probabilities of the input cells, the spread of
    the clients' own features too, of all blocks at once where one client sends them all.  Where a client sends one
    block, n_b is binomial and E[1/n_b] = (1 + (1 - pi_b) / (n pi_b)) / (n pi_b) to second order.
    """
    root = np.linalg.cholesky(bspline.gram(model.basis.degree, level)).T
    maps = [root @ part * model.units[block] for block, part in enumerate(_projections(model, level))]
    energies = [variance * np.sum(part**2) for part, variance in zip(maps, model.noise_variances, strict=False)]
    if model.block_law is None:
        spread = 0.0
        if cell_law is not None:
            together = sum(table @ part.T for part, table in zip(maps, model.tables, strict=False))
            spread = _spread(np.asarray(together), cell_law)
        return float(sum(energies) + spread) / n
    total = 0.0
    for block, energy in enumerate(energies):
        if cell_law is not None:
            energy = energy + _spread(model.tables[block] @ maps[block].T, cell_law)
        expected = n * float(model.block_law[block])
        total += float(energy) / expected * (1 + (1 - float(model.block_law[block])) / expected)
    return total


def _projections(model: NoisyFeatures, level: int) -> list[np.ndarray]:
    """Per block P_b, shape (2^level + degree, K_b): the coefficients of the estimate in V_level are sum_b P_b z_b.

    Where levels are orthogonal, only the blocks up to V_level count.
    """
    orthogonal, used = model.basis.orthogonal, level - model.basis.coarsest_level + 1
    turn = to_orthogonal(model.basis, len(model.tables))
    parts = [orthogonal.synthesis(block, level) for block in range(used)]
    if turn is None:
        return parts
    matrix = np.hstack(parts)
    ends = np.cumsum([table.shape[1] for table in model.tables])
    return np.split(matrix @ turn[: matrix.shape[1]], ends[:-1], axis=1)


def _spread(features: np.ndarray, cell_law: np.ndarray) -> float:
    """The expected squared distance of a client's features, rows (inputs, k), from their mean."""
    return float(cell_law @ np.sum((features - cell_law @ features) ** 2, axis=1))
