"""Draws from integer weights of any size, exact, and the rational that replaces exp(-epsilon / d).

An exponential mechanism gives a candidate of loss l the weight exp(-epsilon l / d).  Floating-point exponentials would round
those weights, and neighbouring databases apart.  Here exp(-epsilon / d) is a rational q at or above it, so that q^l is one,
all weights are integers over one denominator, and the largest ratio of two probabilities is a fraction that can be proved.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate
from math import ceil

import numpy as np

from dpcore._random import WORD, Source
from dpcore.errors import SchemeError, check_within
from dpcore.privacy.budget import Budget

_BITS = 16  # q is rounded up by at most 2^-16 of 1 - q: so much of epsilon is left unspent
_DIGITS = 256  # binary digits of a rounded power
_LARGEST = 1 << 33  # bits of all weights together: a gigabyte


def ratio_above(budget: Budget, divisor: int) -> Fraction:
    """Return a rational q, exp(-epsilon / divisor) <= q < 1, its denominator a power of two; divisor: >= 1.

    Raises SchemeError where epsilon / divisor is too small to be distinguished from zero.
    """
    check_within(1, 1 << 40, divisor=divisor)
    step = budget.floor / divisor
    bits = _BITS + max(0, ceil(1 / step).bit_length())
    lower = budget.ratio_floor if divisor == 1 else Budget(rational=step).ratio_floor
    if lower <= 1:
        raise SchemeError(f"epsilon = {budget.text} over {divisor} cannot be distinguished from zero; raise epsilon")
    return Fraction(ceil(Fraction(1 << bits) / lower), 1 << bits)


def powers(q: Fraction, losses: Iterable[int]) -> dict[int, int]:
    """Return for each different loss l an integer weight proportional to q^l; losses: whole numbers.

    Raises SchemeError where the weights together would not fit a gigabyte.
    """
    different = sorted({int(loss) for loss in losses})
    least, reach = different[0], different[-1] - different[0]
    bits = q.denominator.bit_length() - 1
    if bits * reach * len(different) > _LARGEST:
        raise SchemeError(
            f"losses over a range of {reach} units need weights of {bits * reach} bits, too many for {len(different)} of "
            "them; take fewer records, a coarser lattice or the approximate mechanism"
        )
    weights, power, at = {}, 1, least
    for loss in different:
        power *= q.numerator ** (loss - at)
        at = loss
        weights[loss] = power << (bits * (different[-1] - loss))
    return weights


def power_above(base: Fraction, exponent: int) -> Fraction:
    """Return base^exponent, base >= 1, rounded up by at most one part in 2^200: exact while the digits are few."""
    result = Fraction(1)
    while exponent:
        if exponent & 1:
            result = _rounded_up(result * base)
        base = _rounded_up(base * base)
        exponent >>= 1
    return result


def below(bound: int, random: Source) -> int:
    """Return one uniform integer in [0, bound), whatever its size; exact."""
    bits = (bound - 1).bit_length()
    words = -(-bits // 32)
    while True:
        value = int.from_bytes(random.words(words).astype("<u4").tobytes(), "little") >> (32 * words - bits)
        if value < bound:
            return value


def draw(weights: Sequence[int], size: int, random: Source) -> np.ndarray:
    """Return `size` independent indices, each with probability its weight over their sum, shape (size,), int64; exact.

    >>> from dpcore._random import seeded
    >>> draw([0, 3, 0], 4, seeded(1)).tolist()
    [1, 1, 1, 1]
    """
    cumulative = list(accumulate(int(weight) for weight in weights))
    if not cumulative or cumulative[-1] <= 0:
        raise SchemeError("weights must be whole numbers with a sum above 0")
    if cumulative[-1] <= WORD:
        drawn = random.below(cumulative[-1], size)
        return np.searchsorted(np.array(cumulative, dtype=np.int64), drawn, side="right")
    return np.array([bisect_right(cumulative, below(cumulative[-1], random)) for _ in range(size)], dtype=np.int64)


def law(weights: Sequence[int]) -> tuple[Fraction, ...]:
    """Return the probabilities that weights represent."""
    total = sum(weights)
    return tuple(Fraction(int(weight), total) for weight in weights)


def largest_ratio(first: Sequence[Fraction], second: Sequence[Fraction]) -> Fraction | None:
    """Return the largest ratio of two probabilities of one outcome, either way up; None where only one of them is 0."""
    ratios = [Fraction(1)]
    for p, q in zip(first, second, strict=True):
        if (p == 0) != (q == 0):
            return None
        if p:
            ratios.append(max(p / q, q / p))
    return max(ratios)


def _rounded_up(value: Fraction) -> Fraction:
    """value, or a fraction with a denominator of 2^_DIGITS just above it; value >= 1."""
    return value if value.denominator.bit_length() <= _DIGITS else Fraction(ceil(value * (1 << _DIGITS)), 1 << _DIGITS)
