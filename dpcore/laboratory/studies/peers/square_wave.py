"""Square Wave with EM and EMS, as Li et al. give it: the continuous mechanism, decoded at a chosen number of bins.

A client of value x in [0, 1] reports a point of [-b, 1 + b], with density p within b of x and q elsewhere.
The aggregator counts the reports in d equal bins and fits d probabilities by expectation maximisation, EMS with a smoothing
step (weights 1, 2, 1) in each iteration.  The choice of d is left to the user; their code uses 1024.
Here an iteration costs O(d): a box is the running sum of its two edges, so that the channel is a sparse matrix of edges
behind a prefix sum; all repetitions of a cell are decoded together.

References: the mechanism, b, and both decoders are those of [LiSquareWave2020]; the code published with it stops at an
improvement of the log-likelihood below 1e-3 (e^epsilon times that for EM), at a step below 1/n in l1, or after 10,000 steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import exp

import numpy as np
import scipy

_ITERATIONS = 10_000
_IMPROVEMENT = 1e-3
_CONVERGED = 1e-6  # a step in l1 after which the fit hardly depends on where it started
_FIRST = 2  # their code looks at the likelihood from the third step on


@dataclass(frozen=True, eq=False)
class Channel:
    """The distribution of a report's bin given the value's cell; bins = cells = d, people uniform within a cell."""

    epsilon: float
    bins: int

    @property
    def b(self) -> float:
        """Half the width of the high part, which maximises the information a uniform value's report has of it."""
        e = exp(self.epsilon)
        return (self.epsilon * e - e + 1) / (2 * e * (e - 1 - self.epsilon))

    @property
    def high(self) -> float:
        """The density p near the value; q = p / e^epsilon elsewhere."""
        return exp(self.epsilon) / (2 * self.b * exp(self.epsilon) + 1)

    @property
    def floor(self) -> float:
        """What every bin gets from everybody."""
        return self.high / exp(self.epsilon) * (1 + 2 * self.b) / self.bins

    @property
    def ends(self) -> np.ndarray:
        return np.linspace(-self.b, 1 + self.b, self.bins + 1)

    def law(self, cells: np.ndarray) -> np.ndarray:
        """Return the probabilities of the bins, shape (bins,), for people with those cell probabilities, shape (any,)."""
        n = len(cells)
        below = np.concatenate([[0.0], np.cumsum(cells)])
        area = np.concatenate([[0.0], np.cumsum((below[1:] + below[:-1]) / (2 * n))])

        def integral(t: np.ndarray) -> np.ndarray:  # of the distribution function, which is linear within a cell
            inside = np.clip(t, 0.0, 1.0)
            cell = np.minimum((inside * n).astype(int), n - 1)
            past = inside - cell / n
            return area[cell] + past * (below[cell] + cells[cell] * n * past / 2) + np.maximum(t - 1, 0.0)

        near = np.diff(integral(self.ends + self.b) - integral(self.ends - self.b))
        return self.floor + self.high * (1 - exp(-self.epsilon)) * near

    @cached_property
    def edges(self) -> scipy.sparse.csr_array:
        """The channel less its floor, differenced along the bins, shape (bins, bins): a handful of entries a row."""
        n = self.bins
        near = np.zeros((n, n))
        for shift, sign in ((self.b, 1.0), (-self.b, -1.0)):
            t = (self.ends + shift)[:, None] * n - np.arange(n)
            near += sign * np.diff((np.clip(t, 0.0, 1.0) ** 2 / 2 + np.maximum(t - 1, 0.0)) / n, axis=0)
        edges = np.diff(near, axis=0, prepend=0.0)
        edges[np.abs(edges) < 1e-12] = 0.0  # rounding; a true entry is of the order of 1/n^2 or exactly 0
        return scipy.sparse.csr_array(self.high * (1 - exp(-self.epsilon)) * edges)

    @cached_property
    def edges_transposed(self) -> scipy.sparse.csr_array:
        return scipy.sparse.csr_array(self.edges.T)

    def forward(self, theta: np.ndarray) -> np.ndarray:
        """Return the bins' probabilities, shape (bins, repetitions), for cell probabilities of that shape."""
        shares = np.asarray(self.edges @ theta)
        np.cumsum(shares, axis=0, out=shares)
        shares += self.floor * theta.sum(axis=0)
        return shares

    def backward(self, weights: np.ndarray) -> np.ndarray:
        """Return the transposed channel times the weights, both of shape (bins, repetitions)."""
        tails = np.ascontiguousarray(np.cumsum(weights[::-1], axis=0)[::-1])
        return np.asarray(self.edges_transposed @ tails) + self.floor * tails[0]


@lru_cache(maxsize=16)
def channel(epsilon: float, bins: int) -> Channel:
    return Channel(epsilon, bins)


def reports(cells: np.ndarray, n: int, epsilon: float, bins: int, generator: np.random.Generator) -> np.ndarray:
    """Return how many of n reports fall into each bin, shape (bins,)."""
    law = channel(epsilon, bins).law(cells)
    return generator.multinomial(n, law / law.sum())


def decode(counts: np.ndarray, epsilon: float, smoothing: bool, converge: bool = False) -> np.ndarray:
    """Return the fitted cell probabilities, shape (repetitions, d), from counts of that shape.

    smoothing: EMS rather than EM.  converge: go on until a step is below 1e-6 in l1, where their rule stops earlier.
    """
    return trajectory(counts, epsilon, smoothing, (converge,))[0]


def trajectory(counts: np.ndarray, epsilon: float, smoothing: bool, rules: tuple[bool, ...]) -> list[np.ndarray]:
    """Return what `decode` returns under each of the stopping rules (converge or not), from one run of the iteration."""
    seen = np.ascontiguousarray(counts.T, dtype=np.float64)
    d, repetitions = seen.shape
    n = seen.sum(axis=0)
    operator = channel(epsilon, d)
    threshold = _IMPROVEMENT * (1.0 if smoothing else exp(epsilon))
    results = [np.empty((repetitions, d)) for _ in rules]
    waiting = [np.ones(repetitions, dtype=bool) for _ in rules]
    active = np.arange(repetitions)
    theta = np.full((d, repetitions), 1.0 / d)
    shares = operator.forward(theta)
    likelihood = np.zeros(repetitions)
    for step in range(_ITERATIONS):
        updated = theta * operator.backward(seen / shares)
        updated /= updated.sum(axis=0)
        if smoothing:
            updated = _smooth(updated)
            updated /= updated.sum(axis=0)
        shares = operator.forward(updated)
        before, likelihood = likelihood, np.einsum("ij,ij->j", seen, np.log(shares))
        moved = np.abs(updated - theta).sum(axis=0)
        theta = updated
        published = (moved <= 1 / n) | ((np.abs(likelihood - before) < threshold) & (step >= _FIRST))
        last = step == _ITERATIONS - 1
        for result, wait, converge in zip(results, waiting, rules, strict=True):
            done = (moved <= _CONVERGED) if converge else published
            stop = wait[active] & (done | last)
            result[active[stop]] = theta[:, stop].T
            wait[active[stop]] = False
        keep = np.logical_or.reduce([wait[active] for wait in waiting])
        if not keep.all():
            if not keep.any():
                break
            active, n, likelihood = active[keep], n[keep], likelihood[keep]
            theta, shares, seen = (np.ascontiguousarray(a[:, keep]) for a in (theta, shares, seen))
    return results


def _smooth(theta: np.ndarray) -> np.ndarray:
    """Weights 1, 2, 1 over 4 along the cells, shape (d, repetitions); 2, 1 over 3 at the ends."""
    smoothed = np.empty_like(theta)
    smoothed[1:-1] = 0.25 * (theta[:-2] + theta[2:]) + 0.5 * theta[1:-1]
    smoothed[0] = (2 * theta[0] + theta[1]) / 3
    smoothed[-1] = (2 * theta[-1] + theta[-2]) / 3
    return smoothed
