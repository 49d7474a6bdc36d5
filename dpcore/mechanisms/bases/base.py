"""Functions on [0, 1] in nested spaces V_j, with an explicit dual.

A basis is two families, block by block: the functions that clients evaluate, and their duals, which the aggregator adds up.
If z are the inner products of f with the functions, sum_k z_k dual_k is f again for every f that the duals span.  The duals
of block 0 span V_{j0}, those of blocks 0..b a complement of V_{j0} in V_{j0+b}, all of them V_{J+1}, b = 0..J-j0+1.

Where levels are orthogonal, blocks 0..j-j0 alone say what the L2 projection on V_j is.  Where they are not, `orthogonal`
is the basis of the same splines in which estimates are kept and compared; `dual.to_orthogonal` leads there.
Every V_j also has its B-spline basis, in which coefficients are shown.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from dpcore.errors import check_within


class Basis(ABC):
    """Blocks of functions whose duals span V_{j0}, ..., V_{J+1}, V_j splines of `degree` on dyadic knots 2^-j.

    coarsest_level is j0, finest_level is J; blocks = J - j0 + 2.
    """

    degree: int
    coarsest_level: int
    finest_level: int

    @property
    def blocks(self) -> int:
        """B = J - j0 + 2."""
        return self.finest_level - self.coarsest_level + 2

    def level(self, block: int) -> int:
        """Return j of the block's functions 2^{j/2} psi(2^j x - k): j0 for blocks 0 and 1, then j0 + 1, ..."""
        self._check_block(block)
        return self.coarsest_level + max(block - 1, 0)

    @abstractmethod
    def size(self, block: int) -> int:
        """Return the number of functions in the block."""

    @abstractmethod
    def evaluate(self, x: np.ndarray, block: int, order: int = 0) -> np.ndarray:
        """Return the `order`-th derivatives of the block's functions at x in [0, 1], shape (n, size(block))."""

    @abstractmethod
    def synthesis(self, block: int, level: int) -> np.ndarray:
        """Return D, shape (2^level + degree, size(block)): B-spline coefficients in V_level of the *dual* functions.

        If z are the inner products <f, psi_k> of a function with the block's functions, D @ z are the coefficients, in the
        B-splines of V_level (knots 2^-level, partition of unity), of what the block contributes to f.

        level: at least coarsest_level + block, where the duals are.
        """

    @abstractmethod
    def dual_squares(self, block: int) -> np.ndarray:
        """Return the integrals of the squares of the dual functions, shape (size(block),)."""

    @property
    @abstractmethod
    def boundary(self) -> int:
        """How many functions at each end of a wavelet block differ from the others, and may be sent scaled down."""

    @property
    @abstractmethod
    def orthogonal(self) -> OrthogonalBasis:
        """The basis of the same splines whose levels are orthogonal; itself where its own are."""

    def _check_block(self, block: int) -> None:
        check_within(0, self.blocks - 1, block=block)


class OrthogonalBasis(Basis):
    """A basis with orthogonal levels: its first blocks determine an L2 projection."""

    @abstractmethod
    def refine(self, block: int) -> np.ndarray:
        """Return the block's functions in B-splines, shape (L, K): of V_j0 for block 0, of V_{j+1} for wavelets of W_j."""

    @abstractmethod
    def gram(self, block: int) -> np.ndarray:
        """Return the inner products of the block's functions, shape (size, size)."""
