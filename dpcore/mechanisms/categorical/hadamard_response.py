"""Hadamard response: report one of K symbols, more likely one on which the category's Hadamard row is +1.

Source: [Acharya2019], their high-privacy form (one block).  A report is one integer and an aggregate costs one fast
Walsh-Hadamard transform.  Ours uses the odd rows only, with K >= 2k: the product of two odd rows is an even one, so that
any three rows are independent, covariances are the same for all categories, and the symbol splits into a uniform column
and one bit.  The variance does not depend on K.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpcore._random import Source
from dpcore.mechanisms import _kernels
from dpcore.mechanisms.base import integer_weights
from dpcore.mechanisms.categorical.frequency_oracle import WeightedOracle
from dpcore.mechanisms.declaration import mechanism
from dpcore.mechanisms.observation_model import ScoreSums
from dpcore.mechanisms.report_sums import by_ranges
from dpcore.mechanisms.reports import Reports, chunks, one_of_level_zero
from dpcore.privacy.budget import Budget

_TABLE = 1 << 22  # symbols of all groups that are counted at once


@mechanism(
    "hadamard_response",
    attributes={"categorical"},
    estimators=("frequency",),
    title="Hadamard response",
    words="one symbol, drawn at random; the category makes half of the symbols likelier",
)
@dataclass(frozen=True)
class HadamardResponse(WeightedOracle):
    """Report a symbol z = 2 j + bit of 0..K-1, K = 2 s; category x favours S_x, the symbols with parity(x & j) = bit.

    categories: k, 2..10,000.  s is the least power of two of at least k.  weight_in >= weight_out >= 1, integers, with a
    sum of at most 2^32.

    Privacy.  Claim: Pr(z | x) <= e^epsilon Pr(z | x') for all x, x', z.
        1. The client draws j uniform on 0..s-1, whatever x, and r uniform on 0..weight_in + weight_out - 1.
        2. It sends the bit that puts z in S_x for exactly weight_in values of r, the other bit for weight_out values.
        3. So Pr(z | x) is weight_in / T or weight_out / T, T = s (weight_in + weight_out) the same for all x.
        4. Every ratio is at most weight_in / weight_out, an exact fraction.
        5. The constructor refuses weight_in / weight_out > E, a rational lower bound of e^epsilon.

    Raises CalibrationError where the weights break the claim.
    """

    weight_in: int
    weight_out: int

    @classmethod
    def design(cls, budget: Budget, *, categories: int) -> HadamardResponse:
        """Return the mechanism that keeps `budget` with the least variance its integer weights allow."""
        return cls(budget, categories, *integer_weights(budget, 1, 1))

    @property
    def columns(self) -> int:
        """s, half the number of symbols: the least power of two of at least k."""
        return 1 << (self.categories - 1).bit_length()

    @property
    def symbols(self) -> int:
        """K = 2 s, how many reports there are."""
        return 2 * self.columns

    @property
    def total(self) -> int:
        """The number of equally likely draws of the bit."""
        return self.weight_in + self.weight_out

    @property
    def truth_probability(self) -> Fraction:
        """p, the probability of a symbol that supports the true category."""
        return Fraction(self.weight_in, self.total)

    @property
    def other_probability(self) -> Fraction:
        """q = 1/2, the probability of a symbol that supports any one other category."""
        return Fraction(1, 2)

    def supports(self, symbols: np.ndarray, category: np.ndarray | int) -> np.ndarray:
        """Return whether the category's row is +1 at the symbols, shape of the two broadcast, bool."""
        symbols = np.asarray(symbols, dtype=np.int64)
        return np.asarray(_parity((symbols >> 1) & category) == (symbols & 1))

    def channel(self) -> tuple[np.ndarray, ...] | None:
        """Return the integer weights, (k, K), or None above 2^22 entries."""
        if self.categories * self.symbols > 1 << 22:
            return None
        supported = self.supports(np.arange(self.symbols), np.arange(self.categories)[:, None])
        return (np.where(supported, self.weight_in, self.weight_out),)

    def privatize(self, values: np.ndarray, random: Source, levels: np.ndarray | None = None) -> Reports:
        values = self.input_cells(values)
        column = random.residues(self.columns, len(values))
        drawn = random.residues(self.total, len(values))
        symbols = np.empty(len(values), dtype=np.int64)
        loop = _kernels.chosen(_kernels.hadamard_response, len(values))
        if loop is not None:
            loop(column, drawn, values, self.weight_in, symbols)
            return Reports(np.zeros(len(values), dtype=np.uint8), symbols)
        for part in chunks(len(values)):
            bit = np.bitwise_count(values[part].astype(np.uint32) & column[part])
            bit &= 1
            bit ^= drawn[part] >= self.weight_in
            np.left_shift(column[part], 1, out=symbols[part])
            symbols[part] |= bit
        return Reports(np.zeros(len(values), dtype=np.uint8), symbols)

    def ranges(self, level: int) -> tuple[np.ndarray, np.ndarray]:
        return np.array([0]), np.array([self.symbols - 1])

    def furthest(self, weights: np.ndarray, clients: int) -> Reports:
        padded = np.zeros(self.columns)
        padded[: self.categories] = weights
        signed = walsh_hadamard(padded)  # of symbol 2 j; of 2 j + 1 it is the opposite
        column = int(np.argmax(np.abs(signed)))
        return one_of_level_zero(np.array([2 * column + int(signed[column] < 0)]))

    def statistics(self, reports: Reports) -> np.ndarray:
        return self.tally(reports)[0]

    def statistics_by(self, reports: Reports, groups: np.ndarray, many: int) -> np.ndarray:
        if many * self.symbols > max(_TABLE, len(reports)):
            return super().statistics_by(reports, groups, many)
        return self.of_outputs(self._outputs_by(reports, groups, many), 1)

    @property
    def reads_outputs(self) -> bool:
        return True

    def of_outputs(self, counts: np.ndarray, axis: int) -> np.ndarray:
        first = np.moveaxis(counts, axis, 0)
        signed = walsh_hadamard(first[0::2] - first[1::2])[: self.categories]  # supporters minus the others
        return np.moveaxis((first.sum(axis=0) + signed) // 2, 0, axis)

    def scores(self, reports: Reports) -> np.ndarray:
        column, bit = (reports.values >> 1).astype(np.uint16), (reports.values & 1).astype(np.uint8)
        parity = np.bitwise_count(column[:, None] & np.arange(self.categories, dtype=np.uint16))
        parity &= 1
        return np.asarray(parity == bit[:, None]).view(np.int8)

    def _support(self, counts: np.ndarray) -> np.ndarray:
        """How many reports support each category, (k,), from how many named each symbol, (K,)."""
        return self.of_outputs(counts, 0)

    def marginal_laws(self) -> tuple[np.ndarray, ...]:
        """Return the uniform distribution of the column, over at most 256 ranges of columns."""
        return (by_ranges(np.full(self.columns, 1 / self.columns)),)

    def marginals(self, reports: Reports) -> np.ndarray:
        return self.tally(reports)[1]

    def tally(self, reports: Reports) -> tuple[np.ndarray, np.ndarray]:
        counts = np.bincount(reports.values, minlength=self.symbols).astype(np.int64, copy=False)
        return self._support(counts), by_ranges(counts[0::2] + counts[1::2])

    def simulate(self, counts: np.ndarray, random: Source) -> np.ndarray:
        generator = random.generator()
        counts = np.asarray(counts, dtype=np.int64)
        s = self.columns
        symbol_counts = np.zeros(self.symbols, dtype=np.int64)
        for category in np.flatnonzero(counts):
            truthful = int(generator.binomial(counts[category], float(self.truth_probability)))
            for size, out in ((truthful, 0), (int(counts[category]) - truthful, 1)):
                if size < s:
                    symbol_counts += np.bincount(
                        self._symbol(int(category), generator.integers(0, s, size), out), minlength=2 * s
                    )
                else:
                    symbol_counts[self._symbol(int(category), np.arange(s), out)] += generator.multinomial(
                        size, np.full(s, 1 / s)
                    )
        return self._support(symbol_counts)

    def _symbol(self, category: int, column: np.ndarray, out: int) -> np.ndarray:
        return 2 * column + (_parity(category & column) ^ out)

    def model(self) -> ScoreSums:
        """Return the supports' distribution: a symbol supports two given categories with p/2, or 1/4 where both are false.

        At frequency 0 one report's variance is ((e^epsilon + 1) / (e^epsilon - 1))^2.
        """
        p, q = self.truth_probability, self.other_probability
        return ScoreSums(self.categories, p, q, p, q, p * q, q * q)


def _parity(values: np.ndarray) -> np.ndarray:
    """The number of one bits modulo two, int64."""
    return np.bitwise_count(values).astype(np.int64) & 1


def walsh_hadamard(values: np.ndarray) -> np.ndarray:
    """Return sum_j (-1)^parity(i & j) values_j for all i; values (s,), s a power of two; exact for integers.

    >>> walsh_hadamard(np.array([3, 1, 0, 2]))
    array([6, 0, 2, 4])
    """
    result = np.array(values)
    other, half = np.empty_like(result), len(result) // 2
    for _ in range(half.bit_length()):  # each step transforms one bit and puts it last; all of them put none elsewhere
        np.add(result[:half], result[half:], out=other[0::2])
        np.subtract(result[:half], result[half:], out=other[1::2])
        result, other = other, result
    return result
