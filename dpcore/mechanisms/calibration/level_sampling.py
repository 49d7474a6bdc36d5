"""Distribution of the block that a client reports: public, and drawn independently of any value.

Noise energy grows as 4^j with the level, so that fine blocks need more clients; a floor keeps the coarse ones usable.
The distribution is pi_b = 1 / (2 B) + 2^{b/2} / (2 sum_i 2^{i/2}), in integer weights out of 2^16.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np

from dpcore._random import Source
from dpcore.errors import CalibrationError, SchemeError, check_within

TOTAL = 1 << 16
_ROOT_BITS = 64  # 2^{b/2} is floored to a multiple of 2^-32 before the division: far below 2^-16


def level_weights(blocks: int) -> tuple[int, ...]:
    """Return the distribution of the blocks as integers that sum to 2^16, by largest remainders; blocks: 1..16.

    >>> level_weights(2)
    (29957, 35579)
    """
    check_within(1, 16, blocks=blocks)
    roots = [math.isqrt(1 << (b + _ROOT_BITS)) for b in range(blocks)]
    exact = [TOTAL * (Fraction(1, 2 * blocks) + Fraction(root, 2 * sum(roots))) for root in roots]
    return apportion(exact)


def apportion(shares: Sequence[Fraction | int]) -> tuple[int, ...]:
    """Return integers proportional to the shares, which are at least 0, that sum to 2^16, by largest remainders.

    Ties go to the later share: the finer level, which is the noisier one.

    >>> apportion([2, 1])
    (43691, 21845)
    """
    if not shares or min(shares) < 0 or sum(shares) == 0:
        raise SchemeError(
            f"level_law must have numbers of at least 0, at least one of them above 0, got "
            f"{', '.join(map(str, shares)) or 'none'}"
        )
    exact = [Fraction(TOTAL) * share / sum(shares) for share in shares]
    weights = [math.floor(value) for value in exact]
    by_remainder = sorted(range(len(exact)), key=lambda b: (exact[b] - weights[b], b), reverse=True)
    for b in by_remainder[: TOTAL - sum(weights)]:
        weights[b] += 1
    return tuple(weights)


def check_weights(weights: tuple[int, ...], blocks: int) -> None:
    """Raise CalibrationError unless there is one weight of at least one per block, and they sum to 2^16."""
    whole = all(isinstance(weight, int) and not isinstance(weight, bool) for weight in weights)
    if not whole or len(weights) != blocks or min(weights) < 1 or sum(weights) != TOTAL:
        raise CalibrationError(
            f"level_law needs {blocks} positive integers that sum to {TOTAL}, got {list(weights)}; leave it out to have it "
            "computed"
        )


def draw_levels(weights: tuple[int, ...], n: int, random: Source) -> np.ndarray:
    """Return n independent draws from the distribution, shape (n,), uint8, exact."""
    drawn = random.residues(TOTAL, n).astype(np.uint16)
    levels = np.zeros(n, dtype=np.uint8)
    for threshold in list(accumulate(weights))[:-1]:
        levels += drawn >= threshold
    return levels
