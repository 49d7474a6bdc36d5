"""Clamped B-splines on the dyadic knots 2^-level of [0, 1]: values, derivatives, Gram matrices, refinement.

V_level holds the splines of `degree` d on the knots k 2^-level, both ends repeated d + 1 times: 2^level + d functions
N_k >= 0 that sum to one.  Everything is derived from one exact object, the polynomials of the functions on each cell, in
fractions; away from the ends they repeat, so that a template of eight cells serves every level.

Source: [DeBoor2001], chapter IX; refinement by the Oslo recursion of [Cohen1980].
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpcore.errors import check_within

LARGEST_DEGREE = 3
_TEMPLATE = 8  # cells of the template: its left d, middle and right d cells are all the different ones there are

Polynomial = tuple[Fraction, ...]  # coefficients of t^0, t^1, ... with t in [0, 1] across one cell


def size(degree: int, level: int) -> int:
    """Return dim V_level = 2^level + degree."""
    return (1 << level) + degree


def knots(degree: int, level: int) -> np.ndarray:
    """Return the clamped knots of V_level, shape (2^level + 2 degree + 1,)."""
    return np.pad(np.arange((1 << level) + 1) / (1 << level), degree, mode="edge")


def evaluate(x: np.ndarray, degree: int, level: int, order: int = 0) -> np.ndarray:
    """Return the `order`-th derivatives of the B-splines of V_level at x, shape (n, 2^level + degree).

    x: (n,) in [0, 1]; at a knot the value from the right, at 1 from the left.  Orders above the degree give zeros.

    Raises SchemeError for x outside [0, 1] or a degree outside 0..3.

    >>> evaluate(np.array([0.25]), degree=1, level=1)
    array([[0.5, 0.5, 0. ]])
    """
    x = np.asarray(x, dtype=float).ravel()
    _check(degree, level)
    if x.size:
        check_within(0, 1, smallest_x=float(np.min(x)), largest_x=float(np.max(x)))
    cells = 1 << level
    cell = np.minimum((x * cells).astype(np.int64), cells - 1)
    t = x * cells - cell
    polynomials = _polynomials(degree, level)[cell]  # (n, local function, power)
    for _ in range(order):
        polynomials = polynomials[:, :, 1:] * (cells * np.arange(1, polynomials.shape[2]))
    local = np.zeros((len(x), degree + 1))
    for power in range(polynomials.shape[2] - 1, -1, -1):
        local = local * t[:, None] + polynomials[:, :, power]
    values = np.zeros((len(x), size(degree, level)))
    values[np.arange(len(x))[:, None], cell[:, None] + np.arange(degree + 1)] = local
    return values


@lru_cache(maxsize=128)
def gram(degree: int, level: int) -> np.ndarray:
    """Return the inner products of the B-splines of V_level, shape (K, K), K = 2^level + degree; read-only."""
    _check(degree, level)
    cells = 1 << level
    hilbert = 1.0 / (np.arange(degree + 1)[:, None] + np.arange(degree + 1) + 1)  # int t^i t^j over a cell
    polynomials = _polynomials(degree, level)
    blocks = polynomials @ hilbert @ polynomials.transpose(0, 2, 1) / cells
    index = np.arange(cells)[:, None] + np.arange(degree + 1)
    matrix = np.zeros((size(degree, level),) * 2)
    np.add.at(matrix, (index[:, :, None], index[:, None, :]), blocks)
    matrix.flags.writeable = False
    return matrix


@lru_cache(maxsize=128)
def integrals(degree: int, level: int) -> np.ndarray:
    """Return the integrals of the B-splines of V_level over [0, 1], shape (K,): support / (degree + 1); read-only."""
    _check(degree, level)
    t = knots(degree, level)
    values: np.ndarray = (t[degree + 1 :] - t[: -degree - 1]) / (degree + 1)
    values.flags.writeable = False
    return values


@lru_cache(maxsize=128)
def refinement(degree: int, level: int) -> np.ndarray:
    """Return R, shape (2^(level+1) + degree, 2^level + degree), with N_k of V_level = sum_q R[q, k] N_q of V_{level+1}.

    Coefficients c in V_level become R @ c.  Exact fractions, rounded once; read-only.
    """
    _check(degree, level)
    cells = 1 << level
    template = _as_floats(exact_refinement(degree, min(cells, _TEMPLATE)))
    if cells <= _TEMPLATE:
        matrix = template
    else:
        matrix = np.zeros((2 * cells + degree, cells + degree))
        for k in range(cells + degree):
            source = k if k < degree else degree if k < cells else k - cells + _TEMPLATE
            rows = np.flatnonzero(template[:, source])
            matrix[rows + 2 * (k - source), k] = template[rows, source]
    matrix.flags.writeable = False
    return matrix


@lru_cache(maxsize=64)
def periodic(degree: int, level: int) -> np.ndarray:
    """Return C, shape (2^level + degree, 2^level): periodic splines in the B-splines of V_level; read-only.

    Column k is N(2^level x - k), N the B-spline of the knots 0, 1, ..., degree + 1, wrapped round [0, 1].
    Knot insertion at both ends; exact fractions, rounded once.
    """
    _check(degree, level)
    cells = 1 << level
    few = min(cells, _TEMPLATE)
    outside = [Fraction(k) for k in range(-degree, few + degree + 1)]  # simple knots, the ends among them
    clamped = sorted(outside + [Fraction(end) for end in (0, few)] * degree)
    matrix = np.zeros((cells + degree, cells))
    for row in range(degree, cells):  # away from the ends the functions are the same
        matrix[row, row - degree] = 1
    for q in [*range(min(degree, few)), *range(few, few + degree)]:
        row = q if q < degree else q - few + cells
        for shift, value in enumerate(_oslo_row(outside, clamped, q + degree, degree)):
            if value:
                k = shift - degree if q < degree else shift - degree - few + cells
                matrix[row, k % cells] += float(value)
    matrix.flags.writeable = False
    return matrix


@lru_cache(maxsize=64)
def exact_polynomials(degree: int, cells: int) -> tuple[tuple[Polynomial, ...], ...]:
    """Return, for each cell c of width one, the polynomials of its degree + 1 functions c..c + degree on [0, cells]."""
    t = [min(max(i - degree, 0), cells) for i in range(cells + 2 * degree + 1)]
    return tuple(
        tuple(_on_cell(tuple(t), index, degree, c) for index in range(c, c + degree + 1)) for c in range(cells)
    )


@lru_cache(maxsize=64)
def exact_gram(degree: int, cells: int) -> list[list[Fraction]]:
    """Return the inner products of the B-splines on [0, cells] with unit cells, in fractions."""
    count = cells + degree
    matrix = [[Fraction(0)] * count for _ in range(count)]
    for c, functions in enumerate(exact_polynomials(degree, cells)):
        for i, left in enumerate(functions):
            for k, right in enumerate(functions):
                matrix[c + i][c + k] += sum(
                    (a * b / (p + q + 1) for p, a in enumerate(left) for q, b in enumerate(right)), Fraction(0)
                )
    return matrix


@lru_cache(maxsize=64)
def exact_refinement(degree: int, cells: int) -> list[list[Fraction]]:
    """Return R, rows the B-splines on half-width cells, columns those on the `cells` unit cells, in fractions."""
    coarse = [Fraction(min(max(i - degree, 0), cells)) for i in range(cells + 2 * degree + 1)]
    fine = [Fraction(min(max(i - degree, 0), 2 * cells), 2) for i in range(2 * cells + 2 * degree + 1)]
    return [_oslo_row(coarse, fine, q, degree) for q in range(2 * cells + degree)]


def _check(degree: int, level: int) -> None:
    check_within(0, LARGEST_DEGREE, degree=degree)
    check_within(0, 16, level=level)


def _as_floats(matrix: list[list[Fraction]]) -> np.ndarray:
    return np.array([[float(entry) for entry in row] for row in matrix])


@lru_cache(maxsize=128)
def _polynomials(degree: int, level: int) -> np.ndarray:
    """Coefficients, shape (2^level cells, degree + 1 functions, degree + 1 powers)."""
    cells = 1 << level
    exact = exact_polynomials(degree, min(cells, _TEMPLATE))
    template = np.array([[[float(a) for a in function] for function in cell] for cell in exact])
    if cells <= _TEMPLATE:
        return template
    source = np.full(cells, degree)
    source[:degree] = np.arange(degree)
    source[cells - degree :] = np.arange(_TEMPLATE - degree, _TEMPLATE)
    return np.asarray(template[source])


@lru_cache(maxsize=4096)
def _on_cell(t: tuple[int, ...], i: int, degree: int, cell: int) -> Polynomial:
    """The i-th B-spline on knots t restricted to [cell, cell + 1], by the Cox-de Boor recursion on polynomials."""
    if degree == 0:
        return (Fraction(int(t[i] == cell and t[i + 1] == cell + 1)),)
    total = [Fraction(0)] * (degree + 1)
    for index, start, sign in ((i, t[i], 1), (i + 1, t[i + degree + 1], -1)):
        width = t[index + degree] - t[index]
        if width:
            lower = _on_cell(t, index, degree - 1, cell)
            for power, a in enumerate(lower):  # sign * (cell + u - start) / width * lower(u)
                total[power] += sign * (cell - start) * a / width
                total[power + 1] += sign * a / width
    return tuple(total)


def _oslo_row(coarse: list[Fraction], fine: list[Fraction], q: int, degree: int) -> list[Fraction]:
    """Row q of the refinement matrix: discrete B-splines alpha_{i,d}(q) by their recursion in the degree."""
    row = [Fraction(int(coarse[i] <= fine[q] < coarse[i + 1])) for i in range(len(coarse) - 1)]
    for k in range(1, degree + 1):
        row = [
            _ratio(fine[q + k] - coarse[i], coarse[i + k] - coarse[i]) * row[i]
            + _ratio(coarse[i + k + 1] - fine[q + k], coarse[i + k + 1] - coarse[i + 1]) * row[i + 1]
            for i in range(len(row) - 1)
        ]
    return row


def _ratio(above: Fraction, below: Fraction) -> Fraction:
    return above / below if below else Fraction(0)
