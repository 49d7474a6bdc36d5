"""Efficiency of a mechanism for a whole density: its error relative to a lower bound over all mechanisms of the same epsilon.

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

import numpy as np

from dpcore.errors import check_positive
from dpcore.estimation import constants
from dpcore.mechanisms.observation_model import FiniteChannel


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
