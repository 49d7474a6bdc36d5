"""The explicit dual of a block: banded solves, never truncated functions.

Semi-orthogonal wavelets are orthogonal between levels but not inside one, so that the coefficients of a projection are
G^{-1} z, z the inner products and G the block's Gram matrix.  The dual functions G^{-1} psi have no compact support: they
are kept as B-spline coefficients, D = R G^{-1}, R the coefficients of the functions themselves.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solveh_banded


def synthesis(refine: np.ndarray, gram: np.ndarray) -> np.ndarray:
    """Return D = refine @ gram^{-1}, shape (L, K), by one banded Cholesky solve.

    refine: (L, K), columns the functions of a block in a B-spline basis.  gram: (K, K) symmetric, positive definite.
    """
    return np.asarray(solveh_banded(upper_band(gram), refine.T, check_finite=False).T)


def upper_band(gram: np.ndarray) -> np.ndarray:
    """Return the upper diagonals of a banded symmetric matrix in LAPACK's layout, shape (width + 1, K)."""
    rows, columns = np.nonzero(gram)
    width = int(np.max(columns - rows, initial=0))
    band = np.zeros((width + 1, len(gram)))
    for offset in range(width + 1):
        band[width - offset, offset:] = np.diagonal(gram, offset)
    return band
