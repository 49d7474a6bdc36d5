"""Trade-off curves: the least error of the second kind that any test can have, by its level, exactly.

(epsilon, delta)-privacy is a statement about this curve alone (proposition 1 of [BarberDuchi2014]): for all tests and both
orders of two neighbours, e^epsilon level + second error >= 1 - delta.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from dpcore.laboratory.definitions.channel import Channel
from dpcore.laboratory.definitions.promise import Promise


def trade_off(p: Sequence[Fraction], q: Sequence[Fraction]) -> tuple[tuple[Fraction, Fraction], ...]:
    """Return the knots (level, least second error) of testing P against Q, from level 0 to 1; linear in between.

    Neyman and Pearson: reject for the outputs with the largest q_z / p_z first.

    >>> trade_off((Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4)))[1]
    (Fraction(1, 4), Fraction(1, 4))
    """
    both = [(left, right) for left, right in zip(p, q, strict=True) if left or right]
    both.sort(key=lambda pair: (pair[0] == 0, pair[1] / pair[0] if pair[0] else 0), reverse=True)
    level, error = Fraction(0), Fraction(1)
    knots = [(level, error)]
    for left, right in both:
        level, error = level + left, error - right
        if left == 0:
            knots[-1] = (level, error)
        else:
            knots.append((level, error))
    return tuple(knots)


def least_error(knots: Sequence[tuple[Fraction, Fraction]], level: Fraction) -> Fraction:
    """Return the least second error at a level in [0, 1], between knots as `trade_off` gives them."""
    for (left, high), (right, low) in pairwise(knots):
        if left <= level <= right and right > left:
            return high + (low - high) * (Fraction(level) - left) / (right - left)
    return knots[-1][1]


def trade_off_of_channel(channel: Channel, level: Fraction) -> Fraction:
    """Return the least second error of any test of that level between any two neighbours."""
    return min(least_error(trade_off(p, q), level) for p, q in channel.pairs())


def trade_off_of_promise(promise: Promise, level: Fraction) -> Fraction:
    """Return the least second error that a promise allows, max(0, 1 - delta - r level, (1 - delta - level) / r)."""
    return 1 - promise.power(level)


def gaussian_trade_off(shift: float, level: float) -> float:
    """Return the least second error of testing N(0, 1) against N(shift, 1) at a level in (0, 1)."""
    from scipy.special import ndtr, ndtri

    return float(ndtr(-ndtri(level) - shift))
