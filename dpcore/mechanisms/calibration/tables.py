"""Integer coefficient tables: what a client in each input cell sends before the noise, the same on every machine.

Entry (cell, k) of block b is rint(2^16 * s_k / 256 * (mean of phi_k over the cell)): phi_k is the dimensionless unit-norm
wavelet psi(2^j x - k), without its factor 2^{j/2}, or the B-spline N_k in block 0, and s_k in 1..256 is the boundary scale
(256 for every function that is not a boundary wavelet).  Of a filter bank, phi_k are the decomposition functions, whose norm
refinement fixes; it is not one.  Means over cells, not values at centres: a uniform density then has wavelet coefficients of
exactly zero up to the rounding.

Rules.  (1) Fractions, integers and math.isqrt only: no float can differ between machines.  (2) One wavelet of each shape
is computed per level; the others are its translates and mirror images.  (3) The SHA-256 of the tables is in the scheme.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, islice, pairwise, repeat
from typing import Any

import numpy as np

from dpcore.errors import SchemeError, check_positive, check_within
from dpcore.mechanisms.bases import Basis, FilterBank, bspline
from dpcore.mechanisms.bases.registry import DEFAULT_DEGREE
from dpcore.mechanisms.bases.spline_wavelet import Stencil, smallest_coarsest_level, stencils

LATTICE = 1 << 16  # lattice units in a dimensionless one: the rounding is below 2^-17 of a unit-norm function
SCALE_ONE = 256  # boundary scales are multiples of 1/256
_FINEST_DEFAULT = 9
_FINER_CELLS = 4  # input cells are at least 2^4 times finer than the coarse cells of the finest level

Scales = tuple[tuple[int, ...], ...]  # per wavelet level, the scales of the left boundary functions


def default_cells(finest_level: int) -> int:
    """Return how many input cells a client quantises to by default: 2^max(12, finest_level + 4)."""
    return 1 << max(12, finest_level + _FINER_CELLS)


def default_finest_level(n: int, epsilon: float, degree: int = DEFAULT_DEGREE) -> int:
    """Return J with 2^J about min((n epsilon^2)^{1/4}, n^{1/3}), from the smallest coarsest level to 9.

    The largest level any rule needs, whatever the smoothness above one; n is the planned number of clients.
    """
    check_positive(clients=n, epsilon=epsilon)
    exponent = min(math.log2(n * epsilon**2) / 4, math.log2(n) / 3)
    return min(max(round(exponent), smallest_coarsest_level(degree)), _FINEST_DEFAULT)


def unscaled(basis: Basis) -> Scales:
    """Return scales of one for every wavelet level."""
    return ((SCALE_ONE,) * basis.boundary,) * (basis.blocks - 1)


def column_scales(basis: Basis, scales: Scales, block: int) -> np.ndarray:
    """Return s_k of every function of the block, shape (K,), integers out of 256, mirror symmetric."""
    columns = np.full(basis.size(block), SCALE_ONE, dtype=np.int64)
    if block and basis.boundary:
        columns[: basis.boundary] = scales[block - 1]
        columns[-basis.boundary :] = scales[block - 1][::-1]
    return columns


@lru_cache(maxsize=8)
def integer_tables(basis: Basis, cells: int, scales: Scales) -> tuple[np.ndarray, ...]:
    """Return per block the integers of each input cell, shapes (cells, K_b), int64, read-only.

    cells: a power of two, at least 2^(finest_level + 4), at most 2^16.
    scales: `basis.blocks - 1` tuples of `basis.boundary` integers in 1..256.

    Raises SchemeError where cells or scales are not of that form.
    """
    _check(basis, cells, scales)
    if isinstance(basis, FilterBank):
        tables = [_wrapped_table(basis, cells, block) for block in range(basis.blocks)]
    else:
        tables = [_spline_table(basis, cells)]
        tables += [_wavelet_table(basis, cells, block, scales[block - 1]) for block in range(1, basis.blocks)]
    for table in tables:
        table.flags.writeable = False
    return tuple(tables)


def tables_digest(tables: tuple[np.ndarray, ...]) -> str:
    """Return the SHA-256 of the tables: their shapes and little-endian 64-bit integers, block after block, in hex."""
    digest = hashlib.sha256()
    for table in tables:
        digest.update(np.array(table.shape, dtype="<i8").tobytes())
        digest.update(np.ascontiguousarray(table, dtype="<i8").tobytes())
    return digest.hexdigest()


@lru_cache(maxsize=64)
def digest_of(basis: Basis, cells: int, scales: Scales) -> str:
    """Return the SHA-256 of the tables that `integer_tables` returns."""
    return tables_digest(integer_tables(basis, cells, scales))


@lru_cache(maxsize=8)
def sparse_tables(basis: Basis, cells: int, scales: Scales) -> tuple[Any, ...]:
    """Return the tables transposed, sparse: a simulated sum costs what the supports cost."""
    from scipy.sparse import csr_array  # simulation only: clients need numpy alone

    return tuple(csr_array(table.T) for table in integer_tables(basis, cells, scales))


@lru_cache(maxsize=8)
def largest_wavelet_value(degree: int) -> Fraction:
    """Return sup |psi| over all wavelets of the degree, boundary included, in lattice units rounded up, over 2^16.

    Looked for at 64 points of each polynomial piece, its ends included, where boundary wavelets have their largest value.
    """
    boundary, interior = stencils(degree)
    largest = 0
    for stencil, is_boundary in [(s, True) for s in boundary] + [(interior, False)]:
        for numerators, denominator in _point_values(stencil, degree, is_boundary, 64):
            largest = max(largest, *(abs(_rounded(a, denominator, SCALE_ONE, stencil)) for a in numerators))
    return Fraction(largest + 1, LATTICE)


def _check(basis: Basis, cells: int, scales: Scales) -> None:
    check_within(1 << (basis.finest_level + _FINER_CELLS), 1 << 16, cells=cells)
    if cells & (cells - 1):
        raise SchemeError(f"cells must be a power of two, got {cells}")
    if len(scales) != basis.blocks - 1 or any(len(level) != basis.boundary for level in scales):
        raise SchemeError(
            f"boundary scales must be {basis.blocks - 1} tuples of {basis.boundary} integers, one tuple per wavelet level; "
            f"got {[len(level) for level in scales]}"
        )
    for level in scales:
        for scale in level:
            check_within(1, SCALE_ONE, boundary_scale=scale)


def _wrapped_table(basis: FilterBank, cells: int, block: int) -> np.ndarray:
    """One function's means rounded, and its translates round the circle."""
    numerators, denominator = basis.means(block, cells)
    size = basis.size(block)
    column = ((2 * LATTICE * numerators + denominator) // (2 * denominator)).astype(np.int64)
    return np.asarray(column[(np.arange(cells)[:, None] - np.arange(size) * (cells // size)) % cells])


def _spline_table(basis: Basis, cells: int) -> np.ndarray:
    degree, coarse = basis.degree, 1 << basis.coarsest_level
    pieces = cells // coarse
    table = np.zeros((cells, coarse + degree), dtype=np.int64)
    for c, functions in enumerate(bspline.exact_polynomials(degree, coarse)):
        for local, polynomial in enumerate(functions):
            numerators, denominator = _cell_means(polynomial, pieces)
            rounded = [(2 * LATTICE * a + denominator) // (2 * denominator) for a in numerators]
            table[c * pieces : (c + 1) * pieces, c + local] = rounded
    return table


def _wavelet_table(basis: Basis, cells: int, block: int, scales: tuple[int, ...]) -> np.ndarray:
    degree, functions = basis.degree, basis.size(block)
    coarse_width = cells // functions
    boundary, interior = stencils(degree)
    table = np.zeros((cells, functions), dtype=np.int64)
    for column, (stencil, scale) in enumerate(zip(boundary, scales, strict=True)):
        values = _stencil_integers(stencil, degree, True, coarse_width // 2, scale)
        table[: len(values), column] = values
        table[:, functions - 1 - column] = table[::-1, column]
    values = _stencil_integers(interior, degree, False, coarse_width // 2, SCALE_ONE)
    for shift in range(functions - 2 * degree):
        table[shift * coarse_width : shift * coarse_width + len(values), degree + shift] = values
    return table


@lru_cache(maxsize=32)
def _stencil_integers(stencil: Stencil, degree: int, is_boundary: bool, pieces: int, scale: int) -> np.ndarray:
    """rint(2^16 s/256 psi) over the stencil's support, `pieces` input cells to a half cell; not to be written to."""
    values: list[int] = []
    for polynomial in _half_cell_polynomials(stencil, degree, is_boundary):
        numerators, denominator = _cell_means(polynomial, pieces)
        values += [_rounded(a, denominator, scale, stencil) for a in numerators]
    integers = np.array(values, dtype=np.int64)
    integers.flags.writeable = False
    return integers


def _half_cell_polynomials(stencil: Stencil, degree: int, is_boundary: bool) -> list[list[Fraction]]:
    """The integer combination on each half cell of its support, coefficients in t in [0, 1] across the half cell."""
    coefficients = stencil.coefficients
    count = len(coefficients) + (0 if is_boundary else degree)
    # Away from the ends cell `degree` of the exact table shows the simple knots that an interior wavelet sees.
    exact = bspline.exact_polynomials(degree, 2 * degree + 2)
    polynomials = []
    for c in range(count):
        source = exact[min(c, degree)] if is_boundary else exact[degree]
        offset = c if is_boundary else c - degree
        total = [Fraction(0)] * (degree + 1)
        for local, function in enumerate(source):
            if 0 <= offset + local < len(coefficients):
                for power, a in enumerate(function):
                    total[power] += coefficients[offset + local] * a
        polynomials.append(total)
    return polynomials


def _cell_means(polynomial: list[Fraction] | tuple[Fraction, ...], pieces: int) -> tuple[list[int], int]:
    """Means of the polynomial over the `pieces` equal parts of [0, 1], as integer numerators over one denominator."""
    top = len(polynomial)
    # mean of t^p over [s/S, (s+1)/S] = ((s+1)^{p+1} - s^{p+1}) / ((p+1) S^p)
    weights = [a / ((p + 1) * pieces**p) for p, a in enumerate(polynomial)]
    denominator = math.lcm(*(w.denominator for w in weights))
    integers = [int(w * denominator) for w in weights]

    def mean(s: int) -> int:
        return sum(integers[p] * ((s + 1) ** (p + 1) - s ** (p + 1)) for p in range(top))

    # Means are a polynomial in s of degree top - 1: its first values, and sums of their differences for the rest.
    values = [mean(s) for s in range(min(top, pieces))]
    differences = []
    while values:
        differences.append(values[0])
        values = [b - a for a, b in pairwise(values)]
    means: Iterable[int] = repeat(differences.pop(), pieces)
    while differences:
        means = accumulate(islice(means, pieces - 1), initial=differences.pop())
    return list(means), denominator


def _point_values(stencil: Stencil, degree: int, is_boundary: bool, pieces: int) -> list[tuple[list[int], int]]:
    values = []
    for polynomial in _half_cell_polynomials(stencil, degree, is_boundary):
        weights = [a / pieces**p for p, a in enumerate(polynomial)]
        denominator = math.lcm(*(w.denominator for w in weights))
        integers = [int(w * denominator) for w in weights]
        values.append(([sum(a * s**p for p, a in enumerate(integers)) for s in range(pieces + 1)], denominator))
    return values


def _rounded(numerator: int, denominator: int, scale: int, stencil: Stencil) -> int:
    """rint(2^16 * scale/256 * (numerator/denominator) / sqrt(square_norm)), half away from zero, by integers alone.

    With y = sqrt(X) the nearest integer is floor((floor(2 y) + 1) / 2), and floor(2 y) = isqrt(floor(4 X)).
    """
    norm = stencil.square_norm
    top = 4 * (LATTICE // SCALE_ONE * scale * numerator) ** 2 * norm.denominator
    size = (math.isqrt(top // (denominator**2 * norm.numerator)) + 1) // 2
    return size if numerator >= 0 else -size
