"""The explicit dual of a block: banded solves, never truncated functions; and the way from any basis to orthogonal levels.

Semi-orthogonal wavelets are orthogonal between levels but not inside one, so that the coefficients of a projection are
G^{-1} z, z the inner products and G the block's Gram matrix.  The dual functions G^{-1} psi have no compact support: they
are kept as B-spline coefficients, D = R G^{-1}, R the coefficients of the functions themselves.

Where levels are not orthogonal, partial sums over levels are oblique projections: they depend on the basis and, wrapped
round the interval, pay for every jump between its ends at every level.  All blocks together say one spline F in V_{J+1}, the
same whatever one wants to know.  `to_orthogonal` takes their inner products to those of F with semi-orthogonal wavelets, from
which every level's L2 projection of F follows.  Where f is a spline in V_{J+1}, F is f and the projections are the spline
basis's; where f is smooth, they differ from them, away from the ends, by a multiple of 2^{-2 (degree + 1) (J + 1)}.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy

from dpcore.mechanisms.bases import bspline
from dpcore.mechanisms.bases.base import Basis


def synthesis(refine: np.ndarray, gram: np.ndarray) -> np.ndarray:
    """Return D = refine @ gram^{-1}, shape (L, K), by one banded Cholesky solve.

    refine: (L, K), columns the functions of a block in a B-spline basis.  gram: (K, K) symmetric, positive definite.
    """
    return np.asarray(scipy.linalg.solveh_banded(upper_band(gram), refine.T, check_finite=False).T)


def upper_band(gram: np.ndarray) -> np.ndarray:
    """Return the upper diagonals of a banded symmetric matrix in LAPACK's layout, shape (width + 1, K)."""
    rows, columns = np.nonzero(gram)
    width = int(np.max(columns - rows, initial=0))
    band = np.zeros((width + 1, len(gram)))
    for offset in range(width + 1):
        band[width - offset, offset:] = np.diagonal(gram, offset)
    return band


@lru_cache(maxsize=8)
def to_orthogonal(basis: Basis, blocks: int) -> np.ndarray | None:
    """Return T, shape (L, K): T @ z are the inner products of F with blocks 0..blocks - 1 of `basis.orthogonal`.

    z: (K,), the inner products of a function with blocks 0..blocks - 1 of `basis`; F is what their duals make of them.
    None means the identity: the levels of the basis are orthogonal.  Read-only.
    """
    orthogonal = basis.orthogonal
    if orthogonal is basis:
        return None
    level = basis.coarsest_level + blocks - 1
    duals = np.hstack([basis.synthesis(block, level) for block in range(blocks)])
    products = bspline.gram(basis.degree, level) @ duals
    rows = []
    for block in range(blocks - 1, -1, -1):  # <N_k of V_j, F> from those of V_{j+1}, level by level
        rows.append(orthogonal.refine(block).T @ products)
        if block:
            products = bspline.refinement(basis.degree, basis.coarsest_level + block - 1).T @ products
    matrix = np.concatenate(rows[::-1])
    matrix.flags.writeable = False
    return matrix
