"""The exact largest loss of additive noise, over every pair of input cells of the integer tables, and Gaussian noise's epsilon.

This is a second, exhaustive way to the result that `calibration.sensitivity` finds by branch and bound.  Cells are arranged on
a circle, and pairs are visited by their distance on it.  If a pair is farther apart than the support of any function of a
block, its two rows have disjoint supports and their distance is the sum of their norms, which is cheap to evaluate.  The
supports are read from the tables.

The epsilon of Gaussian noise at a delta is computed from its concentration independently of `privacy.concentrated`.  Noise with
Renyi divergence at most a rho for every order a > 1 is (epsilon, delta)-private for

    epsilon = a rho + (a ln(1 - 1/a) - ln(a - 1) - ln delta) / (a - 1)

([Canonne2020], corollary 13), for any order a.  A golden-section search finds the best order, with logarithms of `decimal`
rounded up.  Mechanisms are designed with `privacy.concentrated`, which uses other algorithms for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction

import numpy as np

# Losses of several blocks are first compared as floats: sums of a few dozen positive terms, relative error below 2^-47.
# Losses within this margin of the largest are recomputed as fractions, which decide.  For one block, floats are exact.
_MARGIN = 2.0**-40
_DIGITS = 60
_BITS = 40  # results are multiples of 2^-40, rounded up
_GOLDEN = Decimal("0.6180339887498948482")
_STEPS = 60
_RANGE = Decimal(-8), Decimal(16)  # searched values of ln(a - 1)


def largest_loss(tables: Sequence[np.ndarray], noise_scales: Sequence[int]) -> tuple[Fraction, tuple[int, int]]:
    """Return max over pairs of rows (a, b) of sum_i ||T_i[a] - T_i[b]||_1 / t_i, and a pair that attains it.

    tables: (cells, K_i) integers, the same cells in all.  noise_scales: t_i >= 1.

    Noise Y with Pr(y) ~ exp(-|y| / t) on integers: the loss of a pair at the report z is
    sum_k (|z_k - T[b]_k| - |z_k - T[a]_k|) / t, at most the sum above and equal to it at z = T[a].

    >>> largest_loss([np.array([[1, 0], [0, 2], [-2, 0]])], [2])
    (Fraction(2, 1), (1, 2))
    """
    tables = [np.asarray(table, dtype=np.int64) for table in tables]
    cells = len(tables[0])
    norms = [np.abs(table).sum(axis=1) for table in tables]
    reaches = [_reach(table) for table in tables]
    twice = [_around(table) for table in tables]
    margin = _MARGIN if len(tables) > 1 else 0.0
    best, best_float, pair = Fraction(0), 0.0, (0, 0)
    for distance in range(1, cells // 2 + 1):
        distances = [
            _distances(table, cells, distance) if distance <= reach else norm + np.roll(norm, -distance)
            for table, norm, reach in zip(twice, norms, reaches, strict=True)
        ]
        losses = np.sum([d / t for d, t in zip(distances, noise_scales, strict=True)], axis=0)
        largest = float(losses.max())
        if largest < best_float * (1 - margin) or (margin == 0 and largest == best_float):
            continue
        best_float = max(best_float, largest)
        near = np.flatnonzero(losses >= best_float * (1 - margin))
        rows, first = np.unique(np.stack([d[near] for d in distances], axis=1), axis=0, return_index=True)
        for row, position in zip(rows.tolist(), near[first].tolist(), strict=True):
            loss = sum((Fraction(d, t) for d, t in zip(row, noise_scales, strict=True)), Fraction(0))
            if loss > best:
                best, pair = loss, (position, (position + distance) % cells)
    return best, (min(pair), max(pair))


def largest_square(table: np.ndarray) -> tuple[int, tuple[int, int]]:
    """Return the largest squared Euclidean distance of two rows, and a pair that attains it; table: (cells, K) integers.

    >>> largest_square(np.array([[1, 0], [0, 2], [-2, 0]]))
    (9, (0, 2))
    """
    table = np.asarray(table, dtype=np.int64)
    cells, best, pair = len(table), -1, (0, 0)
    norms, reach, twice = (table * table).sum(axis=1), _reach(table), np.concatenate([table, table])
    for distance in range(1, cells // 2 + 1):
        if distance <= reach:
            squares = ((table - twice[distance : distance + cells]) ** 2).sum(axis=1)
        else:
            squares = norms + np.roll(norms, -distance)
        at = int(squares.argmax())
        if squares[at] > best:
            best, pair = int(squares[at]), (at, (at + distance) % cells)
    return best, (min(pair), max(pair))


def _distances(twice: np.ndarray, cells: int, distance: int) -> np.ndarray:
    """||T[a] - T[a + distance]||_1 for every cell a, on the circle."""
    return np.abs(twice[:, :cells] - twice[:, distance : distance + cells]).sum(axis=0, dtype=twice.dtype)


def _reach(table: np.ndarray) -> int:
    """Return the largest distance on the circle of two cells in the support of one function."""
    cells, reach = len(table), 0
    for column in table.T:
        support = np.flatnonzero(column)
        if support.size:
            gaps = np.diff(np.append(support, support[0] + cells))
            reach = max(reach, cells - int(gaps.max()))
    return reach


def _around(table: np.ndarray) -> np.ndarray:
    """Return the table twice, one function per row; in 32 bits if all distances fit, which is twice as fast."""
    fits = 2 * int(np.abs(table).sum(axis=1).max(initial=0)) < 1 << 31
    return np.ascontiguousarray(np.concatenate([table, table]).T, dtype=np.int32 if fits else np.int64)


def approximate_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon, rounded up, at which rho-concentrated noise is (epsilon, delta)-private.

    >>> float(approximate_epsilon(Fraction(1, 100), Fraction(1, 10**6))) < 0.71
    True
    """
    with localcontext(prec=_DIGITS, rounding=ROUND_CEILING):
        concentration = Decimal(rho.numerator) / Decimal(rho.denominator)
        # `ln` rounds half to even, so the next digit below is a lower bound
        surprise = -(Decimal(delta.numerator) / Decimal(delta.denominator)).ln().next_minus()

        def epsilon(log_beyond: Decimal) -> Decimal:
            beyond = log_beyond.exp()  # a - 1; every order is valid, so its rounding does not matter
            order = 1 + beyond
            lost = order * (order / beyond).ln().next_minus() + beyond.ln().next_minus()
            return order * concentration + (surprise - lost + Decimal(10) ** (10 - _DIGITS)) / beyond

        low, high = _RANGE
        for _ in range(_STEPS):
            left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
            low, high = (low, right) if epsilon(left) < epsilon(right) else (left, high)
        least = max(epsilon(low), Decimal(0))
        return Fraction(int((least * 2**_BITS).to_integral_value(ROUND_CEILING)), 1 << _BITS)
