"""Unary encoding: one bit per category, one for the true category; every bit is sent with independent noise.

Variant "symmetric" (SUE, basic one-time RAPPOR) flips all bits with equal probability [Erlingsson2014].  Variant "optimized"
(OUE) sends the true bit as a fair coin and spends the whole budget on the others, the large majority [Wang2017].
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, isqrt, prod
from typing import Any

import numpy as np

from dpcore._random import WORD, Source
from dpcore.errors import CalibrationError, SchemeError, check_one_of, check_whole
from dpcore.mechanisms import _kernels
from dpcore.mechanisms.base import Certificate
from dpcore.mechanisms.categorical.frequency_oracle import FrequencyOracle
from dpcore.mechanisms.declaration import Option, mechanism
from dpcore.mechanisms.observation_model import ScoreSums
from dpcore.mechanisms.reports import Reports, chunks, one_of_level_zero
from dpcore.privacy.budget import Budget

VARIANTS = ("symmetric", "optimized")
_BITS = 32  # bits of one integer of a report
_COIN_BITS = 32  # probabilities are multiples of 2^-32: rounding stays below 2^-20 of them up to epsilon = 8
_CHUNK = 1 << 22  # random words held at once
_DRAWN = 1 << 15  # integers that are drawn at a time: they stay in a core's cache
_COUNTED = 1 << 17  # integers whose bits are counted at a time
_FEW = 256  # integers of one weight, below which adding them up is no longer worth a call
_SHORT = 8  # integers of a report, up to which sums along it are slower than sums of columns
_LANES = 32  # integers that the compiled loop adds up side by side


class BitCounts(FrequencyOracle):
    """A mechanism whose report is a bit for each category, one with another probability where it is true; bits are counted.

    Subclasses end in the fields `weight_true` and `weight_other`, of `total` equally likely draws of a bit.
    """

    weight_true: int
    weight_other: int

    @property
    def sizes(self) -> tuple[int, ...]:
        return (-(-self.categories // _BITS),)

    @property
    @abstractmethod
    def total(self) -> int:
        """T, the number of equally likely draws of one bit."""

    @property
    def truth_probability(self) -> Fraction:
        """p, the probability that the true category's bit is one."""
        return Fraction(self.weight_true, self.total)

    @property
    def other_probability(self) -> Fraction:
        """q, the probability that any one other category's bit is one."""
        return Fraction(self.weight_other, self.total)

    def certificate(self) -> Certificate:
        odds_true = Fraction(self.weight_true, self.total - self.weight_true)
        odds_other = Fraction(self.weight_other, self.total - self.weight_other)
        return Certificate("ratio", odds_true / odds_other, self.budget)

    def channel(self) -> tuple[np.ndarray, ...] | None:
        """Return the weights, (k, 2^k), of Python integers as they exceed 64 bits, or None for k above 10."""
        if self.categories > 10:
            return None
        weights = [
            [prod(self._weight(z >> bit & 1, bit == true) for bit in range(self.categories)) for z in self._reports]
            for true in range(self.categories)
        ]
        return (np.array(weights, dtype=object),)

    @property
    def _reports(self) -> range:
        return range(1 << self.categories)

    def _weight(self, one: int, is_true: bool) -> int:
        weight = self.weight_true if is_true else self.weight_other
        return weight if one else self.total - weight

    def ranges(self, level: int) -> tuple[np.ndarray, np.ndarray]:
        (size,) = self.sizes
        highest = np.full(size, WORD - 1, dtype=np.int64)
        highest[-1] = (1 << (self.categories - _BITS * (size - 1))) - 1
        return np.zeros(size, dtype=np.int64), highest

    def furthest(self, weights: np.ndarray, clients: int) -> Reports:
        return one_of_level_zero(packed(np.asarray(weights)[None, :] > 0))

    def statistics(self, reports: Reports) -> np.ndarray:
        (size,) = self.sizes
        rows = reports.values.reshape(-1, size)
        ones = np.zeros(size * _BITS, dtype=np.int64)
        loop = _kernels.chosen(_kernels.unary_ones, len(reports.values))
        most = max(1, _COUNTED // size)
        for first in range(0, len(rows), most):
            part = rows[first : first + most]
            ones += _ones(part) if loop is None else _ones_by(loop, part)
        return ones[: self.categories]

    def scores(self, reports: Reports) -> np.ndarray:
        rows = reports.values.reshape(-1, *self.sizes).astype("<u4").view(np.uint8)
        return np.unpackbits(rows, axis=1, count=self.categories, bitorder="little").view(np.int8)

    def marginal_laws(self) -> tuple[np.ndarray, ...]:
        """Return the distribution of the number of ones, 0..k: of the true bit and k - 1 others."""
        from scipy.special import gammaln, xlog1py, xlogy  # nobody but the aggregator asks

        p, q, k = float(self.truth_probability), float(self.other_probability), self.categories
        ones = np.arange(k)
        choices = gammaln(k) - gammaln(ones + 1) - gammaln(k - ones)
        others = np.exp(choices + xlogy(ones, q) + xlog1py(k - 1 - ones, -q))
        return (np.append((1 - p) * others, 0.0) + np.append(0.0, p * others),)

    def marginals(self, reports: Reports) -> np.ndarray:
        (size,) = self.sizes
        rows = reports.values.reshape(-1, size)
        histogram, most = np.zeros(self.categories + 1, dtype=np.int64), max(1, _DRAWN // size)
        for first in range(0, len(rows), most):
            counts = np.bitwise_count(rows[first : first + most])
            if size > _SHORT:
                ones = counts.sum(axis=1, dtype=np.int64)
            else:
                ones = counts[:, 0].astype(np.int64)
                for column in counts.T[1:]:
                    ones += column
            histogram += np.bincount(ones, minlength=len(histogram))
        return histogram

    def simulate(self, counts: np.ndarray, random: Source) -> np.ndarray:
        generator = random.generator()
        counts = np.asarray(counts, dtype=np.int64)
        true = generator.binomial(counts, float(self.truth_probability))
        return np.asarray(true + generator.binomial(counts.sum() - counts, float(self.other_probability)))

    def model(self) -> ScoreSums:
        """Return the distribution of the bits, which are independent given the truth.

        At frequency 0 one report's variance is 4 e^epsilon / (e^epsilon - 1)^2 where the variant is optimized, and
        e^(epsilon/2) / (e^(epsilon/2) - 1)^2 where it is symmetric.
        """
        p, q = self.truth_probability, self.other_probability
        return ScoreSums(self.categories, p, q, p, q, p * q, q * q)


@mechanism(
    "unary_encoding",
    attributes={"categorical"},
    estimators=("frequency",),
    words="one bit for each category, every bit turned over at random with a known probability",
    options=(Option("variant", str, choices=VARIANTS, default="optimized", words="which coins turn the bits"),),
)
@dataclass(frozen=True)
class UnaryEncoding(BitCounts):
    """Report k bits, 32 to an integer, least significant first: bit x is one with p for the true x, with q for any other.

    categories: k, 2..10,000.  p = weight_true / T and q = weight_other / T with T = 2^coin_bits <= 2^32, and
    0 < q < p < 1.  Bits beyond k are zero.

    Privacy.  Claim: Pr(z | x) <= e^epsilon Pr(z | x') for all x, x', z.
        1. Bits are drawn independently: bit y is one for exactly weight_true of T draws if y is true, else weight_other.
        2. Pr(z | x) / Pr(z | x') has the factors of bits x and x' alone; all other bits are drawn alike.
        3. Bit x contributes p/q where it is one, (1-p)/(1-q) where zero; bit x' the inverse of these.
        4. As p > q, the product is largest at one and zero: p (1-q) / (q (1-p)), an exact fraction.
        5. The constructor refuses it above E, a rational lower bound of e^epsilon.

    Raises CalibrationError where the weights break the claim.
    """

    coin_bits: int
    weight_true: int
    weight_other: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(1, _COIN_BITS, coin_bits=self.coin_bits)
        if not 1 <= self.weight_other < self.weight_true < self.total:
            raise CalibrationError(
                f"unary_encoding needs 1 <= weight_other < weight_true < 2^coin_bits, got weights {self.weight_true} and "
                f"{self.weight_other} with coin_bits = {self.coin_bits}; leave them out to have them computed"
            )
        self.check_certificate()

    @classmethod
    def design(cls, budget: Budget, *, categories: int, variant: str = "optimized") -> UnaryEncoding:
        """Return the mechanism that keeps `budget`; variant 'symmetric' or 'optimized'."""
        check_one_of(VARIANTS, variant=variant)
        total, ratio = 1 << _COIN_BITS, budget.ratio_floor
        if variant == "optimized":
            true, other = total // 2, ceil(total / (ratio + 1))  # rounds up: the loss stays within e^epsilon
        else:
            scale = 1 << 128
            root = Fraction(isqrt(floor(ratio * scale)), 1 << 64)  # at most the square root
            true = floor(total * root / (1 + root))
            other = total - true
        if other >= true:
            raise SchemeError(f"epsilon = {budget.text} is too small for 32-bit weights; it must be above about 2^-29")
        return cls(budget, categories, _COIN_BITS, true, other)

    @property
    def total(self) -> int:
        """T, the number of equally likely draws of one bit."""
        return 1 << self.coin_bits

    @property
    def variant(self) -> str:
        """'symmetric' where a true and a false bit are kept alike, else 'optimized'."""
        return VARIANTS[self.weight_true + self.weight_other != self.total]

    def privatize(self, values: np.ndarray, random: Source, levels: np.ndarray | None = None) -> Reports:
        values = self.input_cells(values)
        (size,) = self.sizes
        n, most = len(values), max(1, _CHUNK // size)
        rows = np.empty((n, size), dtype=np.int64)
        for first in range(0, n, most):
            part = values[first : first + most]
            rows[first : first + most] = self._coins(len(part) * size, random).reshape(-1, size)
        rows[:, -1] &= (1 << (self.categories - _BITS * (size - 1))) - 1  # no bit beyond the last category
        one, sent = random.residues(self.total, n) < self.weight_true, rows.reshape(-1)
        for few in chunks(n):
            true = values[few]
            place = np.arange(few.start, few.stop) * size + (true >> 5)
            mask = np.int64(1) << (true & (_BITS - 1))
            sent[place] = (sent[place] & ~mask) | (mask * one[few])
        return Reports(np.zeros(n, dtype=np.uint8), sent)

    def _coins(self, count: int, random: Source) -> np.ndarray:
        """`count` integers of 32 independent bits, each one with probability q exactly, int64.

        A bit is [u < weight_other], u of `coin_bits` random bits.  Comparing from the least significant bit up, u is less so
        far if its bit is below the weight's, or equal to it and u was less before; 32 comparisons share a word.
        """
        less = np.zeros(count, dtype=np.uint32)
        for bit in range(self.coin_bits):
            combine = np.bitwise_or if self.weight_other >> bit & 1 else np.bitwise_and
            for first in range(0, count, _DRAWN):  # few words at a time, in their order
                part = less[first : first + _DRAWN]
                combine(~random.words(len(part)), part, out=part)
        return less.astype(np.int64)


def packed(ones: np.ndarray) -> np.ndarray:
    """Return the integers of reports, flat int64, whose bits are one where `ones`, (n, k), is true."""
    n, k = ones.shape
    bits = np.zeros((n, -(-k // _BITS) * _BITS), dtype=np.uint8)
    bits[:, :k] = ones
    return np.packbits(bits, axis=1, bitorder="little").view("<u4").astype(np.int64).ravel()


def _ones(rows: np.ndarray) -> np.ndarray:
    """How many of the rows (n, size), of 32-bit integers, have each bit, (32 size,), n >= 1.

    Bits are added before they are counted: a full adder turns three rows into their sum and their carry, which weighs twice
    as much, for five operations on all 32 bits at once, until few rows of each weight are left.
    """
    size, few = rows.shape[1], max(2, _FEW // rows.shape[1])
    rows, left, weight = rows.astype("<u4"), [], 1  # a copy, which is written on
    while len(rows):
        carries, n, carried = np.empty((len(rows) // 2, size), dtype="<u4"), len(rows), 0
        while n > few:
            m = n // 3
            one, two, three = rows[:m], rows[m : 2 * m], rows[2 * m : 3 * m]
            carry = np.bitwise_and(one, two, out=carries[carried : carried + m])
            one ^= two
            carry |= np.bitwise_and(one, three, out=two)
            one ^= three  # the sum, where the first row was
            rows[m : n - 2 * m] = rows[3 * m : n]
            n, carried = n - 2 * m, carried + m
        left.append((weight, rows[:n]))
        rows, weight = carries[:carried], 2 * weight
    return _weighed(left)


def _ones_by(loop: Callable[..., Any], rows: np.ndarray) -> np.ndarray:
    """The same by the compiled loop, which adds up rows of several reports side by side."""
    n, size = rows.shape
    beside = max(1, _LANES // size)
    m = n // (2 * beside)
    sums, held = np.zeros((2, m.bit_length() + 2, beside, size), dtype="<u4")
    lanes = beside * size
    added = rows[: 2 * m * beside].reshape(2 * m, lanes)
    loop(added, sums.reshape(-1, lanes), held.reshape(-1, lanes), np.empty(lanes, dtype=np.uint32))
    digits = [(1 << digit, part) for digits in (sums, held) for digit, part in enumerate(digits)]
    return _weighed([*digits, (1, rows[2 * m * beside :].astype("<u4"))])


def _weighed(left: Sequence[tuple[int, np.ndarray]]) -> np.ndarray:
    """The sum of the bits of some rows (m, size), each with its weight, (32 size,), int64."""
    bits = np.unpackbits(np.concatenate([rows for _, rows in left]).view(np.uint8), axis=1, bitorder="little")
    weights = np.repeat([float(weight) for weight, _ in left], [len(rows) for _, rows in left])
    return (weights @ bits).astype(np.int64)  # exact below 2^53
