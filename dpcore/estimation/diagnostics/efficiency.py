"""Efficiency of an estimate, and of a mechanism for a whole density: errors relative to the least of any mechanism.

An estimate is, to first order, the mean of weights g(Z) of reports with E[g(Z) | X = x] = w(x), w the functional's influence.
A mechanism with its weights is a measure over pairs of a weight v and a set S of values that report it e^epsilon times as often
as others; every epsilon-private mechanism is a mixture of such pairs, so that the least variance is a linear program.  Its dual
is solved here; the violation of its constraints left by solver and grid is subtracted, so that the result is a lower bound.
Mechanisms that use earlier reports do not gain, and those that learn the distribution reach it [Steinberger2024].

Efficiency of a mechanism for a whole density: its error relative to a lower bound over all mechanisms of the same epsilon.

There is no such bound for a single distribution: a constant estimate may be exact.  So densities are drawn near the uniform
one, f = 1 + sum_k s_k sqrt(2) cos(pi k x), s_k independent and normal, with variances proportional to k^(-4) that add up to
one.  Errors are Bayes risks of the integrated square, tr (n I + Q)^{-1}, I the information of a report on s at the uniform
density and Q the prior's precision.  By van Trees' inequality this is a lower bound, up to the variation of I within the prior
[Gill1995].

Bound over mechanisms.  Report z has the likelihood ratio r(x) = q(z | x) / q(z), of mean one, whose maximum is at most E =
e^epsilon times its minimum.  In orthonormal functions tr I is at most the mean of var r(X), and the variance is largest if r
has two values, the larger on a share 1 / (1 + E) of the range: (E - 1)^2 / (4 E).  Among all I of that trace tr (n I + Q)^{-1}
is least if n I + Q is constant on the lowest directions of Q (water filling).  No mechanism need reach the bound, since
two-valued r also inform on high frequencies.
"""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from typing import Any

import numpy as np
import scipy

from dpcore.errors import check_positive
from dpcore.estimation import constants
from dpcore.functionals.base import Density, Functional
from dpcore.mechanisms.observation_model import FiniteChannel


def least_variance(values: np.ndarray, law: np.ndarray, ratio: float) -> float:
    """Return a lower bound of the variance of one report's weight, over every mechanism with E[weight | value] = value.

    values: (k,), in any unit.  law: (k,), of the values, sums to 1.  ratio: e^epsilon, above 1.

    >>> bit = least_variance(np.array([0.0, 1.0]), np.array([0.5, 0.5]), 3.0)  # (2p - 1)^-2 / 4, p = 3 / 4: randomized response
    >>> 0.99 < bit < 1.0001
    True
    """
    check_positive(**{"ratio - 1": ratio - 1})
    low, high = float(values.min()), float(values.max())
    if high == low:
        return 0.0
    half = (high - low) / 2
    values = (values - low) / half - 1
    if law.min() * len(law) < constants.NEGLIGIBLE:
        law = (1 - constants.NEGLIGIBLE) * law + constants.NEGLIGIBLE / len(law)
    bound = _dual(values, law, ratio)
    return max(0.0, bound - float(law @ values) ** 2) * half**2


def _dual(values: np.ndarray, law: np.ndarray, ratio: float) -> float:
    """max sum a + b values with sum_x h_v(x) + (ratio - 1) max(h_v(x), 0) <= 0, h_v = a + b v - law v^2, for every v."""
    reach = 1.6 * (ratio + 1) / (ratio - 1)
    asked = np.linspace(-reach, reach, constants.CONSTRAINTS)
    everywhere = np.concatenate(
        [reach * np.linspace(-2, 2, 4001), np.outer([-1, 1], np.geomspace(2, 1e6, 400)).ravel()]
    )
    bound = 0.0
    for _ in range(constants.CONSTRAINT_ROUNDS):
        a, b = _solved(values, law, ratio, asked)
        h = a + everywhere[:, None] * b - everywhere[:, None] ** 2 * law
        broken = np.maximum(h.sum(axis=1) + (ratio - 1) * np.maximum(h, 0.0).sum(axis=1), 0.0)
        # a less the most that is broken times the law keeps every constraint
        bound = max(bound, float(a.sum() + b @ values - broken.max()))
        if broken.max() <= constants.CONSTRAINT_TOLERANCE * bound:
            break
        peaks = (broken[1:-1] > broken[:-2]) & (broken[1:-1] >= broken[2:])
        asked = np.append(asked, everywhere[1:-1][peaks])
    return bound


def _solved(values: np.ndarray, law: np.ndarray, ratio: float, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best a and b, (k,) each, under the constraints of some v, (m,); max(h, 0) is a variable."""
    k, m = len(values), len(asked)
    weights = np.stack([np.ones(m), asked], axis=1)
    above: list[Any] = [scipy.sparse.kron(weights, scipy.sparse.eye_array(k)), -scipy.sparse.eye_array(m * k)]
    ones = scipy.sparse.coo_array(np.ones((1, k)))
    sums: list[Any] = [np.kron(weights, np.ones(k)), (ratio - 1) * scipy.sparse.kron(scipy.sparse.eye_array(m), ones)]
    solved = scipy.optimize.linprog(
        -np.concatenate([np.ones(k), values, np.zeros(m * k)]),
        A_ub=scipy.sparse.block_array([above, sums]).tocsr(),
        b_ub=np.concatenate([np.kron(asked**2, law), asked**2]),
        bounds=[(None, None)] * (2 * k) + [(0, None)] * (m * k),
    )
    solution = np.zeros(2 * k) if solved.x is None else solved.x
    return solution[:k], solution[k : 2 * k]


def least_error(functional: Functional, density: Density, ratio: float, n: int) -> float | None:
    """Return a lower bound of the error of any estimate from n reports of ratio e^epsilon at a density, or None.

    None for functionals without an error of order n^(-1/2) (the density at a point), or with an unbounded influence.
    Values with nearly the same influence are merged, which lowers the bound.
    """
    if functional.needs_positive or functional.index is not None:
        return None
    influence = functional.expand(density).influence
    if influence.points or any(order for order, _ in influence.weights):
        return None
    edges = np.linspace(density.lower, density.upper, constants.CURVE_CELLS + 1)
    ends = np.array(getattr(density, "atoms", (0.0, 0.0)))
    middle = (edges[1:] + edges[:-1]) / 2
    masses = np.maximum(density.pdf(middle) * np.diff(edges), 0.0)
    weights = sum((weight(middle) for _, weight in influence.weights), np.zeros(constants.CURVE_CELLS))
    law = np.concatenate([masses * (1 - ends.sum()) / masses.sum(), ends])
    values = np.concatenate([weights, influence.at_ends() if ends.any() else weights[[0, -1]]])
    return sqrt(least_variance(*_grouped(values, law), ratio) / n)


def _grouped(values: np.ndarray, law: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nearby values merged, each group at its mean, (k,), and the groups' shares."""
    low, high = float(values.min()), float(values.max())
    if high == low:
        return values[:1], np.ones(1)
    edge = constants.INFLUENCE_EDGE * (high - low)
    inside = np.concatenate([[low + edge], np.linspace(low, high, constants.INFLUENCE_GROUPS - 1)[1:-1], [high - edge]])
    group = np.searchsorted(inside, values)
    shares = np.bincount(group, law, minlength=constants.INFLUENCE_GROUPS)
    sizes = np.bincount(group, minlength=constants.INFLUENCE_GROUPS)
    means = np.where(
        shares > 0,
        np.bincount(group, law * values, minlength=constants.INFLUENCE_GROUPS) / np.where(shares > 0, shares, 1.0),
        np.bincount(group, values, minlength=constants.INFLUENCE_GROUPS) / np.maximum(sizes, 1),
    )
    return means[sizes > 0], shares[sizes > 0]


def curve_ratio(model: FiniteChannel, ratio: float, n: int) -> float:
    """Return the error of n reports' density over the lower bound, at least 1; both are roots of squares.

    model: of input cells that divide the range evenly.  ratio: e^epsilon of the mechanism, above 1.  n: number of reports.
    """
    check_positive(n=n, **{"ratio - 1": ratio - 1})
    precisions = precisions_of(constants.DERIVATIVES, constants.FREQUENCIES)
    covariance = np.linalg.inv(n * information(model, constants.FREQUENCIES) + np.diag(precisions))
    return float(np.sqrt(np.trace(covariance) / _least(n * (ratio - 1) ** 2 / (4 * ratio), precisions)))


def _least(information: float, precisions: np.ndarray) -> float:
    """The least sum of 1 / (i_k + q_k) over i_k >= 0 with that sum, for ascending precisions q_k, (K,)."""
    filled = np.arange(1, len(precisions) + 1)
    levels = (information + np.cumsum(precisions)) / filled  # of the water, where so many directions are filled
    count = int(np.flatnonzero(levels >= precisions)[-1]) + 1
    return float(count / levels[count - 1] + (1 / precisions[count:]).sum())


def precisions_of(order: int, frequencies: int) -> np.ndarray:
    """Return the precisions of the cosines, (K,), whose variances fall as k^(-2 order) and add up to one."""
    falling = np.arange(1, frequencies + 1) ** (2.0 * order)
    return np.asarray(falling * (1 / falling).sum())


def information(model: FiniteChannel, frequencies: int) -> np.ndarray:
    """Return a report's information on the cosines, (K, K), at the uniform density; model: of equal cells."""
    slopes = model.probabilities(_masses(model.inputs, frequencies))
    expected = model.probabilities(np.full(model.inputs, 1 / model.inputs))
    levels = np.repeat(model.level_law, [level.outputs for level in model.levels])
    return np.asarray((slopes * (levels / expected)[:, None]).T @ slopes)


@lru_cache(maxsize=4)
def _masses(cells: int, frequencies: int) -> np.ndarray:
    """Mass of each cosine in the input cells, (cells, K)."""
    angles = np.pi * np.arange(1, frequencies + 1)
    return np.asarray(np.sqrt(2) * np.diff(np.sin(np.linspace(0.0, 1.0, cells + 1)[:, None] * angles), axis=0) / angles)
