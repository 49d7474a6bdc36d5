"""Semi-orthogonal spline wavelets on [0, 1] with boundary functions, from exact null vectors.

W_j is the orthogonal complement of V_j in V_{j+1}.  With m = degree + 1 it has 2^j functions:

- 2^j - 2m + 2 interior wavelets, translates of one function on 2m - 1 cells: the null vector of the inner products of
  the 3m - 1 fine B-splines inside those cells with all coarse B-splines.
- m - 1 boundary wavelets at the left end, on the windows [0, L] of L = m, ..., 2m - 2 cells.  Each window adds one null
  dimension; the new function is the one that is orthogonal to the earlier boundary functions.
- their mirror images at the right end.

Degree 0 is Haar.  Everything is computed in fractions on unit cells; a square root appears only in the norm.
The interior function is that of [ChuiWang1992]; the spaces on the interval are those of [ChuiQuak1992], whose boundary
functions span the same spaces by other vectors.  Coefficients as in [Szabo2024]: unit norm,
psi_jk = 2^{j/2} psi(2^j x - k), and in block 0 the B-splines times 2^{j0/2}.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpcore.errors import CalibrationError, check_within
from dpcore.mechanisms.bases import bspline
from dpcore.mechanisms.bases.base import OrthogonalBasis

LARGEST_LEVEL = 10


def smallest_coarsest_level(degree: int) -> int:
    """Return the least j0 at which every wavelet fits: max(1, ceil(log2(2m - 1))) = 1, 2, 3, 3 for degree 0..3."""
    return max(1, (2 * degree).bit_length())


@dataclass(frozen=True)
class Stencil:
    """One wavelet on unit cells: integer coefficients of consecutive B-splines on half cells, from index `first`.

    square_norm is the exact integral of the square of that integer combination.
    """

    first: int
    coefficients: tuple[int, ...]
    square_norm: Fraction

    @property
    def unit_coefficients(self) -> np.ndarray:
        """The coefficients of the function divided by its norm, as floats."""
        return np.array(self.coefficients, dtype=float) / math.sqrt(self.square_norm)


@lru_cache(maxsize=8)
def stencils(degree: int) -> tuple[tuple[Stencil, ...], Stencil]:
    """Return the degree left boundary wavelets, by growing support, and the interior wavelet at shift 0.

    The interior stencil counts B-splines from the one whose support starts at 0 with simple knots (index `degree`).
    Signs: the first non-zero coefficient is positive; each vector is a primitive integer vector.
    """
    check_within(0, bspline.LARGEST_DEGREE, degree=degree)
    order = degree + 1
    cells = 4 * order  # wide enough that no window reaches the right end
    fine = _halved(bspline.exact_gram(degree, 2 * cells))
    refine = bspline.exact_refinement(degree, cells)

    def orthogonal_to(first: int, last: int, extra: list[list[Fraction]]) -> list[list[Fraction]]:
        """Fine vectors on first..last orthogonal to every coarse B-spline and to the vectors `extra`."""
        against = [[row[k] for row in refine] for k in range(cells + degree)] + extra
        columns = [[_dot(vector, fine[q]) for vector in against] for q in range(first, last + 1)]
        return null_space([list(row) for row in zip(*columns, strict=True)])

    def stencil(first: int, last: int, extra: list[list[Fraction]]) -> tuple[Stencil, list[Fraction]]:
        (vector,) = orthogonal_to(first, last, extra)
        integers = _primitive(vector)
        full = [Fraction(0)] * first + [Fraction(c) for c in integers]
        full += [Fraction(0)] * (2 * cells + degree - len(full))
        return Stencil(first, integers, _dot(full, [_dot(row, full) for row in fine])), full

    boundary: list[Stencil] = []
    vectors: list[list[Fraction]] = []
    for window in range(order, 2 * order - 1):
        wavelet, full = stencil(0, 2 * window - 1, vectors)
        boundary.append(wavelet)
        vectors.append(full)
    interior, _ = stencil(degree, degree + 3 * order - 2, [])
    return tuple(boundary), interior


@dataclass(frozen=True)
class SplineWavelet(OrthogonalBasis):
    """The wavelet basis of V_{finest_level + 1}: B-splines of V_{coarsest_level}, then W_{coarsest_level}..W_{finest_level}.

    degree: 0..3.  coarsest_level: at least 1, 2, 3, 3 for degree 0..3.  finest_level: coarsest_level..10.

    Raises CalibrationError for a coarsest level at which the wavelets do not fit, SchemeError for other ranges.

    >>> basis = SplineWavelet(degree=1, coarsest_level=2, finest_level=4)
    >>> basis.blocks, [basis.size(block) for block in range(basis.blocks)]
    (4, [5, 4, 8, 16])
    """

    degree: int
    coarsest_level: int
    finest_level: int

    def __post_init__(self) -> None:
        check_within(0, bspline.LARGEST_DEGREE, degree=self.degree)
        least = smallest_coarsest_level(self.degree)
        if self.coarsest_level < least:
            raise CalibrationError(
                f"coarsest_level must be at least {least} for splines of degree {self.degree}, got "
                f"{self.coarsest_level}; the wavelets do not fit on fewer than {2 * self.degree + 1} cells"
            )
        check_within(self.coarsest_level, LARGEST_LEVEL, finest_level=self.finest_level)

    def size(self, block: int) -> int:
        return bspline.size(self.degree, self.coarsest_level) if block == 0 else 1 << self.level(block)

    def refine(self, block: int) -> np.ndarray:
        self._check_block(block)
        return _refine(self.degree, self.coarsest_level, block)

    def evaluate(self, x: np.ndarray, block: int, order: int = 0) -> np.ndarray:
        space = self.coarsest_level + block
        return np.asarray(bspline.evaluate(x, self.degree, space, order) @ self.refine(block))

    def gram(self, block: int) -> np.ndarray:
        self._check_block(block)
        return _gram(self.degree, self.coarsest_level, block)

    def synthesis(self, block: int, level: int) -> np.ndarray:
        self._check_block(block)
        check_within(self.coarsest_level + block, LARGEST_LEVEL + 1, level=level)
        return _synthesis(self.degree, self.coarsest_level, block, level)

    def dual_squares(self, block: int) -> np.ndarray:
        return np.diagonal(np.linalg.inv(self.gram(block)))

    @property
    def boundary(self) -> int:
        return self.degree

    @property
    def orthogonal(self) -> SplineWavelet:
        return self


@lru_cache(maxsize=64)
def _refine(degree: int, coarsest_level: int, block: int) -> np.ndarray:
    if block == 0:
        matrix = np.eye(bspline.size(degree, coarsest_level)) * 2 ** (coarsest_level / 2)
    else:
        level = coarsest_level + block - 1
        boundary, interior = stencils(degree)
        matrix = np.zeros((bspline.size(degree, level + 1), 1 << level))
        for column, stencil in enumerate(boundary):
            values = stencil.unit_coefficients
            matrix[stencil.first : stencil.first + len(values), column] = values
            matrix[::-1, -1 - column] = matrix[:, column]
        values = interior.unit_coefficients
        for shift in range((1 << level) - 2 * degree):
            first = interior.first + 2 * shift
            matrix[first : first + len(values), degree + shift] = values
        matrix *= 2 ** (level / 2)
    matrix.flags.writeable = False
    return matrix


@lru_cache(maxsize=64)
def _gram(degree: int, coarsest_level: int, block: int) -> np.ndarray:
    refine = _refine(degree, coarsest_level, block)
    product = refine.T @ bspline.gram(degree, coarsest_level + block) @ refine
    matrix = np.where(np.abs(product) > 1e-14, (product + product.T) / 2, 0.0)  # exact zeros keep the band narrow
    matrix.flags.writeable = False
    return matrix


@lru_cache(maxsize=256)
def _synthesis(degree: int, coarsest_level: int, block: int, level: int) -> np.ndarray:
    from dpcore.mechanisms.bases.dual import synthesis  # scipy only where it is needed: clients evaluate no dual

    if level > coarsest_level + block:
        matrix = bspline.refinement(degree, level - 1) @ _synthesis(degree, coarsest_level, block, level - 1)
    else:
        matrix = synthesis(_refine(degree, coarsest_level, block), _gram(degree, coarsest_level, block))
    matrix.flags.writeable = False
    return matrix


def _halved(gram: list[list[Fraction]]) -> list[list[Fraction]]:
    """The Gram matrix on cells of half the width."""
    return [[entry / 2 for entry in row] for row in gram]


def _dot(left: list[Fraction], right: list[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True) if a and b), Fraction(0))


def _primitive(vector: list[Fraction]) -> tuple[int, ...]:
    """The integer vector on the same ray without common divisor, its first non-zero entry positive."""
    scale = math.lcm(*(entry.denominator for entry in vector))
    integers = [int(entry * scale) for entry in vector]
    divisor = math.gcd(*integers)
    if next(entry for entry in integers if entry) < 0:
        divisor = -divisor
    return tuple(entry // divisor for entry in integers)


def null_space(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    """Return a basis of {v : matrix v = 0}, exactly, by Gauss-Jordan elimination."""
    rows, width = [row for row in matrix if any(row)], len(matrix[0])
    pivots: list[int] = []
    for column in range(width):
        at = next((r for r in range(len(pivots), len(rows)) if rows[r][column]), None)
        if at is None:
            continue
        done = len(pivots)
        rows[done], rows[at] = rows[at], rows[done]
        rows[done] = [entry / rows[done][column] for entry in rows[done]]
        for r in range(len(rows)):
            if r != done and rows[r][column]:
                factor = rows[r][column]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[done], strict=True)]
        pivots.append(column)
    basis = []
    for free in (column for column in range(width) if column not in pivots):
        vector = [Fraction(int(column == free)) for column in range(width)]
        for r, column in enumerate(pivots):
            vector[column] = -rows[r][free]
        basis.append(vector)
    return basis
