"""Randomized response (k-ary: GRR, direct encoding): report the truth with some probability, else another category.

Source: [Warner1965]; k-ary form [Kairouz2016].  Design "two_coin" is Warner's as taught: toss a coin, heads report the truth,
tails toss again and answer by that coin.  Its loss is ln 3 exactly and its estimator is 2 mean - 1/2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpcore._random import Source
from dpcore.errors import SchemeError, check_one_of
from dpcore.mechanisms import _kernels
from dpcore.mechanisms.base import integer_weights
from dpcore.mechanisms.categorical.frequency_oracle import WeightedOracle
from dpcore.mechanisms.declaration import Option, mechanism
from dpcore.mechanisms.observation_model import ScoreSums
from dpcore.mechanisms.reports import Reports, chunks
from dpcore.privacy.budget import Budget

DESIGNS = ("two_coin",)


@mechanism(
    "randomized_response",
    attributes={"categorical"},
    estimators=("frequency",),
    words="one category: the true one with a known probability, otherwise another, drawn at random",
    names_one=True,
    options=(
        Option("design", str, choices=DESIGNS, is_kept=True, words='two coins, for yes or no at epsilon = "ln 3"'),
    ),
)
@dataclass(frozen=True)
class RandomizedResponse(WeightedOracle):
    """Report one of `categories`: the true one with weight `weight_in`, each other one with weight `weight_out`.

    categories: k, 2..10,000.  weight_in > weight_out >= 1, integers; a report is drawn by one integer below
    T = weight_in + (k - 1) weight_out <= 2^32.

    Privacy.  Claim: Pr(z | x) <= e^epsilon Pr(z | x') for all x, x', z.
        1. For every x the client draws r uniform on 0..T-1, T the same for all x.
        2. Exactly weight_in values of r lead to z = x, exactly weight_out to each z != x.
        3. So Pr(z | x) is weight_in / T or weight_out / T, whatever x.
        4. Every ratio is at most weight_in / weight_out, an exact fraction.
        5. The constructor refuses weight_in / weight_out > E, a rational lower bound of e^epsilon.

    Raises CalibrationError where the weights break the claim.
    """

    weight_in: int
    weight_out: int

    @classmethod
    def design(cls, budget: Budget, *, categories: int, design: str | None = None) -> RandomizedResponse:
        """Return the mechanism that keeps `budget` with the least variance its integer weights allow."""
        if design is not None:
            check_one_of(DESIGNS, design=design)
            if categories != 2 or budget != Budget(ratio=Fraction(3)):
                raise SchemeError(
                    f'design = "two_coin" is for two categories at epsilon = "ln 3", got {categories} categories at '
                    f"epsilon = {budget.text}"
                )
        return cls(budget, categories, *integer_weights(budget, 1, categories - 1))

    @property
    def total(self) -> int:
        """T, the number of equally likely draws."""
        return self.weight_in + (self.categories - 1) * self.weight_out

    @property
    def truth_probability(self) -> Fraction:
        """p, the probability of saying the truth."""
        return Fraction(self.weight_in, self.total)

    @property
    def other_probability(self) -> Fraction:
        """q, the probability of saying any one other category."""
        return Fraction(self.weight_out, self.total)

    def channel(self) -> tuple[np.ndarray, ...] | None:
        """Return the integer weights, (k, k), or None above 2^22 entries."""
        if self.categories**2 > 1 << 22:
            return None
        weights = np.full((self.categories, self.categories), self.weight_out, dtype=np.int64)
        np.fill_diagonal(weights, self.weight_in)
        return (weights,)

    def privatize(self, values: np.ndarray, random: Source, levels: np.ndarray | None = None) -> Reports:
        values = self.input_cells(values)
        drawn = random.residues(self.total, len(values))
        reported = np.empty(len(values), dtype=np.int64)
        loop = _kernels.chosen(_kernels.randomized_response, len(values))
        if loop is not None:
            loop(drawn, values, self.weight_in, self.weight_out, reported)
            return Reports(np.zeros(len(values), dtype=np.uint8), reported)
        for part in chunks(len(values)):
            true, other = values[part].astype(np.uint32), np.maximum(drawn[part], np.uint32(self.weight_in))
            other -= np.uint32(self.weight_in)
            other //= np.uint32(self.weight_out)  # 0..k-2, the others in order
            other += other >= true  # skip the truth
            reported[part] = np.where(drawn[part] < self.weight_in, true, other)
        return Reports(np.zeros(len(values), dtype=np.uint8), reported)

    def ranges(self, level: int) -> tuple[np.ndarray, np.ndarray]:
        return np.array([0]), np.array([self.categories - 1])

    def statistics(self, reports: Reports) -> np.ndarray:
        return np.bincount(reports.values, minlength=self.categories).astype(np.int64)

    def simulate(self, counts: np.ndarray, random: Source) -> np.ndarray:
        """Return random counts: with probability p - q a client reports the truth, else a uniform category."""
        generator = random.generator()
        counts = np.asarray(counts, dtype=np.int64)
        truthful = generator.binomial(counts, float(self.truth_probability - self.other_probability))
        rest = int(counts.sum() - truthful.sum())
        return truthful + generator.multinomial(rest, np.full(self.categories, 1 / self.categories))

    def model(self) -> ScoreSums:
        """Return the distribution of the scores: one for the reported category."""
        p, q, none = self.truth_probability, self.other_probability, Fraction(0)
        return ScoreSums(self.categories, p, q, p, q, none, none)
