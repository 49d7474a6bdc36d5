"""Functions on [0, 1] in nested spaces V_j, with an explicit dual.

A basis of V_{J+1} is made of blocks: block 0 spans V_{j0}, block b = 1..J-j0+1 spans W_{j0+b-1}, the orthogonal complement
of V_{j0+b-1} in V_{j0+b}.  So V_j is spanned by blocks 0..j-j0.  Every V_j also has its B-spline basis, in which
estimates are kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np


class Basis(ABC):
    """Blocks of functions spanning V_{j0} + W_{j0} + ... + W_J = V_{J+1}, V_j splines of `degree` on dyadic knots 2^-j.

    coarsest_level is j0, finest_level is J; blocks = J - j0 + 2.
    """

    degree: int
    coarsest_level: int
    finest_level: int

    @property
    def blocks(self) -> int:
        """B = J - j0 + 2."""
        return self.finest_level - self.coarsest_level + 2

    @abstractmethod
    def size(self, block: int) -> int:
        """Return how many functions the block holds."""

    @abstractmethod
    def evaluate(self, x: np.ndarray, block: int, order: int = 0) -> np.ndarray:
        """Return the `order`-th derivatives of the block's functions at x in [0, 1], shape (n, size(block))."""

    @abstractmethod
    def gram(self, block: int) -> np.ndarray:
        """Return the inner products of the block's functions, shape (size, size)."""

    @abstractmethod
    def synthesis(self, block: int, level: int) -> np.ndarray:
        """Return D, shape (2^level + degree, size(block)): B-spline coefficients in V_level of the *dual* functions.

        If z are the inner products <f, psi_k> of a function with the block's functions, D @ z are the coefficients, in the
        B-splines of V_level (knots 2^-level, partition of unity), of f's L2 projection on the block's space.
        """
