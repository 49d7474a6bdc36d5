"""Statistical checks that must be able to fail, and how many draws each needs to.

One error budget for the suite: every check rejects the truth with probability below P_VALUE, and seeds are fixed.  A check's
power is computed: `draws_for_...` is the least size at which it rejects what is planted, but for MISSED.  The smallest planted
error of a test is what it takes its size from, and it plants that error beside the truth.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

P_VALUE = 1e-9
MISSED = 1e-6
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
    enough = expected >= 5
    observed = np.append(counts[enough], counts[~enough].sum())
    wanted = np.append(expected[enough], expected[~enough].sum())
    if wanted[-1] < 5:  # fold the rest into the largest cell
        largest = int(np.argmax(wanted))
        observed[largest] += observed[-1]
        wanted[largest] += wanted[-1]
        observed, wanted = observed[:-1], wanted[:-1]
    statistic = float(((observed - wanted) ** 2 / wanted).sum())
    return bool(stats.chi2.sf(statistic, len(wanted) - 1) > P_VALUE)


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


def draws_for_law(true: np.ndarray, stated: np.ndarray, missed: float = MISSED) -> int:
    """How many draws of one law `law_agrees` needs to reject another: the normal limit of a chi-squared that is far off."""
    true, stated = true / true.sum(), stated / stated.sum()
    off, slack = true / stated - 1, stats.norm.isf(missed)
    apart = float(true @ off)
    spread = float(true @ off**2) - apart**2
    bar = stats.chi2.isf(P_VALUE, len(stated) - 1) - float((true * (1 - true) / stated).sum())
    noise = 2 * (len(stated) - 1)  # the variance that chi-squared has under the truth
    # draws * apart - slack * sqrt(noise + 4 * draws * spread) = bar, squared
    roots = np.roots([apart**2, -2 * bar * apart - 4 * slack**2 * spread, bar**2 - slack**2 * noise])
    return math.ceil(roots.max())


def fewest_held(asked: int, coverage: float) -> int:
    """The fewest of so many intervals that hold the truth at this coverage, but for P_VALUE."""
    return int(stats.binom.ppf(P_VALUE, asked, coverage))
