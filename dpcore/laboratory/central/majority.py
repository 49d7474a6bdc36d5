"""What privacy costs a vote: bounds on the probability p(s) of answering 1 when s of n = 2k + 1 bits are 1.

Source: the majority example of [Garivier2022].
"""

from __future__ import annotations

import numpy as np
import scipy

from dpcore.errors import SchemeError, check_positive


def largest_probability(s: np.ndarray, n: int, epsilon: float) -> np.ndarray:
    """Return 1 / (1 + exp(-(2 s - n) epsilon)), s > n / 2: no symmetric epsilon-private p(s) is above it.

    p(s) <= e^{(2 s - n) epsilon} p(n - s), for s and n - s are 2 s - n changes apart, and p(n - s) = 1 - p(s).
    """
    s = _majorities(s, n)
    return 1 / (1 + np.exp(-(2 * s - n) * epsilon))


def exponential_probability(s: np.ndarray, n: int, epsilon: float) -> np.ndarray:
    """Return p(s) of the exponential mechanism with utility (2 t - 1)(s - n / 2): 1 / (1 + exp(-(2 s - n) epsilon / 2))."""
    return 1 / (1 + np.exp(-(2 * np.asarray(s) - n) * epsilon / 2))


def inverse_sensitivity_probability(s: np.ndarray, n: int, epsilon: float) -> np.ndarray:
    """Return p(s) of the two-output inverse sensitivity mechanism: 1 / (1 + exp(-r epsilon)), r = s - k or s - k - 1."""
    s, half = np.asarray(s), _half(n)
    return 1 / (1 + np.exp(-(s - half - (s <= half)) * epsilon))


def records_for_free(epsilon: float) -> float:
    """Return 9 / epsilon^2: with as many records the noise of the mechanism is within that of sampling."""
    check_positive(epsilon=epsilon)
    return 9 / epsilon**2


def wrong_probability(n: int, share: float, epsilon: float | None) -> float:
    """Return how often the answer is not the people's majority: n draws with that share of ones, above one half.

    epsilon: of the two-output inverse sensitivity mechanism; None for the sample's own majority.
    """
    if not 0.5 < share <= 1:
        raise SchemeError(f"share must lie above one half, got {share}")
    s = np.arange(n + 1)
    mass = scipy.stats.binom.pmf(s, n, share)
    yes = (s > _half(n)).astype(float) if epsilon is None else inverse_sensitivity_probability(s, n, epsilon)
    return float(mass @ (1 - yes))


def _half(n: int) -> int:
    if n % 2 == 0:
        raise SchemeError(f"a majority needs an odd number of records, got {n}")
    return n // 2


def _majorities(s: np.ndarray, n: int) -> np.ndarray:
    s = np.asarray(s)
    if np.any(s <= _half(n)) or np.any(s > n):
        raise SchemeError(f"s must be a majority of {n} records, above {n // 2}")
    return s
