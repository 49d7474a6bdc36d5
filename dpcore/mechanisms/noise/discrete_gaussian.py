"""Discrete Gaussian noise: Pr(y) ~ exp(-y^2 / (2 s^2)) on the integers, s a positive integer, drawn exactly.

Drawn with integers only, by the rejection sampler of [Canonne2020]: a discrete Laplace proposal of scale s, kept with
probability exp(-(|y| - s)^2 / (2 s^2)).  Shifted by an integer vector of length D its Renyi divergences are at most a D^2 / (2
s^2), those of the continuous one, so that it is 1/2 (D / s)^2-concentrated, with D^2 / (2 s^2) for the Kullback-Leibler
divergence at most.
"""

from __future__ import annotations

import numpy as np

from dpcore._random import Source
from dpcore.errors import check_within
from dpcore.mechanisms.noise import discrete_laplace
from dpcore.mechanisms.noise.discrete_laplace import bernoulli_exp, first_failure_is_odd

_DRAWN = 1 << 12  # noise terms that a simulation draws one by one
LARGEST = 1 << 30  # of a scale: proposals and their squares stay within 64 bits


def sample(s: int, size: int, random: Source) -> np.ndarray:
    """Return `size` independent draws with Pr(y) = c exp(-y^2 / (2 s^2)), shape (size,), int64, exact; s: 1..2^30, integer.

    With | |y| - s | = u s + v, 0 <= v < s, the probability of keeping y is exp(-u^2 / 2) exp(-u v / s) exp(-v^2 / (2 s^2)).

    Raises SchemeError for a scale outside 1..2^30.

    >>> from dpcore._random import seeded
    >>> sample(100, 3, seeded(1)).dtype
    dtype('int64')
    """
    check_within(1, LARGEST, noise_scale=s)
    drawn = np.empty(size, dtype=np.int64)
    done = 0
    while done < size:
        proposed = discrete_laplace.sample(s, 2 * (size - done) + 8, random)
        accepted = proposed[_keeps(proposed, s, random)][: size - done]
        drawn[done : done + len(accepted)] = accepted
        done += len(accepted)
    return drawn


def pmf(y: np.ndarray, s: int) -> np.ndarray:
    """Return Pr(y), the shape of y."""
    span = np.arange(-40 * s, 40 * s + 1, dtype=np.float64)
    total = np.exp(-((span / s) ** 2) / 2).sum() if s < 1 << 12 else s * np.sqrt(2 * np.pi)  # Poisson summation
    return np.asarray(np.exp(-((np.asarray(y, dtype=np.float64) / s) ** 2) / 2) / total)


def variance(s: int) -> float:
    """Return Var Y, in lattice units squared: s^2 to a relative 1e-6 for every s >= 1, by Poisson summation."""
    return float(s) ** 2


def simulate_sums(n: int, s: int, size: int, random: Source) -> np.ndarray:
    """Return `size` independent sums of n draws each, shape (size,), int64; for simulation only.

    Few draws are drawn; a sum of many is a rounded Gaussian of variance n s^2, the total variation being of the order of
    exp(-pi^2 s^2) and of the rounding.
    """
    if n * size <= _DRAWN:
        return sample(s, n * size, random).reshape(size, n).sum(axis=1) if n else np.zeros(size, dtype=np.int64)
    return np.rint(np.sqrt(n) * s * random.generator().standard_normal(size)).astype(np.int64)


def _keeps(proposed: np.ndarray, s: int, random: Source) -> np.ndarray:
    u, v = np.divmod(np.abs(np.abs(proposed) - s), s)
    keeps = np.ones(len(u), dtype=bool)
    for k in range(int((u * u).max(initial=0))):  # exp(-1/2), u^2 times
        at = np.flatnonzero(keeps & (u * u > k))
        keeps[at] = bernoulli_exp(np.ones(at.size, dtype=np.int64), 2, random)
    for k in range(int(u.max(initial=0))):  # exp(-v / s), u times
        at = np.flatnonzero(keeps & (u > k))
        keeps[at] = bernoulli_exp(v[at], s, random)
    at = np.flatnonzero(keeps)
    keeps[at] = _bernoulli_half_square(v[at], s, random)
    return keeps


def _bernoulli_half_square(v: np.ndarray, s: int, random: Source) -> np.ndarray:
    """Bernoulli(exp(-v^2 / (2 s^2))) for each v in 0..s-1, of trials that succeed with probability v^2 / (2 s^2 k)."""

    def goes_on(k: int, alive: np.ndarray) -> np.ndarray:
        succeeds = random.below(s, alive.size) < v[alive]
        succeeds &= random.below(2 * s, alive.size) < v[alive]
        succeeds &= random.below(k, alive.size) == 0
        return succeeds

    return first_failure_is_odd(len(v), goes_on)
