"""Statistical checks that must be able to fail: each accepts the truth and rejects a scale off by 30 %.

One error budget for the suite: every check rejects the truth with probability below 1e-9, and seeds are fixed.
"""

from __future__ import annotations

import numpy as np
from scipy import special

P_VALUE = 1e-9


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
    return bool(special.chdtrc(len(wanted) - 1, statistic) > P_VALUE)
