"""Discrete Laplace noise: Pr(y) ~ exp(-|y| / t) on the integers, t a positive integer, drawn exactly.

Clients draw it with integers only, by the rejection sampler of [Canonne2020]; floating-point Laplace noise is porous and
distinguishes neighbouring inputs [Mironov2012].  The aggregator's half needs its moments; simulation needs sums of
millions of draws, which have a distribution of their own.

Time.  A rejection loop takes longer for some values than for others: draw the noise before reading the record.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpcore._random import WORD, Source
from dpcore.errors import check_within
from dpcore.mechanisms import _kernels

_PROPOSALS = 1 << 15  # at a time: small enough to stay in the processor's cache
_SUMS = 1 << 13  # sums simulated at a time: they stay in a core's cache
_LOOPED = 1 << 9  # trials that are worth a compiled loop
_GAUSSIAN_MEAN = 2.0**20  # of two Poisson variables, from which their difference is a rounded Gaussian


def sample(t: int, size: int, random: Source) -> np.ndarray:
    """Return `size` independent draws with Pr(y) = c exp(-|y| / t), shape (size,), int64, exact.

    t: 1..2^32, integer.  Integers only: U uniform below t is kept with probability exp(-U/t), V counts successes of
    probability 1/e, and Y = U + t V with a random sign, -0 refused ([Canonne2020], algorithm 2 with s = 1).

    Raises SchemeError for a scale outside 1..2^32.

    >>> from dpcore._random import seeded
    >>> sample(100, 3, seeded(1)).dtype
    dtype('int64')
    """
    check_within(1, WORD, noise_scale=t)
    drawn = np.empty(size, dtype=np.int64)
    done = 0
    while done < size:
        values = _propose(t, min(_PROPOSALS, 2 * (size - done) + 8), random)[: size - done]
        drawn[done : done + len(values)] = values
        done += len(values)
    return drawn


def pmf(y: np.ndarray, t: int) -> np.ndarray:
    """Return Pr(y) = tanh(1 / 2t) exp(-|y| / t), the shape of y."""
    return np.asarray(math.tanh(1 / (2 * t)) * np.exp(-np.abs(np.asarray(y, dtype=float)) / t))


def variance(t: int) -> float:
    """Return Var Y = 2 q / (1 - q)^2, q = exp(-1/t), in lattice units squared; accurate for large t: about 2 t^2."""
    return 2 * math.exp(-1 / t) / math.expm1(-1 / t) ** 2


def simulate_sums(n: int, t: int, size: int, random: Source) -> np.ndarray:
    """Return `size` independent sums of n draws each, shape (size,), int64; for simulation only, n up to 1e10 and more.

    Given an exponential E, the difference of two Poisson variables of mean E q / (1 - q)^2, q = exp(-1/t), has the law of one
    draw, as characteristic functions show, so that for a sum E is a gamma variable of shape n.  From a mean of 2^20 on the
    difference is a rounded Gaussian, to a total variation of some 2^-24.
    """
    check_within(1, WORD, noise_scale=t)
    if n == 0:
        return np.zeros(size, dtype=np.int64)
    generator, drawn = random.generator(), np.empty(size, dtype=np.int64)
    scale = math.exp(-1 / t) / math.expm1(-1 / t) ** 2
    for first in range(0, size, _SUMS):
        part = drawn[first : first + _SUMS]
        means = generator.standard_exponential(len(part)) if n == 1 else generator.standard_gamma(n, len(part))
        means *= scale
        sums = generator.standard_normal(len(part))
        sums *= np.sqrt(2 * means)
        part[:] = np.rint(sums, out=sums)
        if means.min() < _GAUSSIAN_MEAN:
            few = means < _GAUSSIAN_MEAN
            part[few] = generator.poisson(means[few]) - generator.poisson(means[few])
    return drawn


def _propose(t: int, count: int, random: Source) -> np.ndarray:
    """The accepted ones of `count` proposals, in order; each accepted value has the distribution of `sample`."""
    u = random.residues(t, count)
    u = u[bernoulli_exp(u, t, random)]
    magnitude = u + t * _geometric(len(u), random)
    negative = random.residues(2, len(u)).astype(np.int64)
    accepted = magnitude >= negative  # not -0
    magnitude *= 1 - 2 * negative
    return magnitude[accepted]


def bernoulli_exp(u: np.ndarray, t: int, random: Source) -> np.ndarray:
    """Return Bernoulli(exp(-u / t)) for each u in 0..t-1, shape (len(u),), bool, exact."""

    def goes_on(k: int, alive: np.ndarray) -> np.ndarray:
        if t * k <= WORD:
            return random.residues(t * k, alive.size) < u[alive]
        # Bernoulli(u / (t k)) = Bernoulli(u / t) and Bernoulli(1 / k), the bound staying within one word
        return (random.residues(t, alive.size) < u[alive]) & (random.residues(k, alive.size) == 0)

    return first_failure_is_odd(len(u), goes_on)


def first_failure_is_odd(count: int, goes_on: Callable[[int, np.ndarray], np.ndarray], *, first: int = 1) -> np.ndarray:
    """Return, `count` times, whether the first trial that fails is odd; shape (count,), bool.

    goes_on(k, alive): whether trial k succeeds, for those of these indices.  first: the first trial that can fail.  Where trial
    k succeeds with probability x / k, Pr(j succeed first) = x^j / j!, whose alternating sum is exp(-x) ([Canonne2020]).
    """
    result = np.zeros(count, dtype=bool)
    alive = np.arange(count)
    k = first
    while alive.size:
        alive = _settled(goes_on(k, alive), alive, result if k % 2 else None)
        k += 1
    return result


def _settled(succeeds: np.ndarray, alive: np.ndarray, odd: np.ndarray | None) -> np.ndarray:
    """Those of the indices `alive` whose trial succeeds; the others are marked in `odd`, if passed."""
    loop = _kernels.chosen(_kernels.settled, len(alive)) if len(alive) >= _LOOPED else None
    if loop is not None:
        return alive[: loop(succeeds, alive, succeeds if odd is None else odd, odd is not None)]
    if odd is not None:
        odd[alive[~succeeds]] = True
    return alive[succeeds]


def _geometric(count: int, random: Source) -> np.ndarray:
    """How many Bernoulli(1/e) succeed before the first fails, `count` times."""
    successes = np.zeros(count, dtype=np.int64)
    alive = np.arange(count)
    while alive.size:
        alive = alive[_bernoulli_inverse_e(alive.size, random)]
        successes[alive] += 1
    return successes


def _bernoulli_inverse_e(count: int, random: Source) -> np.ndarray:
    """Bernoulli(1/e), `count` times: as `bernoulli_exp` with u = t, where k = 1 never fails."""
    return first_failure_is_odd(count, lambda k, alive: random.residues(k, alive.size) == 0, first=2)
