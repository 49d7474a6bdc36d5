"""Frequency oracles: the common part of categorical mechanisms.

A report supports some categories, the true one with probability p and any other with q < p; statistics count the reports that
support each.  Each mechanism defines how a report is drawn, and proves its privacy loss.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np

from dpcore._random import WORD
from dpcore.errors import CalibrationError, check_whole
from dpcore.mechanisms.base import Certificate, Labels, Mechanism, agreed
from dpcore.mechanisms.declaration import integer
from dpcore.mechanisms.observation_model import ScoreSums
from dpcore.mechanisms.reports import Reports, sorted_by
from dpcore.privacy.budget import Budget

MOST_CATEGORIES = 10_000
_HELD = 1 << 20  # of them at once


@dataclass(frozen=True)
class FrequencyOracle(Mechanism):
    """A mechanism on `categories` categories, 2..10,000, whose other fields are integers that both sides must agree on."""

    budget: Budget
    categories: int

    def __post_init__(self) -> None:
        check_whole(2, MOST_CATEGORIES, categories=self.categories)

    @classmethod
    def _read(cls, budget: Budget, parameters: Mapping[str, Any]) -> Self:
        return cls(budget, *(integer(parameters[name]) for name in agreed(cls)))

    @property
    def inputs(self) -> int:
        return self.categories

    @property
    @abstractmethod
    def truth_probability(self) -> Fraction:
        """p, the probability that a report supports the true category."""

    @property
    @abstractmethod
    def other_probability(self) -> Fraction:
        """q, the probability that a report supports any one other category."""

    def total_variation(self) -> Fraction:
        """p - q: a report is likelier under x than x' where it supports x alone, and as likely where both or neither."""
        return self.truth_probability - self.other_probability

    @abstractmethod
    def model(self) -> ScoreSums:
        """Return the distribution of the supports."""

    def variance(self, frequency: float, n: int) -> float:
        """Return the variance of the unbiased estimate of a category's frequency from n reports.

        A report supports the category with probability m = q + f (p - q); the estimate is (share - q) / (p - q), so that
        n Var = m (1 - m) / (p - q)^2, the sampling of the clients included.
        """
        return float(self.model().variance(frequency, n))

    @property
    def group_cost(self) -> int:
        """How many numbers are added in the time that one group's own statistics take, about."""
        return 50_000

    def statistics_by(self, reports: Reports, groups: np.ndarray, many: int) -> np.ndarray:
        if self.counts_outputs or len(reports) * self.categories > many * self.group_cost:
            return super().statistics_by(reports, groups, many)
        tables = np.zeros((many, self.categories), dtype=np.int64)
        order, _ = sorted_by(groups, many)
        most = max(1, _HELD // self.categories)
        for first in range(0, len(order), most):  # many groups of few: what each report supports is added
            few = order[first : first + most]
            there = groups[few]
            starts = np.flatnonzero(np.diff(there, prepend=-1))
            scores = self.scores(reports.take(few, self.sizes))
            tables[there[starts]] += np.add.reduceat(scores, starts, axis=0, dtype=np.int32)
        return tables

    def labels(self) -> Labels:
        k = self.categories
        return Labels(np.full(k, "count"), np.zeros(k, dtype=np.int64), np.arange(k))


class WeightedOracle(FrequencyOracle):
    """An oracle whose reports have one of two weights; subclasses end in the fields `weight_in` and `weight_out`.

    Raises CalibrationError unless 1 <= weight_out < weight_in, `total` is at most 2^32 and the certificate holds.
    """

    weight_in: int
    weight_out: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.weight_out < self.weight_in or self.total > WORD:
            raise CalibrationError(
                f"{self.name} needs 1 <= weight_out < weight_in and a total of at most 2^32, got weights {self.weight_in} and "
                f"{self.weight_out}; leave them out to have them computed"
            )
        self.check_certificate()

    @property
    @abstractmethod
    def total(self) -> int:
        """T, the number of equally likely draws of a report's weight."""

    def certificate(self) -> Certificate:
        return Certificate("ratio", Fraction(self.weight_in, self.weight_out), self.budget)
