"""Set selection (PrivSet): report t of the options and dummies, more likely ones that have an item of the true set.

Source: [Wang2018].  For answers that are sets of at most m of k options, such as "select all that apply".  Dummies pad every
answer to m items, so that a report shows nothing of the number chosen that its loss does not cover.  Here they are chosen in a
fixed order, and the share of a dummy is that of the answers with few options.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb
from typing import ClassVar

import numpy as np

from dpcore._random import WORD, Source
from dpcore.errors import CalibrationError, SchemeError, check_whole
from dpcore.mechanisms.base import Certificate, Labels, Mechanism
from dpcore.mechanisms.categorical.option_sets import OptionSets, SetSums
from dpcore.mechanisms.declaration import Option, integers, mechanism
from dpcore.mechanisms.report_sums import accepted_rows, are_subsets
from dpcore.mechanisms.reports import Reports, one_of_level_zero
from dpcore.privacy.budget import Budget

MOST_OPTIONS, MOST_CHOSEN, MOST_SETS = 62, 20, 1 << 20
_CLIENTS = 1 << 16  # whose tables of members are held at once
_MOST_DRAWN = 1024  # subsets that a client draws, about, until it has one of the rarer kind
_OUTPUTS = 1 << 24  # up to so many weights the channel is listed


@mechanism(
    "set_selection",
    attributes={"set"},
    estimators=("shares",),
    words="a few options and dummies drawn at random, among which one of the true options is likelier than by chance",
    options=(Option("size", int, least=1, most=MOST_OPTIONS, words="how many options and dummies a report has"),),
    scheme_facts=("categories", "at_most", "least_size"),
)
@dataclass(frozen=True)
class SetSelection(Mechanism):
    """Report `size` of the options and dummies, increasing; the padded true set has `at_most` of them.

    options: k, 2..62.  at_most: m, 1..min(k, 20), with at most 2^20 sets.  size: t, 1..k.  Of T = weight_in + weight_out,
    at most 2^32, equally likely draws, weight_in lead to a subset that has an item of the padded set.

    Privacy.  Claim: Pr(z | s) <= e^epsilon Pr(z | s') for all sets s, s' and reports z.
        1. Padded sets have m of the d = k + m items.  A = C(d, t) - C(k, t) of the t-subsets have an item of s, and
           B = C(k, t) have none: the same numbers for every s.
        2. The client draws r uniform on 0..T-1, and t-subsets, uniform of all C(d, t), until one has an item of s and one has
           none.  It sends the first that has one if r < weight_in, else the first that has none: a uniform one of A, or of B.
        3. So Pr(z | s) is weight_in / (T A) or weight_out / (T B), whatever s.
        4. Every ratio is at most weight_in B / (weight_out A).  How many subsets were drawn has one distribution for every s,
           independent of z, so the time that a report takes shows nothing more.
        5. The constructor refuses a ratio above E, a rational lower bound of e^epsilon.

    Raises CalibrationError where the weights break the claim.
    """

    is_ascending: ClassVar[bool] = True

    budget: Budget
    options: int
    at_most: int
    size: int
    weight_in: int
    weight_out: int

    def __post_init__(self) -> None:
        check_options(self.options, self.at_most)
        check_whole(1, self.options, size=self.size)
        integers((self.weight_in, self.weight_out))
        if not (self.weight_in >= 1 and self.weight_out >= 1 and self.total <= WORD) or self._ratio <= 1:
            raise CalibrationError(
                f"{self.name} needs weights whose total is at most 2^32 and that favour true options, got {self.weight_in} and "
                f"{self.weight_out}; leave them out to have them computed"
            )
        if min(self.holding, self.lacking) * _MOST_DRAWN < comb(self.items, self.size):
            raise SchemeError(
                f"size = {self.size} leaves too few subsets without an item of a set, and a client draws until it has one; "
                "lower size"
            )
        self.check_certificate()

    @classmethod
    def design(
        cls, budget: Budget, *, categories: int, at_most: int, size: int | None = None, least_size: int = 1
    ) -> SetSelection:
        """Return the mechanism that keeps `budget`.

        Without `size`, t is at least `least_size` and has the least variance of the share of an option that nobody chose.
        """
        check_options(categories, at_most)
        if size is not None:
            check_whole(1, categories, size=size)
            return cls._weighted(budget, categories, at_most, size)
        designed = []
        for one in range(least_size, categories + 1):
            try:
                designed.append(cls._weighted(budget, categories, at_most, one))
            except SchemeError:  # one of the two kinds of subset is too rare
                continue
        if not designed:
            return cls._weighted(budget, categories, at_most, least_size)
        return min(designed, key=lambda one: one.model().of_one.variance(0.0, 1))

    @classmethod
    def _weighted(cls, budget: Budget, options: int, at_most: int, size: int) -> SetSelection:
        lacking = comb(options, size)
        holding = comb(options + at_most, size) - lacking
        share = budget.ratio_floor * holding / lacking  # weight_in over weight_out
        weight_out = int(WORD / (1 + share))
        weight_in = int(weight_out * share)  # rounds down: the ratio stays within e^epsilon
        if weight_out < 1 or weight_in * lacking <= weight_out * holding:
            raise SchemeError(
                f"epsilon = {budget.text} does not fit 32-bit weights over sets of {options} options; it must lie between "
                "about 2^-24 and 20"
            )
        return cls(budget, options, at_most, size, weight_in, weight_out)

    @cached_property
    def sets(self) -> OptionSets:
        """The allowed sets; the number of a set is its input cell."""
        return OptionSets(self.options, self.at_most)

    @property
    def inputs(self) -> int:
        return len(self.sets)

    @property
    def items(self) -> int:
        """d, how many options and dummies there are."""
        return self.options + self.at_most

    @property
    def sizes(self) -> tuple[int, ...]:
        return (self.size,)

    @property
    def total(self) -> int:
        """T, the number of equally likely draws of whether a report has an item of the padded set."""
        return self.weight_in + self.weight_out

    @property
    def holding(self) -> int:
        """A, how many subsets have an item of one padded set."""
        return comb(self.items, self.size) - self.lacking

    @property
    def lacking(self) -> int:
        """B, how many subsets have none."""
        return comb(self.options, self.size)

    @property
    def probabilities(self) -> tuple[Fraction, Fraction]:
        """Of one report that has an item of the padded set, and of one that has none."""
        return Fraction(self.weight_in, self.total * self.holding), Fraction(self.weight_out, self.total * self.lacking)

    @property
    def _ratio(self) -> Fraction:
        return Fraction(self.weight_in * self.lacking, self.weight_out * self.holding)

    def certificate(self) -> Certificate:
        return Certificate("ratio", self._ratio, self.budget)

    def total_variation(self) -> Fraction:
        """A full set and the empty one have no item in common; count the subsets with items of the first alone."""
        holding, lacking = self.probabilities
        return (holding - lacking) * (self.lacking - comb(self.options - self.at_most, self.size))

    def channel(self) -> tuple[np.ndarray, ...] | None:
        """Return the integer weights, (sets, C(d, t)), subsets in lexicographic order, or None above 2^24 of them."""
        if self.inputs * comb(self.items, self.size) > _OUTPUTS:
            return None
        subsets = self._members(np.array(list(combinations(range(self.items), self.size))))
        meets = self.sets.padded(np.arange(self.inputs)) @ subsets.T > 0
        return (np.where(meets, self.weight_in * self.lacking, self.weight_out * self.holding).astype(object),)

    def privatize(self, values: np.ndarray, random: Source, levels: np.ndarray | None = None) -> Reports:
        values = self.input_cells(values)
        subsets = np.empty((len(values), self.size), dtype=np.int64)
        for first in range(0, len(values), _CLIENTS):
            part = slice(first, first + _CLIENTS)
            drawn = self._draw(self.sets.padded(values[part]), random)
            subsets[part] = np.nonzero(drawn)[1].reshape(-1, self.size)
        return Reports(np.zeros(len(values), dtype=np.uint8), subsets.reshape(-1))

    def _draw(self, padded: np.ndarray, random: Source) -> np.ndarray:
        """The items of the reports of a few clients, (n, items), bool; padded: likewise, of their sets."""
        holds = random.residues(self.total, len(padded)) < self.weight_in
        drawn, seen = np.zeros_like(padded), np.zeros((len(padded), 2), dtype=bool)
        left = np.arange(len(padded))
        while left.size:
            subsets = self._subsets(left.size, random)
            has = (subsets & padded[left]).any(axis=1)
            is_sent = (has == holds[left]) & ~seen[left, has.astype(int)]
            drawn[left[is_sent]] = subsets[is_sent]
            seen[left, has.astype(int)] = True
            left = left[~seen[left].all(axis=1)]
        return drawn

    def _subsets(self, n: int, random: Source) -> np.ndarray:
        """Uniform subsets, (n, items), bool [Floyd1987]: a number of 0..last is drawn, and `last` taken where that is there."""
        subsets, rows = np.zeros((n, self.items), dtype=bool), np.arange(n)
        for last in range(self.items - self.size, self.items):
            place = random.residues(last + 1, n).astype(np.int64)
            subsets[rows, np.where(subsets[rows, place], last, place)] = True
        return subsets

    def ranges(self, level: int) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(self.size, dtype=np.int64), np.full(self.size, self.items - 1)

    def accepts(self, reports: Reports) -> np.ndarray:
        return accepted_rows(reports, self.size, lambda rows: are_subsets(rows, self.items))

    def furthest(self, weights: np.ndarray, clients: int) -> Reports:
        """Return the report of the items with the largest weights; those of pairs of items are not looked at."""
        alone = np.diagonal(self.model().square(np.asarray(weights)))
        return one_of_level_zero(np.sort(np.argsort(-alone, kind="stable")[: self.size]))

    def _members(self, rows: np.ndarray) -> np.ndarray:
        """Which items are in each row, (n, items), float32, whose products count exactly below 2^24; rows: (n, size)."""
        table = np.zeros((len(rows), self.items), dtype=np.float32)
        np.put_along_axis(table, rows, 1, axis=1)
        return table

    def statistics(self, reports: Reports) -> np.ndarray:
        counts = np.zeros((self.items, self.items), dtype=np.int64)
        rows = reports.values.reshape(-1, self.size)
        for first in range(0, len(rows), _CLIENTS):
            table = self._members(rows[first : first + _CLIENTS])
            counts += (table.T @ table).astype(np.int64)
        return counts[np.triu_indices(self.items)]

    def scores(self, reports: Reports) -> np.ndarray:
        one, other = np.triu_indices(self.items)
        table = self._members(reports.values.reshape(-1, self.size)).astype(np.int8)
        return table[:, one] * table[:, other]

    def simulate(self, counts: np.ndarray, random: Source) -> np.ndarray:
        """Return statistics of simulated clients, some at a time."""
        values = np.repeat(np.arange(self.inputs), counts)
        totals = np.zeros(len(self.labels().level), dtype=np.int64)
        for first in range(0, len(values), _CLIENTS):
            totals += self.statistics(self.privatize(values[first : first + _CLIENTS], random))
        return totals

    def labels(self) -> Labels:
        """Return the description of the counts of reports with both items a <= b, whose cell is a d + b."""
        one, other = np.triu_indices(self.items)
        return Labels(np.full(len(one), "count"), np.zeros(len(one), dtype=np.int64), one * self.items + other)

    def model(self) -> SetSums:
        """Return the probabilities with which a report has one item, or two."""
        d, m, t = self.items, self.at_most, self.size
        holding, lacking = self.probabilities

        def together(items: int) -> tuple[Fraction, Fraction]:
            """How likely a report has so many given items where the padded set has one of them, and where it has none."""
            if items > t:
                return Fraction(0), Fraction(0)
            all_subsets, without = comb(d - items, t - items), comb(d - items - m, t - items)
            return holding * all_subsets, holding * (all_subsets - without) + lacking * without

        return SetSums(self.options, m, *together(1), *together(2))


def check_options(options: int, at_most: int) -> None:
    """Raise SchemeError unless so many options, with so many chosen at most, can be answered."""
    check_whole(2, MOST_OPTIONS, categories=options)
    check_whole(1, min(options, MOST_CHOSEN), at_most=at_most)
    sets = len(OptionSets(options, at_most))
    if sets > MOST_SETS:
        raise SchemeError(
            f"at_most = {at_most} of {options} options are {sets:,} possible answers, and {MOST_SETS:,} are possible; lower "
            "at_most, or offer fewer options"
        )
