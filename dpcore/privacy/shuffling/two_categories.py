"""Exact distribution of the counts of two answers, which are published; m of n - 1 others hold the first value.

The count is K + D, K ~ Bin(m, s) + Bin(n - 1 - m, t) and D ~ Bernoulli(s) or Bernoulli(t) for the person, where s and t are
the probabilities of saying the first under either value.  The worst m is looked for by branch and bound.
Leaving people out can only tell more (anyone may add them to a count of fewer), so that all m of lo..hi tell at most what
Bin(lo, s) + Bin(n - 1 - hi, t) does.  Where that is too much, the range is halved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush

import numpy as np

from dpcore.privacy.shuffling.contrast import binomial_window

_SLACK = 1e-9  # of sums of positive terms
_DIRECT = 1 << 20  # products, above which sums are made by a Fourier transform,
_TRANSFORM = 1e-12  # all of whose errors are below this: 2^-53 log2(2^15) of the laws' norms, over 2^15 numbers
_SPARED = 6.5  # standard deviations below its mean that a random crowd is taken to have
_CLOSE = 0.002  # of delta: what branch and bound leaves open, some ten-thousandths of epsilon
_RANGES = 200  # at most so many ranges of m; the largest bound decides if more would be needed


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
        return max(0.0, delta * (1 - _SLACK) - beside), delta * (1 + _SLACK) + beside


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
