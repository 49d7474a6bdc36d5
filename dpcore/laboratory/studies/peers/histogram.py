"""Histograms from frequency oracles: k equal cells, unbiased frequencies, then the nearest ones that are possible.

What the oracle would have counted is drawn from its exact law given how many people are in each cell.

References: unary encodings and local hashing with their optimal parameters are those of [Wang2017], Hadamard response in its
one-bit form of [Cormode2019], k-ary randomized response of [Kairouz2016]; negative frequencies are mended by the projection
on the simplex ("norm-sub") [Duchi2008].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import exp
from types import MappingProxyType

import numpy as np
import scipy

# cell probabilities (k,), clients, epsilon, generator -> unbiased frequencies (k,)
Draw = Callable[[np.ndarray, int, float, np.random.Generator], np.ndarray]


def optimised_unary(cells: np.ndarray, n: int, epsilon: float, generator: np.random.Generator) -> np.ndarray:
    """Return unbiased frequencies, shape (k,), from n reports by optimised unary encoding."""
    return supports(cells, n, 0.5, 1 / (exp(epsilon) + 1), generator)


def symmetric_unary(cells: np.ndarray, n: int, epsilon: float, generator: np.random.Generator) -> np.ndarray:
    """Return unbiased frequencies, shape (k,), from n reports by symmetric unary encoding (one-time RAPPOR)."""
    p = exp(epsilon / 2) / (exp(epsilon / 2) + 1)
    return supports(cells, n, p, 1 - p, generator)


def local_hashing(cells: np.ndarray, n: int, epsilon: float, generator: np.random.Generator) -> np.ndarray:
    """Return unbiased frequencies, shape (k,), from n reports by optimal local hashing, each with a hash of its own."""
    return supports(cells, n, *local_hashing_probabilities(epsilon), generator)


def local_hashing_probabilities(epsilon: float) -> tuple[float, float]:
    """Return the probabilities with which a report of optimal local hashing supports its own value, and any other."""
    g = round(exp(epsilon)) + 1
    return exp(epsilon) / (exp(epsilon) + g - 1), 1 / g


def randomized_response(cells: np.ndarray, n: int, epsilon: float, generator: np.random.Generator) -> np.ndarray:
    """Return unbiased frequencies, shape (k,), from n reports by k-ary randomized response."""
    q = 1 / (exp(epsilon) + len(cells) - 1)
    p = exp(epsilon) * q
    return (generator.multinomial(n, q + (p - q) * cells) / n - q) / (p - q)


def hadamard_response(cells: np.ndarray, n: int, epsilon: float, generator: np.random.Generator) -> np.ndarray:
    """Return unbiased frequencies, shape (k,), from n one-bit reports, each on a row of a Hadamard matrix drawn at random."""
    matrix = hadamard_matrix(len(cells))
    means = generator.multinomial(n, cells) / n @ matrix
    return signs(means, n, epsilon, generator) @ matrix / len(cells)


ORACLES: Mapping[str, Draw] = MappingProxyType(
    {
        "oue": optimised_unary,
        "olh": local_hashing,
        "sue": symmetric_unary,
        "grr": randomized_response,
        "hadamard": hadamard_response,
    }
)


def norm_sub(frequencies: np.ndarray) -> np.ndarray:
    """Return the nearest points of the simplex, both of shape (repetitions, k)."""
    descending = np.sort(frequencies, axis=1)[:, ::-1]
    excess = (np.cumsum(descending, axis=1) - 1) / np.arange(1, frequencies.shape[1] + 1)
    last = (descending > excess).sum(axis=1) - 1
    projected = np.maximum(frequencies - np.take_along_axis(excess, last[:, None], axis=1), 0.0)
    return np.asarray(projected / projected.sum(axis=1, keepdims=True))


def supports(cells: np.ndarray, n: int, p: float, q: float, generator: np.random.Generator) -> np.ndarray:
    """Return unbiased frequencies where a report supports its own cell with probability p, each other one with q."""
    people = generator.multinomial(n, cells)
    counts = generator.binomial(people, p) + generator.binomial(n - people, q)
    return (counts / n - q) / (p - q)


def signs(means: np.ndarray, n: int, epsilon: float, generator: np.random.Generator) -> np.ndarray:
    """Return unbiased estimates of the means, shape (k,), of signs, from n people's binary randomized response.

    Every person draws which of the k signs to report; a mean that nobody drew is 0.
    """
    asked = generator.multinomial(n, np.full(len(means), 1 / len(means)))
    keep = (exp(epsilon) - 1) / (exp(epsilon) + 1)
    ones = generator.binomial(asked, np.clip((1 + keep * means) / 2, 0.0, 1.0))
    return np.asarray((2 * ones - asked) / np.maximum(asked, 1) / keep)


@lru_cache(maxsize=16)
def hadamard_matrix(size: int) -> np.ndarray:
    """Return Sylvester's matrix of signs, shape (size, size), size a power of two."""
    return scipy.linalg.hadamard(size).astype(np.float64)
