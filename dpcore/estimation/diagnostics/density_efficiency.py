"""How near a mechanism comes to the least error that any mechanism of its epsilon could have of a whole density.

Of one law alone no such limit is known: whoever guesses the law errs by nothing.  So densities are drawn near the uniform one,
f = 1 + sum_k s_k sqrt(2) cos(pi k x), s_k independent and normal, their variances falling as k^(-4), one in all.  Errors are
Bayes errors, mean integrated squares: tr (n I + Q)^{-1}, I what a report says of s at the uniform density and Q the prior's
precision.  By van Trees' inequality no estimate has less, but for what I changes within the prior [Gill1995].

What any mechanism may say.  A report z tells x by r(x) = q(z | x) / q(z), of mean one, whose largest value is at most E =
e^epsilon times its least.  In orthonormal functions tr I is at most the mean of var r(X), and the variance of such an r is
largest where it has two values, the larger on a share 1 / (1 + E) of the range: (E - 1)^2 / (4 E).  Of all I of that trace
tr (n I + Q)^{-1} is least where n I fills the lowest directions of Q up to one level, as water does: a lower bound, which need
not be reached, since a set of values says something of high frequencies, too.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dpcore.errors import check_positive
from dpcore.estimation import constants
from dpcore.mechanisms.observation_model import FiniteChannel


def curve_ratio(model: FiniteChannel, ratio: float, n: int) -> float:
    """Return the error of n reports' density over the least of any mechanism, at least 1; both are roots of squares.

    model: of input cells that divide the range evenly.  ratio: e^epsilon of the mechanism's promise, above 1.  n: reports.
    """
    check_positive(n=n, **{"ratio - 1": ratio - 1})
    precisions = precisions_of(constants.DERIVATIVES, constants.FREQUENCIES)
    covariance = np.linalg.inv(n * information(model, constants.FREQUENCIES) + np.diag(precisions))
    return float(np.sqrt(np.trace(covariance) / _least(n * (ratio - 1) ** 2 / (4 * ratio), precisions)))


def _least(information: float, precisions: np.ndarray) -> float:
    """The least sum of 1 / (i_k + q_k), i_k >= 0 of that sum, where the precisions q_k, (K,), rise."""
    filled = np.arange(1, len(precisions) + 1)
    levels = (information + np.cumsum(precisions)) / filled  # of the water, where so many directions are filled
    count = int(np.flatnonzero(levels >= precisions)[-1]) + 1
    return float(count / levels[count - 1] + (1 / precisions[count:]).sum())


def precisions_of(order: int, frequencies: int) -> np.ndarray:
    """Return the precisions of so many cosines, (K,), whose variances fall as k^(-2 order) and are one in all."""
    falling = np.arange(1, frequencies + 1) ** (2.0 * order)
    return np.asarray(falling * (1 / falling).sum())


def information(model: FiniteChannel, frequencies: int) -> np.ndarray:
    """Return what a report says of so many cosines, (K, K), at the uniform density; model: of cells that divide it evenly."""
    slopes = model.probabilities(_masses(model.inputs, frequencies))
    expected = model.probabilities(np.full(model.inputs, 1 / model.inputs))
    levels = np.repeat(model.level_law, [level.outputs for level in model.levels])
    return np.asarray((slopes * (levels / expected)[:, None]).T @ slopes)


@lru_cache(maxsize=4)
def _masses(cells: int, frequencies: int) -> np.ndarray:
    """What the input cells get of each cosine, (cells, K)."""
    angles = np.pi * np.arange(1, frequencies + 1)
    return np.asarray(np.sqrt(2) * np.diff(np.sin(np.linspace(0.0, 1.0, cells + 1)[:, None] * angles), axis=0) / angles)
