"""Statistical checks that must be able to fail, and how many draws each needs to.

One error budget for the suite: every check rejects the truth with probability below P_VALUE, and seeds are fixed.  A check's
power is computed: `draws_for_...` is the least size at which it rejects what is planted, but for MISSED.  The smallest planted
error of a test is what it takes its size from, and it plants that error beside the truth.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import count

import numpy as np
import pytest
from scipy import special, stats

P_VALUE = 1e-9
MISSED = 1e-6
MISSED_BY_DAY = 1e-3  # by tests whose full size is the night's
_BAR = float(stats.norm.isf(P_VALUE / 2))  # in standard errors


def mean_agrees(samples: np.ndarray, mean: float) -> bool:
    """Whether independent samples could have this mean (normal limit; use a thousand samples or more)."""
    error = np.std(samples, ddof=1) / np.sqrt(len(samples))
    return bool(abs(np.mean(samples) - mean) <= -special.ndtri(P_VALUE / 2) * error)


def variance_agrees(samples: np.ndarray, variance: float) -> bool:
    """Whether independent samples could have this variance; uses their own fourth moment."""
    squares = (samples - np.mean(samples)) ** 2
    return mean_agrees(squares * len(samples) / (len(samples) - 1), variance)


def law_agrees(counts: np.ndarray, probabilities: np.ndarray) -> bool:
    """Whether counts could be a multinomial draw of these probabilities (chi-squared, cells of 5 expected or more)."""
    expected = probabilities / probabilities.sum() * counts.sum()
    cells = _cells(expected)
    observed, wanted = np.bincount(cells, counts), np.bincount(cells, expected)
    statistic = float(((observed - wanted) ** 2 / wanted).sum())
    return bool(stats.chi2.sf(statistic, len(wanted) - 1) > P_VALUE)


def _cells(expected: np.ndarray) -> np.ndarray:
    """The cell that each is counted in: its own, or where fewer than 5 are expected, one with all such or with the largest."""
    enough = expected >= 5
    cells = np.cumsum(enough) - 1
    cells[~enough] = enough.sum() if expected[~enough].sum() >= 5 else cells[np.argmax(expected)]
    return cells


def draws_for_mean(off: float, missed: float = MISSED) -> int:
    """How many samples `mean_agrees` needs to reject a mean that is off by so many standard deviations of one sample."""
    return math.ceil(((_BAR + stats.norm.isf(missed)) / off) ** 2)


def draws_for_variance(stated: float, kurtosis: float = 3.0, missed: float = MISSED) -> int:
    """How many samples `variance_agrees` needs to reject a variance stated as so many times the true one.

    Of Laplace noise the kurtosis is 6.  A sample's variance that errs by `slack` of its standard errors, relative to the truth,
    must still be _BAR of its own from what is stated.
    """
    slack, side = stats.norm.isf(missed), math.copysign(1, stated - 1)
    relative_error = min(root for root in np.roots([_BAR * slack, side * (_BAR + slack), 1 - stated]) if root > 0)
    return math.ceil((kurtosis - 1) / relative_error**2)


def _sizes(*stated: float) -> tuple[float, float, int]:
    """Two variances that must be rejected, and how many samples that takes."""
    return stated[0], stated[1], max(map(draws_for_variance, stated))


# Variances that must be rejected: of scales off by 30 % by day, themselves off by 30 % at full size.
by_variance = pytest.mark.parametrize(
    ("too_large", "too_small", "draws"),
    [
        pytest.param(*_sizes(1.3**2, 0.7**2), id="by day"),
        pytest.param(*_sizes(1.3, 0.7), id="full", marks=pytest.mark.slow),
    ],
)


def draws_for_law(true: np.ndarray, stated: np.ndarray, missed: float = MISSED) -> int:
    """How many draws of one law `law_agrees` needs to reject another, to 2 %: its chi-squared is all but normal far off."""
    true, stated = true / true.sum(), stated / stated.sum()

    def rejects(step: int) -> bool:
        return _rejects(true, stated, 20 * 1.02**step, missed)

    enough = next(step for step in count(0, 32) if rejects(step))
    below = range(max(enough - 31, 0), enough)
    return math.ceil(20 * 1.02 ** (below.start + bisect_left(below, True, key=rejects)))


def _rejects(true: np.ndarray, stated: np.ndarray, draws: float, missed: float) -> bool:
    """Whether so many draws of one law reject another, but for `missed`."""
    cells, slack = _cells(draws * stated), stats.norm.isf(missed)
    drawn, wanted = np.bincount(cells, true), np.bincount(cells, stated)
    off = drawn / wanted - 1
    apart, freedom = float(drawn @ off), len(wanted) - 1
    mean = draws * apart + float((drawn * (1 - drawn) / wanted).sum())
    variance = 2 * freedom + 4 * draws * (float(drawn @ off**2) - apart**2)
    return bool(freedom and mean - slack * math.sqrt(variance) > stats.chi2.isf(P_VALUE, freedom))


def most_seen(runs: int, share: float) -> int:
    """The largest count that is seen in so many runs of what has this share, but for P_VALUE."""
    return int(stats.binom.isf(P_VALUE, runs, share))


def runs_for_share(share: float, planted: float, missed: float = MISSED) -> int:
    """The fewest runs in which what has the planted, larger share is counted more often than `most_seen`."""
    return next(n for n in range(1, 100_000) if stats.binom.cdf(most_seen(n, share), n, planted) <= missed)
