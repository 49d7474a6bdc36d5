"""A figure for an attribute, a round, several rounds: (epsilon, delta) of what is published, between two bounds.

Levels are public, so that whoever is at level l hides among those at it: the crowd there is n times its share, and delta is the
levels' average at one epsilon.  A crowd is never averaged.  Who reports one of several units hides among those of the unit, in
the same way.  Attributes whose reports are counted together (pairs) are one channel: its ratio is the product of theirs.  What
is published in groups by a label has the group as its crowd.  Figures of attributes and rounds add up, epsilons and deltas.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

from dpcore.errors import check_within
from dpcore.privacy.shuffling.channel import Level

_TOLERANCE = 3e-5  # of epsilon
_STEPS = 80
_NEARLY = 0.98  # of the local epsilon, above which nobody needs to know
_TINY = 1e-290
_ENOUGH = 1e3  # times delta


@dataclass(frozen=True, kw_only=True)
class Figure:
    """The epsilon, at a delta, that a crowd of so many leaves of what is published: at least `low`, at most `epsilon`."""

    epsilon: float
    low: float
    delta: float
    reports: int

    def __add__(self, other: Figure) -> Figure:
        """Both are published, of the same person; of both together, at both deltas, no attack is known."""
        return Figure(
            epsilon=self.epsilon + other.epsilon,
            low=0.0,
            delta=self.delta + other.delta,
            reports=min(self.reports, other.reports),
        )


def jointly(channels: Sequence[Sequence[Level]]) -> tuple[Level, ...]:
    """Return the levels of several attributes whose reports are counted together, of one person.

    The distance of two products is at most 1 - the product of what is not apart; least probabilities multiply. Who sees one
    attribute's alone sees less, so that its attacks stay.
    """
    if len(channels) == 1:
        return tuple(channels[0])
    return tuple(
        Level(
            ratio=math.prod(level.ratio for level in levels) * (1 + 1e-14),
            distance=min(1.0, (1 - math.prod(1 - level.distance for level in levels)) * (1 + 1e-14) + 1e-15),
            mass=math.prod(level.mass for level in levels) * (1 - 1e-14),
            share=math.prod(level.share for level in levels),
            attacks=tuple(attack for level in levels for attack in level.attacks),
        )
        for levels in product(*channels)
    )


def published(
    levels: Sequence[Level], reports: int, delta: float, crowd: float = 1.0, *, attacked: bool = True
) -> Figure:
    """Return the figure of one attribute, or of several that are counted together, for a crowd of so many reports.

    crowd: the share of the others who report this at all, where each reports one of several units.  attacked: whether a lower
    bound is looked for; else it is 0.

    >>> four = Level(ratio=math.exp(4))
    >>> round(published([four], 100_000, 1e-6).epsilon, 4)
    0.1182
    """
    check_delta(delta)

    most = math.log(max(level.ratio for level in levels)) * (1 + 1e-15)
    rarest = sorted(Counter(levels).items(), key=lambda entry: entry[0].share)
    guess = 5 * math.sqrt(max(level.blanket.telling / (level.share * crowd) for level in levels) / reports)

    def epsilon(side: Callable[[Level], Callable[..., float]], most: float, guess: float) -> tuple[float, float]:
        def average(epsilon: float) -> float:
            total = 0.0
            for level, many in rarest:
                total += many * level.share * side(level)(reports, epsilon, crowd)
                if total > _ENOUGH * delta:  # too much already
                    break
            return total

        return least_epsilon(average, delta, most, guess)

    high = epsilon(lambda level: level.above, most, guess)[1]
    low = epsilon(lambda level: level.below, high, high * _NEARLY * (1 - _TOLERANCE))[0] if attacked else 0.0
    return Figure(epsilon=high, low=low, delta=delta, reports=reports)


def least_epsilon(bound: Callable[[float], float], delta: float, most: float, guess: float) -> tuple[float, float]:
    """Return (low, high): bound(low) > delta >= bound(high), or low = 0, or high = `most`, whose delta is 0 by what it is.

    bound: falls in epsilon.  guess: where to look first.  Both are close to each other; the line through the logarithms says
    where to look next.
    """
    if most <= 0 or (at_zero := bound(0.0)) <= delta:
        return 0.0, 0.0
    (low, above), (high, below) = (0.0, math.log(at_zero / delta)), (most, math.log(_TINY))
    guess = min(guess, most * _NEARLY)
    for step in range(_STEPS):
        found = math.log(max(bound(guess) / delta, _TINY))
        if found > 0:
            low, above = guess, found
            if step == 0 and low == most * _NEARLY:
                break
        else:
            high, below = guess, found
        least = _TOLERANCE * high
        if high - low <= least:
            break
        guess = (low + high) / 2
        if below > math.log(_TINY) and step % 4 != 3:
            guess = (
                low + (high - low) * above / (above - below) + (0.3 if found > 0 else -0.3) * least
            )  # to the other side
        guess = min(max(guess, low + 0.1 * least), high - 0.1 * least)
    return low, high


def upward(epsilon: float) -> str:
    """Return three digits that are not below it.

    >>> upward(0.11815), upward(1.0)
    ('0.119', '1')
    """
    if epsilon <= 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - 2)
    return f"{math.ceil(epsilon / unit - 1e-9) * unit:.3g}"


def check_delta(delta: float) -> None:
    """Raise SchemeError unless 0 < delta <= 1/100."""
    check_within(1e-15, 0.01, delta=delta)
