"""Subset selection: report w of the k categories, more likely a subset that holds the true one.

Source: [YeBarg2018].  The least variance of all oracles here, for reports of w integers.  A report is a set, and is
sent sorted: a list in the order of drawing, the true category first, would reveal it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb, floor
from typing import ClassVar

import numpy as np

from dpcore._random import Source
from dpcore.errors import check_whole
from dpcore.mechanisms import _kernels
from dpcore.mechanisms.base import integer_weights
from dpcore.mechanisms.categorical.frequency_oracle import FrequencyOracle, WeightedOracle
from dpcore.mechanisms.declaration import mechanism
from dpcore.mechanisms.observation_model import ScoreSums
from dpcore.mechanisms.report_sums import accepted_rows, are_subsets
from dpcore.mechanisms.reports import Reports, one_of_level_zero
from dpcore.privacy.budget import Budget

_CHUNK = 1 << 22  # clients times categories whose numbers are drawn at once, which settles the words' order
_MEMBERS = 1 << 18  # cells of the table of members held at once: it stays in a core's cache
_CLIENTS = 500_000_000  # so many are simulated at once; numpy's hypergeometric law ends at a billion
_OUTPUTS = 1 << 16  # up to so many subsets the channel is listed


@mechanism(
    "subset_selection",
    attributes={"categorical"},
    estimators=("frequency",),
    words="a few categories drawn at random, in which the true one is likelier than others",
)
@dataclass(frozen=True)
class SubsetSelection(WeightedOracle):
    """Report `size` of `categories`, increasing: a subset with the true one has weight `weight_in`, others `weight_out`.

    categories: k, 2..10,000.  size: w, 1..k-1.  weight_in > weight_out >= 1, integers, with
    T = w weight_in + (k - w) weight_out <= 2^32.

    Privacy.  Claim: Pr(z | x) <= e^epsilon Pr(z | x') for all x, x', z.
        1. C(k-1, w-1) subsets hold x and C(k-1, w) do not, w : k - w.  The client draws r uniform on 0..T-1 and holds x
           for w weight_in values of r: each such subset then has probability weight_in / (T C(k-1, w-1) / w).
        2. The rest is a uniform subset of the k - 1 others of size w - 1, or w: uniform on either kind of subset.
        3. As C(k-1, w) / (k - w) = C(k-1, w-1) / w, Pr(z | x) is proportional to weight_in or weight_out, T whatever x.
        4. The subset is sent sorted, so that z is the set alone; every ratio is at most weight_in / weight_out.
        5. The constructor refuses weight_in / weight_out > E, a rational lower bound of e^epsilon.

    Raises CalibrationError where the weights break the claim.
    """

    is_ascending: ClassVar[bool] = True

    size: int
    weight_in: int
    weight_out: int

    def __post_init__(self) -> None:
        FrequencyOracle.__post_init__(self)
        check_whole(1, self.categories - 1, size=self.size)
        super().__post_init__()

    @classmethod
    def design(cls, budget: Budget, *, categories: int, size: int | None = None) -> SubsetSelection:
        """Return the mechanism that keeps `budget`; without `size` the w of least variance at f = 0, near k/(e^epsilon+1)."""
        check_whole(2, 10_000, categories=categories)
        if size is None:
            about = floor(categories / (budget.ratio_floor + 1))
            choices = [w for w in (about, about + 1) if 1 <= w < categories]
            size = min(choices, key=lambda w: cls._weighted(budget, categories, w).variance(0.0, 1))
        check_whole(1, categories - 1, size=size)
        return cls._weighted(budget, categories, size)

    @classmethod
    def _weighted(cls, budget: Budget, categories: int, size: int) -> SubsetSelection:
        return cls(budget, categories, size, *integer_weights(budget, size, categories - size))

    @property
    def sizes(self) -> tuple[int, ...]:
        return (self.size,)

    @property
    def total(self) -> int:
        """T, the number of equally likely draws of whether the subset holds the true category."""
        return self.size * self.weight_in + (self.categories - self.size) * self.weight_out

    @property
    def truth_probability(self) -> Fraction:
        """p, the probability that the subset holds the true category."""
        return Fraction(self.size * self.weight_in, self.total)

    @property
    def other_probability(self) -> Fraction:
        """q, the probability that the subset holds any one other category."""
        return (self.size - self.truth_probability) / (self.categories - 1)

    def channel(self) -> tuple[np.ndarray, ...] | None:
        """Return the integer weights, (k, C(k, w)), subsets in lexicographic order, or None above 2^16 subsets."""
        k, w = self.categories, self.size
        if comb(k, w) > _OUTPUTS:
            return None
        subsets = np.array(list(combinations(range(k), w)), dtype=np.int64)
        weights = np.full((k, len(subsets)), self.weight_out, dtype=np.int64)
        weights[subsets.T, np.arange(len(subsets))] = self.weight_in
        return (weights,)

    def privatize(self, values: np.ndarray, random: Source, levels: np.ndarray | None = None) -> Reports:
        values = self.input_cells(values)
        most = max(1, _CHUNK // self.categories)
        subsets = np.empty((len(values), self.size), dtype=np.int64)
        for first in range(0, len(values), most):
            part = slice(first, first + most)
            self._choose(values[part], random, subsets[part])
        return Reports(np.zeros(len(values), dtype=np.uint8), subsets.reshape(-1))

    def _choose(self, values: np.ndarray, random: Source, subsets: np.ndarray) -> None:
        """Write the subsets of a few clients, sorted, to `subsets` (n, w).

        The others are drawn by Floyd's method [Floyd1987]: for t = k-1-w, .., k-2 a uniform number of 0..t, or t itself
        where that is taken already.  A client that holds the true category needs one other less, and skips the first t.
        """
        n, others = len(values), self.categories - 1
        holds = random.residues(self.total, n) < self.size * self.weight_in
        drawn = np.empty((self.size, n), dtype=np.uint16)
        for row, t in enumerate(range(others - self.size, others)):
            drawn[row] = random.residues(t + 1, n)
        loop = _kernels.chosen(_kernels.subset_selection, n * self.size)
        if loop is not None:
            loop(drawn, holds, values, np.zeros(self.categories, dtype=np.int64), subsets)
            return
        most = max(1, _MEMBERS // self.categories)
        for first in range(0, n, most):
            part = slice(first, first + most)
            subsets[part] = self._subsets(values[part], holds[part], drawn[:, part])

    def _subsets(self, values: np.ndarray, holds: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        """The subsets of a few clients, shape (n, w), from Floyd's numbers (w, n)."""
        n, others = len(values), self.categories - 1
        member = np.zeros(n * self.categories, dtype=bool)
        first = np.arange(n) * self.categories
        for row, t in enumerate(range(others - self.size, others)):
            place = drawn[row].astype(np.int64)
            place += place >= values  # the others in order, skipping the truth
            place += first
            place = np.where(member[place], t + (t >= values) + first, place)
            member[place] = True if row else ~holds
        member[first + values] = holds
        return np.flatnonzero(member).reshape(n, self.size) - first[:, None]

    def ranges(self, level: int) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(self.size, dtype=np.int64), np.full(self.size, self.categories - 1)

    def accepts(self, reports: Reports) -> np.ndarray:
        return accepted_rows(reports, self.size, lambda rows: are_subsets(rows, self.categories))

    def furthest(self, weights: np.ndarray, clients: int) -> Reports:
        return one_of_level_zero(np.sort(np.argsort(-np.asarray(weights), kind="stable")[: self.size]))

    def statistics(self, reports: Reports) -> np.ndarray:
        return np.bincount(reports.values, minlength=self.categories).astype(np.int64)

    def scores(self, reports: Reports) -> np.ndarray:
        table = np.zeros(len(reports) * self.categories, dtype=np.int8)
        members = reports.values.reshape(-1, self.size) + np.arange(0, len(table), self.categories)[:, None]
        table[members.reshape(-1)] = 1
        return table.reshape(-1, self.categories)

    def simulate(self, counts: np.ndarray, random: Source) -> np.ndarray:
        """Return counts drawn from their law, at a cost that does not depend on how many clients there are.

        With weight (weight_in - weight_out) a client sends a uniform subset that holds its category, else any subset alike.
        Categories are passed in order; of the clients who still need r of the m categories left, each takes the next one
        with probability r / m.  Those bound to a category ahead are alike until it comes.
        """
        counts = np.asarray(counts, dtype=np.int64)
        if counts.sum() > _CLIENTS:
            half = counts // 2
            return self.simulate(half, random) + self.simulate(counts - half, random)
        generator = random.generator()
        bound_share = Fraction(self.weight_in - self.weight_out) * self.size / self.total
        bound = generator.binomial(counts, float(bound_share))
        totals = np.zeros(self.categories, dtype=np.int64)
        free, ahead = np.zeros(self.size + 1, dtype=np.int64), np.zeros(self.size + 1, dtype=np.int64)
        free[self.size], ahead[self.size - 1] = counts.sum() - bound.sum(), bound.sum()
        for category in range(self.categories):
            left = self.categories - category
            arrived = generator.multivariate_hypergeometric(ahead, int(bound[category]), method="marginals")
            ahead -= arrived
            taken = 0
            for pool, choices in ((free, left), (ahead, left - 1)):
                needs = np.flatnonzero(pool)  # few of all r at a time: their spread is that of a hypergeometric law
                takers = generator.binomial(pool[needs], needs / max(choices, 1))
                pool[needs] -= takers
                pool[needs - 1] += takers  # nobody who needs none takes one
                taken += int(takers.sum())
            free += arrived  # after the step: they had their own category as this one
            totals[category] = taken + int(bound[category])
        return totals

    def model(self) -> ScoreSums:
        """Return the distribution of the members of a subset."""
        k, w, p, q = self.categories, self.size, self.truth_probability, self.other_probability
        true_cross = p * (w - 1) / (k - 1)
        # the pairs of others within a subset: C(w-1, 2) if it has the true category, else C(w, 2), of C(k-1, 2)
        pairs = p * (w - 1) * (w - 2) + (1 - p) * w * (w - 1)
        other_cross = pairs / ((k - 1) * (k - 2)) if k > 2 else Fraction(0)
        return ScoreSums(k, p, q, p, q, true_cross, other_cross)
