"""Exact loss of one person among n reports: reports of three kinds, or published counts of two answers.

Three kinds.  The person's report is of kind 0 or 1 with the probabilities `one` under one value and `other` under another, and
of the third kind else; each of n - 1 others' independently with `others`.  The counts of the kinds have the likelihood ratio

    (a0 A + a1 B + a2 (n - A - B)) / (b0 A + b1 B + b2 (n - A - B)),    a = one / others, b = other / others,

since each of the n reports is as likely to be the person's.  With S = sum of (a - e^epsilon b) over n reports of *others*

    delta(epsilon) = E max(S, 0) / n                                                    ([Balle2019], lemma 5.3),

a sum over C = A + B, which is binomial, of binomial tails of A given C.

Rounding.  C runs over a window; beside it S / n is at most its largest term, and the upper figure has the window's complement
times that added, the lower one has nothing for it.  Tails are `scipy.special.betainc`, whose relative error is below 1e-11, and
the two that are subtracted are at most a few thousand times their difference: `_SLACK` of the result is left on either side.

Counts of two answers, which are published: m of n - 1 others hold the first value.  The count is K + D, K ~ Bin(m, s) + Bin(n -
1 - m, t) and D ~ Bernoulli(s) or Bernoulli(t) for the person, where s and t are the probabilities of saying the first under
either value.  The worst m is looked for by branch and bound. Leaving people out can only tell more (anyone may add them to a
count of fewer), so that all m of lo..hi tell at most what Bin(lo, s) + Bin(n - 1 - hi, t) does.  Where that is too much, the
range is halved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush

import numpy as np

_SLACK = 1e-6  # of delta: some millionths of epsilon
_WIDTH, _LEAST_WIDTH = 7.5, 60  # of the window: standard deviations to either side, and reports
_SUM_SLACK = 1e-9  # of sums of positive terms
_DIRECT = 1 << 20  # products, above which sums are made by a Fourier transform,
_TRANSFORM = 1e-12  # all of whose errors are below this: 2^-53 log2(2^15) of the laws' norms, over 2^15 numbers
_SPARED = 6.5  # standard deviations below its mean that a random crowd is taken to have
_CLOSE = 0.002  # of delta: what branch and bound leaves open, some ten-thousandths of epsilon
_RANGES = 200  # at most so many ranges of m; the largest bound decides if more would be needed

Law = tuple[float, float]  # the probabilities of kinds 0 and 1


@dataclass(frozen=True)
class Contrast:
    """The laws of one report's kind: the person's under one value and under another, and everybody else's.

    >>> half = Contrast(one=(0.75, 0.25), other=(0.25, 0.75), others=(0.25, 0.25))
    >>> half.delta(1, 0.0)  # alone: the total variation
    (0.4999995, 0.5000005)
    """

    one: Law
    other: Law
    others: Law

    def among(self, share: float) -> Contrast:
        """Return the contrast where each other person is there with that probability only; who is not is of the third kind."""
        return Contrast(self.one, self.other, (share * self.others[0], share * self.others[1]))

    @property
    def reversed(self) -> Contrast:
        """The contrast of the other value with the one."""
        return Contrast(self.other, self.one, self.others)

    @property
    def strength(self) -> float:
        """The information of one report in a large crowd."""
        laws = zip(*map(_three, self._laws), strict=True)
        return sum((a - b) ** 2 / o for a, b, o in laws if o > 0)

    def below(self, reports: int, epsilon: float) -> float:
        """Return a number that delta is at least, in one direction."""
        return self.delta(reports, epsilon)[0]

    def delta(self, reports: int, epsilon: float) -> tuple[float, float]:
        """Return numbers below and above the delta at which so many reports are (epsilon, delta)-indistinguishable.

        reports: n, the person's among them.  One direction alone; `reversed` has the other.
        """
        factor = math.exp(epsilon)
        gains = [self._gain(a, b, o, factor) for a, b, o in zip(*map(_three, self._laws), strict=True)]
        if gains[0] < gains[1]:
            gains[0], gains[1] = gains[1], gains[0]
            kinds = self.others[1], self.others[0]
        else:
            kinds = self.others
        seen = kinds[0] + kinds[1]
        if not seen:
            return _either(max(0.0, gains[2]), 0.0)
        first, counts, beside = binomial_window(reports, min(seen, 1.0))
        many = np.arange(first, first + len(counts), dtype=float)
        rest = gains[1] * many + gains[2] * (reports - many)
        expected = _positive_part(gains[0] - gains[1], rest, many, kinds[0] / seen)
        return _either(float(counts @ expected) / reports, beside * max(0.0, *gains))

    def _gain(self, one: float, other: float, others: float, factor: float) -> float:
        if others > 0:
            return (one - factor * other) / others
        if one <= 0:
            return 0.0  # nobody's report is of this kind where epsilon could be exceeded
        raise ValueError("others never send a kind of report that the person may send")

    @property
    def _laws(self) -> tuple[Law, Law, Law]:
        return self.one, self.other, self.others


def _three(law: Law) -> tuple[float, float, float]:
    rest = 1 - law[0] - law[1]
    return law[0], law[1], rest if rest > 1e-15 else 0.0


def _either(delta: float, beside: float) -> tuple[float, float]:
    return max(0.0, delta * (1 - _SLACK) - beside), min(1.0, delta * (1 + _SLACK) + beside)


def binomial_window(trials: int, probability: float) -> tuple[int, np.ndarray, float]:
    """Return where a binomial law nearly lives: the first value, the probabilities from there on, the mass of all others."""
    from scipy.special import betainc

    mean, deviation = trials * probability, math.sqrt(trials * probability * (1 - probability))
    reach = _WIDTH * deviation + _LEAST_WIDTH
    low, high = max(0, math.floor(mean - reach)), min(trials, math.ceil(mean + reach))
    if probability >= 1:
        return trials, np.ones(1), 0.0
    steps = np.arange(low, high)  # from each value to the next
    logs = np.concatenate(
        [[0.0], np.cumsum(np.log((trials - steps) / (steps + 1)) + math.log(probability / (1 - probability)))]
    )
    weights = np.exp(logs - logs.max())
    beside = 0.0 if low == 0 else float(betainc(trials - low + 1, low, 1 - probability))
    beside += 0.0 if high == trials else float(betainc(high + 1, trials - high, probability))
    return low, weights / weights.sum() * (1 - beside), beside


def _positive_part(slope: float, rest: np.ndarray, many: np.ndarray, share: float) -> np.ndarray:
    """E max(slope A + rest, 0), A binomial of `many` trials at `share`; slope >= 0."""
    if slope <= 0:
        return np.maximum(rest, 0.0)
    least = np.clip(np.floor(-rest / slope) + 1, 0, many + 1)  # the first A at which it is positive
    expected = slope * share * many * _tail(least - 1, many - 1, share) + rest * _tail(least, many, share)
    return np.maximum(expected, 0.0)


def _tail(least: np.ndarray, many: np.ndarray, share: float) -> np.ndarray:
    """Pr(A >= least)."""
    from scipy.special import betainc

    inside = (least > 0) & (least <= many)
    tails = betainc(np.where(inside, least, 1.0), np.where(inside, many - least + 1, 1.0), share)
    return np.where(inside, tails, np.where(least <= 0, 1.0, 0.0))


@dataclass(frozen=True)
class TwoCategories:
    """The probabilities of the first report under the first value and under the second, which is less."""

    first: float
    second: float

    def below(self, reports: int, epsilon: float) -> float:
        """Return a number that delta is at least: where all others hold the same."""
        return max(self._bounds(reports - 1, m, m, epsilon)[0] for m in {0, reports - 1})

    def above(self, reports: int, epsilon: float, share: float = 1.0) -> float:
        """Return a number that delta is at most, in both directions and whatever others hold.

        share: with which probability each other person is there.  The crowd is taken to be few, and the probability that it is
        fewer is added.
        """
        from scipy.special import betainc

        others, spared = reports - 1, 0.0
        if share < 1:
            mean = others * share
            few = max(0, math.floor(mean - _SPARED * math.sqrt(mean * (1 - share))))
            spared = float(betainc(others - few + 1, few, 1 - share)) if few else 0.0
            others = few
        least = self.below(others + 1, epsilon)
        ranges = [(-self._bounds(others, 0, others, epsilon)[1], 0, others)]
        while -ranges[0][0] > least * (1 + _CLOSE) and len(ranges) < _RANGES and ranges[0][1] < ranges[0][2]:
            _, lo, hi = heappop(ranges)  # where the most may be
            middle = (lo + hi) // 2
            for half in ((lo, middle), (middle + 1, hi)):
                heappush(ranges, (-self._bounds(others, *half, epsilon)[1], *half))
        return min(1.0, -ranges[0][0] + spared)

    def _bounds(self, others: int, lo: int, hi: int, epsilon: float) -> tuple[float, float]:
        law, beside = _counts(lo, others - hi, self.first, self.second)
        factor, count = math.exp(epsilon), np.zeros(len(law) + 1)
        one, other = count.copy(), count.copy()
        one[1:], other[1:] = self.first * law, self.second * law
        one[:-1] += (1 - self.first) * law
        other[:-1] += (1 - self.second) * law
        delta = max(float(np.maximum(a - factor * b, 0).sum()) for a, b in ((one, other), (other, one)))
        return max(0.0, delta * (1 - _SUM_SLACK) - beside), delta * (1 + _SUM_SLACK) + beside


@lru_cache(maxsize=2048)
def _counts(first: int, second: int, s: float, t: float) -> tuple[np.ndarray, float]:
    """Bin(first, s) + Bin(second, t) where it nearly lives, from some value on, and the mass of all others."""
    _, law, beside = binomial_window(first, s)
    _, other, more = binomial_window(second, t)
    if len(law) * len(other) <= _DIRECT:
        return np.convolve(law, other), beside + more
    length = 1 << (len(law) + len(other) - 2).bit_length()
    both = np.fft.irfft(np.fft.rfft(law, length) * np.fft.rfft(other, length), length)
    return np.maximum(both[: len(law) + len(other) - 1], 0.0), beside + more + _TRANSFORM
