"""Stated bits: one bit for each category, as RAPPOR's on one-hot bits [Erlingsson2014]; bits are counted, as our own are."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf, lcm

import numpy as np

from dpcore._random import WORD, Source
from dpcore.errors import SchemeError
from dpcore.mechanisms.base import Certificate
from dpcore.mechanisms.categorical.unary_encoding import BitCounts, packed
from dpcore.mechanisms.declaration import mechanism
from dpcore.mechanisms.reports import Reports
from dpcore.mechanisms.stated.stated_channel import MIXED, WORDS, budget_of_ratio
from dpcore.privacy.budget import Budget

_DRAWN = 1 << 22  # bits at once


@mechanism("stated", attributes={"categorical"}, estimators=("frequency",), words=WORDS, is_asked=False)
@dataclass(frozen=True)
class StatedBits(BitCounts):
    """Report k bits, 32 to an integer, least significant first: bit x is one with p for the true x, with q for any other.

    p = weight_true / draws and q = weight_other / draws, 0 <= q < p <= 1, draws at most 2^32.  The claim, and why it holds, are
    those of `UnaryEncoding`; the ratio is infinite where p is 1 or q is 0.
    """

    draws: int
    weight_true: int
    weight_other: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.weight_other < self.weight_true <= self.draws <= WORD:
            raise SchemeError(
                f"bits need 0 <= weight_other < weight_true <= draws <= 2^32, got {self.weight_other}, {self.weight_true} and "
                f"{self.draws}: a true bit must be one more often, and rates have few digits"
            )
        self.check_certificate()

    @classmethod
    def from_rates(cls, budget: Budget | None, categories: int, true: Fraction, other: Fraction) -> StatedBits:
        """Return the bits with these probabilities of one; budget: the promised one, by default the certified one."""
        draws = lcm(true.denominator, other.denominator)
        promised = budget_of_ratio(_ratio(true, other)) if budget is None else budget
        return cls(promised, categories, draws, int(true * draws), int(other * draws))

    @property
    def total(self) -> int:
        return self.draws

    def certificate(self) -> Certificate:
        return Certificate("ratio", _ratio(self.truth_probability, self.other_probability), self.budget)

    @property
    def nearest(self) -> Budget:
        """The epsilon if 1 in 100 bits were a fair coin instead."""
        true, other = ((1 - MIXED) * share + MIXED / 2 for share in (self.truth_probability, self.other_probability))
        return budget_of_ratio(_ratio(true, other))

    def privatize(self, values: np.ndarray, random: Source, levels: np.ndarray | None = None) -> Reports:
        values, k = self.input_cells(values), self.categories
        parts = []
        most = max(1, _DRAWN // k)
        for first in range(0, len(values), most):
            few = values[first : first + most]
            ones = np.where(few[:, None] == np.arange(k), self.weight_true, self.weight_other)
            parts.append(packed(random.residues(self.draws, ones.size).reshape(ones.shape) < ones))
        return Reports(np.zeros(len(values), dtype=np.uint8), np.concatenate([np.zeros(0, dtype=np.int64), *parts]))


def _ratio(true: Fraction, other: Fraction) -> Fraction | float:
    return inf if true == 1 or other == 0 else true * (1 - other) / (other * (1 - true))
