"""The central epsilon by shuffling: when it exists, and its value for an attribute, a round and several rounds.

Levels are public, so that a client at level l hides among those at it: the crowd there is n times its share, and delta is the
levels' average at one epsilon.  A crowd is never averaged.  A client that reports one of several units hides among those of
the unit in the same way.  Attributes whose reports are counted together (pairs) are one channel: its ratio is the product of
theirs.  What is published in groups by a label has the group as its crowd.  Epsilons and deltas add up over attributes and
rounds.

Condition.  What is seen must be a function of the multiset of reports, and of nothing else.  The figure is for an observer of
what is published.  It is refused, with the reason, where something links a report to a person or to other reports of that
person, since then nobody hides in a crowd.  For anybody who sees reports (the collector's operator, a thief of a disk) the
local epsilon applies.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from statistics import NormalDist

from dpcore.errors import SchemeError, check_within
from dpcore.privacy.shuffling.channel import Level

CONDITION = (
    "and raw reports are deleted, carry no token and are not memoized; against anyone who sees a report, only the local "
    "epsilon protects"
)
CONDITION_OF_PAGE = (
    "if reports are deleted, carry no token and have fresh noise; for anyone who sees a report it is the ε above"
)
FEWEST = 50  # reports of a group that published results distinguish; with fewer there is no figure
_TOLERANCE = 3e-5  # of epsilon
_LINES, _STEPS = 8, 80  # so many steps by lines, then by halves
_NEARLY = 0.98  # of the local epsilon, above which nobody needs to know
_CLOSE = 0.999  # of what is not below it, where a lower bound is looked for first


@dataclass(frozen=True, kw_only=True)
class Publication:
    """What is true of a round beside its scheme.

    tokens: whether any report has one. memoized: whether clients give a remembered answer again. keeps_reports: whether files
    of reports stay. in_order: whether what is published shows how it grew as reports came. least_cell: the fewest reports in
    any group that published results distinguish, None where there are no groups. delta: what the scheme's own noise leaves
    open.
    """

    tokens: bool = False
    memoized: bool = False
    keeps_reports: bool = False
    in_order: bool = False
    least_cell: int | None = None
    delta: float = 0.0

    @property
    def refusals(self) -> tuple[str, ...]:
        """Why there is no second figure, each a clause; none where there is one.

        >>> Publication(tokens=True).refusals
        ('reports carry tokens, which link those of one client',)
        """
        few = self.least_cell is not None and self.least_cell < FEWEST
        reasons = {
            "reports carry tokens, which link those of one client": self.tokens,
            "answers are remembered, so that a person's report comes again, and a rare one is known by it": self.memoized,
            "files of reports are kept, and they show more than what is published": self.keeps_reports,
            "what is published shows the order in which reports came, so that a report hides among few": self.in_order,
            f"published results distinguish a group of {self.least_cell} reports, fewer than {FEWEST}": few,
            "noise is Gaussian, whose epsilon holds but for a delta of its own": self.delta > 0,
        }
        return tuple(reason for reason, holds in reasons.items() if holds)

    def require(self) -> None:
        """Raise SchemeError with the reasons where there is no second figure."""
        if self.refusals:
            raise SchemeError(
                "publication has no epsilon below the local one: "
                + "; ".join(self.refusals)
                + ". Publish sums of reports "
                "without tokens and memory, delete the reports, and merge small groups"
            )


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
    alike = Counter(levels)
    guess = 5 * math.sqrt(max(level.blanket.telling / (level.share * crowd) for level in levels) / reports)

    def above(epsilon: float) -> float:
        return sum(many * level.share * level.above(reports, epsilon, crowd) for level, many in alike.items())

    _, high = least_epsilon(above, delta, most, _NEARLY, guess)
    if not attacked:
        return Figure(epsilon=high, low=0.0, delta=delta, reports=reports)
    sharp = {level: level.sharpest(reports, high, crowd) for level in alike}

    def below(epsilon: float) -> float:
        return sum(many * level.share * sharp[level].below(reports, epsilon, crowd) for level, many in alike.items())

    low, _ = least_epsilon(below, delta, high, 1 - _TOLERANCE, high * _CLOSE)
    return Figure(epsilon=high, low=low, delta=delta, reports=reports)


def least_epsilon(
    bound: Callable[[float], float], delta: float, most: float, nearly: float, guess: float
) -> tuple[float, float]:
    """Return (low, high): bound(low) > delta >= bound(high), or low = 0, or high = `most`, which is enough by what it is.

    bound: falls in epsilon.  nearly: the part of `most` above which nobody looks.  guess: where to look first.  As sums of many
    reports are nearly normal, each computed delta is that of one draw of N(m, 1) against N(0, 1); the line through the last
    two m gives the next guess.
    """
    if most <= 0 or bound(0.0) <= delta:
        return 0.0, 0.0
    low, high, last, mean, slope = 0.0, most, 0.0, 0.0, 0.0
    for step in range(_STEPS):
        least = _TOLERANCE * high
        guess = min(max(guess, low + 0.1 * least), high - 0.1 * least, most * nearly)
        reached = bound(guess)
        low, high = (guess, high) if reached > delta else (low, guess)
        if low == most * nearly or high - low <= least:
            break
        before, mean = mean, _last(partial(_is_below, reached, guess), 0.0, 40.0)
        slope = (mean - before) / (guess - last) if step else 0.0
        last = guess
        guess = (low + high) / 2
        if step < _LINES:
            guess = _last(partial(_is_above, delta, mean - slope * last, slope), low, high)
            guess += 0.3 * least if last == low else -0.3 * least  # to the other side
    return low, high


def _gaussian(mean: float, epsilon: float) -> float:
    """The delta of one draw of N(mean, 1) against N(0, 1) ([DongRothSu2022], corollary 2.13)."""
    if mean <= 0:
        return 0.0
    law = NormalDist()
    return law.cdf(mean / 2 - epsilon / mean) - math.exp(epsilon) * law.cdf(-mean / 2 - epsilon / mean)


def _is_below(delta: float, epsilon: float, mean: float) -> bool:
    return _gaussian(mean, epsilon) < delta


def _is_above(delta: float, mean: float, slope: float, epsilon: float) -> bool:
    return _gaussian(mean + slope * epsilon, epsilon) > delta


def _last(holds: Callable[[float], bool], low: float, high: float) -> float:
    """About the last number of an interval for which it holds, of those up to which it does."""
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


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
