"""Exact sensitivities: maxima over all pairs of input cells of the very integers that clients send.

Additive noise hides the difference of two rows.  For one block the number that counts is max ||T[a] - T[b]||_1; for
several blocks sent together, with discrete Laplace noise of scale t_b, it is the loss max sum_b ||T_b[a] - T_b[b]||_1 / t_b.
Both maxima are exact.  Branch and bound: with N_a = sum_b ||T_b[a]||_1 / t_b a pair cannot exceed N_a + N_b, so that
only pairs above the best pair known need a look, and fine blocks only where coarse ones leave hope.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpcore.errors import CalibrationError

# With several blocks the search compares floats: sums of at most a few thousand positive terms, relative error below
# 2^-41.  Every pair within this margin of the best is evaluated again in fractions.  One block is compared exactly.
_MARGIN = 1e-12
_STARTS = 4
_EXACT = 2.0**53
_ROWS = 512  # of a table compared at a time with all others


def sensitivity(table: np.ndarray) -> int:
    """Return max over all pairs of rows of ||table[a] - table[b]||_1, exact; table: (cells, K) integers.

    >>> sensitivity(np.array([[1, 0], [0, 2], [-1, 0]]))
    3
    """
    return int(joint_loss([table], [1]))


def squared_sensitivity(table: np.ndarray) -> int:
    """Return max over all pairs of rows of the squared Euclidean distance, exact; table: (cells, K) integers.

    |a - b|^2 = |a|^2 + |b|^2 - 2 a.b in doubles, whose every partial sum is an integer below 2^53.

    Raises CalibrationError where it would not be.

    >>> squared_sensitivity(np.array([[1, 0], [0, 2], [-1, 0]]))
    5
    """
    rows = np.unique(np.asarray(table), axis=0).astype(np.float64)
    norms = np.sum(rows * rows, axis=1)
    if 4 * float(norms.max(initial=0.0)) >= _EXACT:
        raise CalibrationError("the table's integers are too large for exact squares in 53 bits")
    chunks = range(0, len(rows), _ROWS)
    return int(max(np.max(norms[i : i + _ROWS, None] + norms - 2 * (rows[i : i + _ROWS] @ rows.T)) for i in chunks))


def joint_loss(tables: Sequence[np.ndarray], noise_scales: Sequence[int]) -> Fraction:
    """Return max over all pairs of rows (a, b) of sum_i ||T_i[a] - T_i[b]||_1 / t_i, exact.

    tables: (cells, K_i) integers, the same cells in all.  noise_scales: t_i >= 1.

    Privacy.  Claim: reporting T_i[x] + Y_i for all i, Y_i independent with Pr(y) ~ exp(-|y| / t_i), loses at most this.
        1. Given x the report z has probability prod_i prod_k c_i exp(-|z_ik - T_i[x]_k| / t_i), c_i free of x.
        2. So log Pr(z | x) - log Pr(z | x') = sum_ik (|z_ik - T_i[x']_k| - |z_ik - T_i[x]_k|) / t_i.
        3. Each term is at most |T_i[x]_k - T_i[x']_k| / t_i, the triangle inequality.
        4. Summing, the loss is at most sum_i ||T_i[x] - T_i[x']||_1 / t_i for this pair of cells.
        5. x and x' range over the finite set of cells, and every pair was compared or excluded by step 3's bound.

    Raises CalibrationError for noise scales below one or not one per table.
    """
    if len(tables) != len(noise_scales) or any(scale < 1 for scale in noise_scales):
        raise CalibrationError(f"one noise scale of at least 1 is needed per block, got {list(noise_scales)}")
    order = np.argsort([table.shape[1] for table in tables], kind="stable")  # coarse blocks first: they exclude most
    search = _Search([np.asarray(tables[i]) for i in order], [int(noise_scales[i]) for i in order])
    return search.run()


class _Search:
    def __init__(self, tables: list[np.ndarray], scales: list[int]) -> None:
        self._scales = scales
        self._margin = _MARGIN if len(tables) > 1 else 0.0
        # Equal rows never differ in their partners: keep one of each, looking at neighbours, which is where they are.
        changes = [np.any(table[1:] != table[:-1], axis=1) for table in tables]
        rows = np.flatnonzero(np.append(True, np.any(changes, axis=0)))
        norms = [np.abs(table[rows]).sum(axis=1) / t for table, t in zip(tables, self._divisors, strict=True)]
        total = np.sum(norms, axis=0)
        rank = np.argsort(-total, kind="stable")  # cells by falling N, so that hopeful partners are a prefix
        self._tables = [_narrow(table[rows][rank]) for table in tables]
        self._norms = [norm[rank] for norm in norms]
        self._total = total[rank]
        self._best = 0.0
        self._finalists: dict[tuple[int, ...], float] = {}

    def run(self) -> Fraction:
        for start in range(0, len(self._total), max(1, len(self._total) // _STARTS)):
            self._climb(start)
        for a in range(len(self._total)):
            if 2 * self._total[a] <= self._floor:
                break
            self._scan(a)
        return max(
            (self._exact(distances) for distances, loss in self._finalists.items() if loss >= self._floor),
            default=Fraction(0),
        )

    @property
    def _divisors(self) -> list[int]:
        """The noise scales; one where there is a single block, so that its floats are integers."""
        return self._scales if len(self._scales) > 1 else [1]

    @property
    def _floor(self) -> float:
        """Pairs at or below need no look: a pair that attains the best is among the finalists already."""
        return self._best * (1 - self._margin)

    def _climb(self, a: int) -> None:
        """Go to the row farthest from row a, then to the one farthest from that, while the distance grows."""
        here = -1.0
        while True:
            losses = np.sum([self._distances(i, a, slice(None)) / t for i, t in enumerate(self._divisors)], axis=0)
            b = int(np.argmax(losses))
            if losses[b] <= here * (1 + _MARGIN):
                return
            here = float(losses[b])
            self._record(a, np.array([b]), losses[[b]])
            a = b

    def _scan(self, a: int) -> None:
        """Compare row a with the later rows, block by block, dropping those whose bound falls below the best."""
        last = int(np.searchsorted(-self._total, self._total[a] - self._floor, side="right"))
        rows = np.arange(a + 1, last)
        bound = self._total[a] + self._total[a + 1 : last]
        for i, divisor in enumerate(self._divisors):
            hopeful = bound > self._floor
            rows, bound = rows[hopeful], bound[hopeful]
            if not rows.size:
                return
            bound = bound + (self._distances(i, a, rows) / divisor - self._norms[i][a] - self._norms[i][rows])
        self._record(a, rows, bound)

    def _record(self, a: int, rows: np.ndarray, losses: np.ndarray) -> None:
        self._best = max(self._best, float(np.max(losses)))
        near = losses >= self._floor
        distances = np.stack([self._distances(i, a, rows[near]) for i in range(len(self._tables))], axis=1)
        distinct, first = np.unique(distances, axis=0, return_index=True)  # ties by symmetry are many and alike
        for row, loss in zip(distinct.tolist(), losses[near][first].tolist(), strict=True):
            self._finalists[tuple(row)] = loss

    def _distances(self, i: int, a: int, rows: np.ndarray | slice) -> np.ndarray:
        table = self._tables[i]
        return np.asarray(np.abs(table[rows] - table[a]).sum(axis=1, dtype=np.int64))

    def _exact(self, distances: tuple[int, ...]) -> Fraction:
        return sum((Fraction(d, t) for d, t in zip(distances, self._scales, strict=True)), Fraction(0))


def _narrow(table: np.ndarray) -> np.ndarray:
    """The same integers in 32 bits where differences fit: twice as fast."""
    fits = int(np.max(np.abs(table), initial=0)) < 1 << 30
    return np.ascontiguousarray(table, dtype=np.int32 if fits else np.int64)
