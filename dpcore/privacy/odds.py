"""Odds: how often an observer of a report infers correctly which of two equally likely values it came from; guessing: half.

Two numbers of a channel bound it, both over all pairs of values:

- `ratio`, R: the largest ratio of the probabilities of one report.  Given the worst report, R / (1 + R) inferences are correct.
- `variation`, V: the largest total variation of the reports.  Over all reports, (1 + V) / 2 of the inferences are correct.

Several reports together.  Claim: ratios multiply, and V together is at most that of independent draws of +1, -1 and 0 with
probabilities a, b and 1 - a - b under one value, b, a and 1 - a - b under the other, a / b = R and a - b = V.
    1. For each c >= 1 let E(c) be the largest Pr(A) - c Pr'(A) of a set A of reports: convex in c, E(1) <= V and E(R) = 0.
    2. So E(c) <= V (R - c) / (R - 1), the chord, which is E of the draw; with the values in each other's place, too.
    3. What has the larger E for all c can be made into the other by a channel of its own that knows no value [Blackwell1953].
    4. Channels of each report alone make no total variation larger, so that of the draws is not below that of the reports.
Where reports have two weights, as those of oracles, the draw is the report, and the bound is what it bounds.
With Gaussian noise all of it holds but for events of probability `delta`, which is added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, inf, prod

from dpcore.errors import CalibrationError, SchemeError, check_within
from dpcore.privacy.budget import Budget

MOST_ROUNDS = 1000
_ONE = 1 << 128  # probabilities of several reports are multiples of 1 / _ONE, rounded up
_MOST = 4096  # ratios that are told apart; where there are more, some laws are replaced by draws as above
_ABOVE = 1 + Fraction(1, 1 << 79)  # e^epsilon is below so many times its lower bound
_LARGEST = Budget(rational=Fraction(64))


@dataclass(frozen=True)
class Odds:
    """What a report, or several, tell of any two values.

    ratio: at least 1, infinite where some answer is given for one value alone.  variation: in [0, (ratio - 1) / (ratio + 1)].
    delta: of Gaussian noise, else 0.  is_exact: whether both are attained; else neither is exceeded.

    Raises CalibrationError for what no channel has.

    >>> odds = Odds(Fraction(3), Fraction(1, 2))
    >>> odds.worst, odds.average
    (Fraction(3, 4), Fraction(3, 4))
    """

    ratio: Fraction | float
    variation: Fraction
    delta: Fraction = Fraction(0)
    is_exact: bool = True

    def __post_init__(self) -> None:
        if self.ratio < 1 or not 0 <= self.variation <= min(Fraction(1), _most(self.ratio) + self.delta):
            raise CalibrationError(
                f"no channel has a largest ratio of {float(self.ratio):g} and a total variation of {float(self.variation):g}"
            )

    @property
    def worst(self) -> Fraction:
        """How often who sees the worst report is right at most."""
        return _most(self.ratio) / 2 + Fraction(1, 2)

    @property
    def average(self) -> Fraction:
        """How often who sees a report is right at most, on average over all that may be drawn."""
        return (1 + self.variation) / 2


def together(parts: Iterable[Odds], rounds: int = 1) -> Odds:
    """Return the odds of all these reports together, each drawn anew in so many rounds, 1 to 1,000.

    >>> coin = Odds(Fraction(3), Fraction(1, 2))
    >>> together([coin], rounds=2).ratio
    Fraction(9, 1)
    """
    check_within(1, MOST_ROUNDS, rounds=rounds)
    parts = tuple(parts)
    if len(parts) == 1 and rounds == 1:
        return parts[0]
    if any(part.ratio == inf for part in parts):  # what reports have in common under two values multiplies, at least
        common = prod(((1 - part.variation) ** rounds for part in parts), start=Fraction(1))
        return Odds(inf, 1 - common, is_exact=False)
    ratio, law = Fraction(1), {Fraction(1): _ONE}
    for part, times in Counter(parts).items():
        own = Fraction(part.ratio)
        ratio *= own ** (times * rounds)
        law = _product(law, _repeated(own, part.variation, times * rounds))
    delta = min(Fraction(1), rounds * sum((part.delta for part in parts), Fraction(0)))
    return Odds(ratio, min(Fraction(1), _most(ratio) + delta, _variation(law) + delta), delta, is_exact=False)


def either(parts: Iterable[Odds]) -> Odds:
    """Return the odds of one of these, drawn publicly: the worst of each number."""
    parts = tuple(parts)
    if len(parts) == 1:
        return parts[0]
    return Odds(
        max(part.ratio for part in parts),
        max(part.variation for part in parts),
        max(part.delta for part in parts),
        is_exact=False,
    )


def exp_above(epsilon: Fraction) -> Fraction:
    """Return a rational above e^epsilon, within a relative 2^-78; epsilon: above 0, at most 64.

    >>> float(exp_above(Fraction(1)))
    2.718281828459045
    """
    return Fraction(ceil(Budget(rational=epsilon).ratio_floor * _ABOVE * (1 << 96)), 1 << 96)


def budget_of(worst: Fraction, rounds: int = 1) -> Budget:
    """Return the largest epsilon under which who sees the worst report of so many rounds is right at most so often.

    worst: above 1/2, below 1.  Of one round it is the logarithm of a fraction, exact, else a rational.  Raises SchemeError for
    others, and where that is above any epsilon there is.

    >>> budget_of(Fraction("0.75")).text
    'ln 3'
    """
    check_within(1, MOST_ROUNDS, rounds=rounds)
    if not Fraction(1, 2) < worst < 1:
        raise SchemeError(f"odds must be above 0.5, which guessing has, and below 1, as 0.75; got {float(worst):g}")
    ratio = worst / (1 - worst)
    if ratio > _LARGEST.ratio_floor:
        raise SchemeError(f"odds of {float(worst)!r} are beyond any epsilon, which is at most 64")
    whole = Budget(ratio=ratio)
    return whole if rounds == 1 else Budget(rational=whole.floor / rounds)


def _most(ratio: Fraction | float) -> Fraction:
    """The largest total variation that goes with a largest ratio."""
    if isinstance(ratio, float):  # infinite
        return Fraction(1)
    return (ratio - 1) / (ratio + 1)


Law = dict[
    Fraction, int
]  # of what is drawn: the ratio of its probabilities -> its probability under the first value, of _ONE


def _draw(ratio: Fraction, variation: Fraction) -> tuple[int, int, int]:
    """Probabilities of +1, -1 and 0 under the first value, rounded up."""
    if ratio == 1:
        return 0, 0, _ONE
    less = min(variation, _most(ratio)) / (ratio - 1)
    return ceil(less * ratio * _ONE), ceil(less * _ONE), ceil((1 - less * (ratio + 1)) * _ONE)


def _repeated(ratio: Fraction, variation: Fraction, times: int) -> Law:
    """The sum of so many draws: ratio^sum -> probability."""
    more, less, none = _draw(ratio, variation)
    sums = [_ONE]
    for _ in range(times):
        wide = [0, 0, *sums, 0, 0]
        sums = [
            -(-(more * down + none * same + less * up) // _ONE)
            for down, same, up in zip(wide, wide[1:], wide[2:], strict=False)
        ]
    return _added((ratio**power, share) for power, share in zip(range(-times, times + 1), sums, strict=True))


def _product(first: Law, second: Law) -> Law:
    if len(first) * len(second) > _MOST:
        first, second = _coarse(first), _coarse(second)
    return _added((a * b, -(-p * q // _ONE)) for a, p in first.items() for b, q in second.items())


def _coarse(law: Law) -> Law:
    """Three ratios that tell more."""
    ratio = max(law)
    return _repeated(ratio, min(_variation(law), _most(ratio)), 1)


def _added(pairs: Iterable[tuple[Fraction, int]]) -> Law:
    law: Law = {}
    for ratio, share in pairs:
        law[ratio] = law.get(ratio, 0) + share
    return law


def _variation(law: Law) -> Fraction:
    """The total variation of a law and the one with the values in each other's place, rounded up."""
    apart = sum(
        -(-share * (ratio.numerator - ratio.denominator) // ratio.numerator)
        for ratio, share in law.items()
        if ratio > 1
    )
    return Fraction(apart, _ONE)
