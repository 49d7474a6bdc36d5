"""The sets of at most m of k options, numbered and filled up with dummies to m items each, and the sums of reports on them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb

import numpy as np

from dpcore.mechanisms.observation_model import ObservationModel, ScoreSums

ONE_ITEM = "reports of one item show no two options together; set size = 2 or more, or leave it out"
ONE_CHOSEN = "nobody may choose two options; raise at_most, or do not ask for their joint share"


def is_joint_share(functional: str) -> bool:
    """Return whether the name of a functional is that of a joint share, such as "both(bus, train)"."""
    return functional.lstrip().startswith("both(")


@dataclass(frozen=True)
class OptionSets:
    """The sets of at most `at_most` of `options` options.

    Sets are numbered by size, and those of one size in colexicographic order: options a_1 < .. < a_c, which count from 0, have
    number C(k, 0) + .. + C(k, c-1) + C(a_1, 1) + .. + C(a_c, c).
    A set of c options is padded with the dummies k, .., k + at_most - c - 1.  So every padded set has `at_most` of `items`
    items, and the dummy k + j is in it where c < at_most - j.

    >>> OptionSets(3, 2).members(np.arange(7)).astype(int).tolist()
    [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1]]
    >>> OptionSets(3, 2).padded(np.array([0, 2, 4])).astype(int).tolist()
    [[0, 0, 0, 1, 1], [0, 1, 0, 1, 0], [1, 1, 0, 0, 0]]
    """

    options: int
    at_most: int

    @property
    def items(self) -> int:
        """How many options and dummies there are."""
        return self.options + self.at_most

    @cached_property
    def _firsts(self) -> np.ndarray:
        """The number of the first set of each size, and how many sets there are, (at_most + 2,)."""
        return np.cumsum([0, *(comb(self.options, size) for size in range(self.at_most + 1))])

    @cached_property
    def _places(self) -> np.ndarray:
        """C(a, i) at (a, i), shape (options, at_most + 1)."""
        return np.array([[comb(a, i) for i in range(self.at_most + 1)] for a in range(self.options)], dtype=np.int64)

    @property
    def sizes(self) -> np.ndarray:
        """How many options each set has, (sets,)."""
        return np.repeat(np.arange(self.at_most + 1), np.diff(self._firsts))

    def __len__(self) -> int:
        return int(self._firsts[-1])

    def numbers(self, members: np.ndarray) -> np.ndarray:
        """Return the number of each set, (n,), int64; members: (n, options) bool, at most `at_most` in a row."""
        ranks = np.cumsum(members, axis=1)
        ranks[~members] = 0
        sizes = members.sum(axis=1)
        terms = np.where(members, self._places[np.arange(self.options), ranks], 0)
        return np.asarray(self._firsts[sizes] + terms.sum(axis=1))

    def members(self, numbers: np.ndarray) -> np.ndarray:
        """Return which options each set has, (n, options), bool."""
        sizes = np.searchsorted(self._firsts, numbers, side="right") - 1
        left = numbers - self._firsts[sizes]
        members = np.zeros((len(numbers), self.options), dtype=bool)
        for rank in range(self.at_most, 0, -1):
            rows = np.flatnonzero(sizes >= rank)
            option = np.searchsorted(self._places[:, rank], left[rows], side="right") - 1
            members[rows, option] = True
            left[rows] -= self._places[option, rank]
        return members

    def all_members(self) -> np.ndarray:
        """Return the members of all sets in order, (sets, options), bool."""
        return self.members(np.arange(len(self)))

    def padded(self, numbers: np.ndarray) -> np.ndarray:
        """Return which items each padded set has, (n, items), bool."""
        members = self.members(numbers)
        sizes = members.sum(axis=1)
        return np.hstack([members, sizes[:, None] < self.at_most - np.arange(self.at_most)])


@dataclass(frozen=True)
class SetSums(ObservationModel):
    """Counts of reports with each two items: of d = options + at_most.  Every padded set has `at_most` items.

    Statistics are the counts of the items a <= b, row by row, shape (d (d + 1) / 2,): a report counts for b = a if it has the
    item, else if it has both.
    true_mean, other_mean: how likely a report has an item of the padded set, and one given other item.
    true_both, other_both: how likely it has two given items, where the set has one or both of them, and where it has neither.

    With shares g of the items, E count_a = n (other_mean + (true_mean - other_mean) g_a) and, for a not b, E count_ab =
    n (other_both + (true_both - other_both) (g_a + g_b - g_ab)), g_ab the share of the sets with both.
    """

    options: int
    at_most: int
    true_mean: Fraction
    other_mean: Fraction
    true_both: Fraction
    other_both: Fraction

    @property
    def items(self) -> int:
        return self.options + self.at_most

    @property
    def contrast_of_both(self) -> Fraction:
        """true_both - other_both; 0 if reports have one item."""
        return self.true_both - self.other_both

    @property
    def of_one(self) -> ScoreSums:
        """The counts of single items, each binomial; its cross moments, which sets determine otherwise, are not to be used."""
        p, q, none = self.true_mean, self.other_mean, Fraction(0)
        return ScoreSums(self.items, p, q, p, q, none, none)

    def means(self, law: np.ndarray) -> np.ndarray:
        """Return the mean statistics of one report, shape (S,); law: the share of each set, (sets,)."""
        items = OptionSets(self.options, self.at_most).padded(np.arange(len(law)))
        both = items.T @ (items * law[:, None])
        one = np.diagonal(both)
        either = one[:, None] + one - both
        square = float(self.other_both) + float(self.contrast_of_both) * either
        np.fill_diagonal(square, self.of_one.means(one))
        return np.asarray(square[np.triu_indices(self.items)])

    def square(self, statistics: np.ndarray) -> np.ndarray:
        """Return the counts of each two items as a symmetric matrix, shape (d, d)."""
        table = np.zeros((self.items, self.items), dtype=np.asarray(statistics).dtype)
        table[np.triu_indices(self.items)] = statistics
        return np.asarray(table + np.triu(table, 1).T)

    def expected_statistics(self, law: np.ndarray, n: int) -> np.ndarray:
        return n * self.means(law)

    def single_supports(self, statistics: np.ndarray) -> tuple[ScoreSums, np.ndarray]:
        return self.of_one, np.diagonal(self.square(statistics))

    def support_covariance(self, statistics: np.ndarray, n: int) -> np.ndarray:
        return self.covariance(self.square(statistics), n)

    def covariance(self, square: np.ndarray, n: float) -> np.ndarray:
        """Return the covariance, (d, d), of unbiased shares of the items; square: of n reports."""
        moments = moments_of(square, n)
        means = np.diagonal(moments)
        return np.asarray((moments - np.outer(means, means)) / n / float(self.of_one.contrast) ** 2)


def moments_of(square: np.ndarray, n: float) -> np.ndarray:
    """Return the shares of reports with each two items, (d, d), with one report more that may be any subset of its size.

    Without it the covariance of one report would be zero.
    """
    items = len(square)
    size = float(np.trace(square)) / n
    even = np.full((items, items), size * (size - 1) / (items * (items - 1)))
    np.fill_diagonal(even, size / items)
    return np.asarray((square + even) / (n + 1))
