"""Several quantiles at once: JointExp, and its heuristically smoothed form [Gillenwater2021] [Lalanne2023].

JointExp is the continuous exponential mechanism on increasing m-tuples o, with the loss sum_j | #{o_{j-1} < x <= o_j} - n_j |,
n_j the number of records that belong there.  Dynamic programming over the gaps between records draws it exactly.  Where many
records share one value no tuple has a small loss and the answers are noise; the smoothed form moves each record by an
independent uniform amount of at most `width` first, which opens the gaps again and costs no privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, comb
from typing import Any, ClassVar

import numpy as np

from dpcore._random import Source
from dpcore.errors import SchemeError, check_whole
from dpcore.laboratory.central.base import CuratorMechanism
from dpcore.laboratory.central.exponential import integer_weights
from dpcore.laboratory.central.exponential.continuous_exponential import STEPS, Interval
from dpcore.mechanisms.base import Certificate
from dpcore.privacy.budget import Budget


@dataclass(frozen=True)
class JointExp(CuratorMechanism):
    """m quantiles, nondecreasing, in the records' unit; orders: t_1 < .. < t_m in (0, 1).

    cells: how many values records and answers are rounded to, a power of two that divides 2^20: the cost grows with its
    square, or that of n where that is less.  width: how far each record is moved at most, in cells; 0 is JointExp as it is.

    Privacy.  Claim: Pr(A(x) = o) <= e^epsilon Pr(A(y) = o) for all neighbours x, y and all o.
        1. A changed record leaves one of the m + 1 counts and enters another: the loss moves by at most 2, for each o.
        2. A tuple has weight q^loss, q just above exp(-epsilon / 4): weights and their sum move by at most q^-2 each way.
        3. So the ratio is at most q^-4, whatever the tuples are; the constructor compares it with e^epsilon.
        4. Moving each record by noise of its own maps neighbours to neighbours, whatever the noise: on average the bound holds.
        5. The dynamic program sums and draws in whole numbers.
    """

    name: ClassVar[str] = "joint_exp"

    budget: Budget
    interval: Interval
    orders: tuple[Fraction, ...]
    cells: int = 1 << 10
    width: int = 0

    def __post_init__(self) -> None:
        check_whole(2, STEPS, cells=self.cells)
        check_whole(0, self.cells, width=self.width)
        if STEPS % self.cells:
            raise SchemeError(f"cells must be a power of two up to {STEPS}, got {self.cells}")
        if (
            not self.orders
            or list(self.orders) != sorted(set(self.orders))
            or not 0 < self.orders[0] <= self.orders[-1] < 1
        ):
            raise SchemeError(
                f"orders of quantiles must increase strictly inside (0, 1), got {[str(t) for t in self.orders]}"
            )
        self._refuse_unless_kept("leave the weights to the mechanism")

    @cached_property
    def ratio(self) -> Fraction:
        """q."""
        return integer_weights.ratio_above(self.budget, 4)

    def certificate(self) -> Certificate:
        return Certificate("ratio", self.ratio**-4, self.budget, (2,))

    def cells_of(self, records: Any) -> np.ndarray:
        """Return the cell 0..cells-1 of each record, sorted."""
        return self.interval.steps(records) // (STEPS // self.cells)

    def release(self, records: Any, random: Source) -> np.ndarray:
        """Return the m answers, (m,)."""
        cells = self.cells_of(records)
        if self.width:
            moved = cells + random.below(2 * self.width + 1, len(cells)) - self.width
            cells = np.sort(np.clip(moved, 0, self.cells - 1))
        return np.asarray(self.interval.value(self._draw(cells, random) * (STEPS // self.cells)))

    def loss(self, cells: np.ndarray, answers: np.ndarray) -> int:
        """Return sum_j |#{o_{j-1} < x <= o_j} - n_j| of an answer (m,), both in cells."""
        at = np.searchsorted(np.sort(cells), answers, side="right")
        return int(np.abs(np.diff(np.concatenate([[0], at, [len(cells)]])) - self._wanted(len(cells))).sum())

    def _wanted(self, n: int) -> np.ndarray:
        """n_1..n_{m+1}: how many records belong below the first answer, between the answers, and above the last."""
        ranks = [ceil(t * n) for t in self.orders]
        return np.diff(np.array([0, *ranks, n]))

    def _draw(self, cells: np.ndarray, random: Source) -> np.ndarray:
        """The answers, in cells.

        total[j][i] is the weight of all ways to place the first j answers with the j-th in piece i and the next in a later
        one.  A group of g answers in one piece of L cells has C(L + g - 1, g) nondecreasing arrangements, and counts nobody
        between them.
        """
        n, m = len(cells), len(self.orders)
        wanted = self._wanted(n).tolist()
        weight = integer_weights.powers(self.ratio, range(n + 1))
        edges = np.unique(np.concatenate([[0], cells, [self.cells]]))
        lengths = np.diff(edges).tolist()
        counts = np.searchsorted(cells, edges[:-1], side="right").tolist()
        pieces = range(len(lengths))
        inner = [0, *[weight[w] for w in wanted[1:m]]]  # of answer j + 1 in the piece of answer j
        group = [[comb(length + g - 1, g) for g in range(m + 1)] for length in lengths]

        def step(j: int, g: int, i: int) -> int:
            """The weight of answers j - g + 1..j in piece i but for what comes before the first of them."""
            product = group[i][g]
            for k in range(j - g + 1, j):
                product *= inner[k]
            return product

        def before(j: int, g: int, i: int) -> list[tuple[int, int]]:
            """Where the answer j - g may be, and the weight of everything up to the first answer of the group."""
            first = j - g
            if first == 0:
                return [(-1, weight[abs(counts[i] - wanted[0])])]
            return [(p, total[first][p] * weight[abs(counts[i] - counts[p] - wanted[first])]) for p in range(i)]

        total: list[list[int]] = [[0] * len(lengths) for _ in range(m + 1)]
        for j in range(1, m + 1):
            for i in pieces:
                total[j][i] = sum(step(j, g, i) * sum(w for _, w in before(j, g, i)) for g in range(1, j + 1))
        last = [total[m][i] * weight[abs(n - counts[i] - wanted[m])] for i in pieces]
        answers: list[int] = []
        j, i = m, int(integer_weights.draw(last, 1, random)[0])
        while j > 0:
            ways = [(g, p, step(j, g, i) * w) for g in range(1, j + 1) for p, w in before(j, g, i)]
            g, p, _ = ways[int(integer_weights.draw([w for _, _, w in ways], 1, random)[0])]
            answers += sorted((int(edges[i]) + k for k in _arrangement(lengths[i], g, random)), reverse=True)
            j, i = j - g, p
        return np.array(answers[::-1])


def _arrangement(length: int, g: int, random: Source) -> list[int]:
    """A uniform nondecreasing g-tuple of 0..length-1: a uniform g-subset of 0..length+g-2, less 0, 1, .., g - 1."""
    chosen: list[int] = []
    while len(chosen) < g:
        k = integer_weights.below(length + g - 1, random)
        if k not in chosen:
            chosen.append(k)
    return [k - rank for rank, k in enumerate(sorted(chosen))]
