"""Posterior mode of a distribution on support points under one prior, and score tests of further features.

The evidence of a prior is its marginal likelihood by Laplace's method, l(p) - |u|^2 / 2 - log det(I + B'FB) / 2 at the mode, B
the derivative of the distribution by u.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from dpcore.estimation import constants
from dpcore.estimation.discrete.log_linear_family import Belief, Family, slope
from dpcore.mechanisms.fisher_information import Information


@dataclass(frozen=True, eq=False)
class Mode:
    """The posterior mode under a prior: coordinates u, norms of L's columns, distribution, and evidence of the prior.

    cost: subtracted from the evidence, minus the log prior probability of the features.
    """

    belief: Belief
    coordinates: np.ndarray
    widths: np.ndarray
    law: np.ndarray
    evidence: float
    cost: float = 0.0


def fit(family: Family, belief: Belief, information: Information, start: Mode | None = None, cost: float = 0.0) -> Mode:
    """Return the posterior mode under a prior by Newton's method, started near a mode, with halved steps where needed."""
    columns = family.columns(belief)
    u, widths = np.zeros(columns.shape[1]), np.linalg.norm(columns, axis=0) + constants.ROUNDING
    if start is not None:  # the same logarithms; a part of each point's own comes last
        u[: len(start.widths)] = start.coordinates * start.widths / widths[: len(start.widths)]
    law, value = _at(columns, u, information)
    for _ in range(constants.NEWTON_STEPS):
        moved = information.root @ slope(columns, law)
        gradient = moved.T @ (information.numbers - information.root @ law) - u
        step, uncertain = _solved(moved, gradient)
        length, tried = 1.0, _at(columns, u + step, information)
        while tried[1] < value and length > constants.MIN_STEP:
            length /= 2
            tried = _at(columns, u + length * step, information)
        if tried[1] < value:
            break
        u, (law, value) = u + length * step, tried
        if gradient @ step < constants.NEWTON_GAIN:
            break
    return Mode(belief, u, widths, law, value - uncertain - cost, cost)


def _solved(moved: np.ndarray, gradient: np.ndarray) -> tuple[np.ndarray, float]:
    """(I + B'B)^-1 g and log det(I + B'B) / 2, B (q, r): in q dimensions if q < r."""
    is_wide = len(moved) < moved.shape[1]
    inner = moved @ moved.T if is_wide else moved.T @ moved
    inner[np.diag_indices_from(inner)] += 1.0
    factor, _ = scipy.linalg.lapack.dpotrf(inner)
    solved, _ = scipy.linalg.lapack.dpotrs(factor, moved @ gradient if is_wide else gradient)
    return gradient - moved.T @ solved if is_wide else solved, float(np.log(np.diagonal(factor)).sum())


def _at(columns: np.ndarray, u: np.ndarray, information: Information) -> tuple[np.ndarray, float]:
    """The distribution at u, and its log-likelihood plus log prior."""
    logarithms = columns @ u
    law = np.exp(logarithms - logarithms.max())
    law /= law.sum()
    return law, information(law) - float(u @ u) / 2


def excess(family: Family, information: Information, mode: Mode, columns: np.ndarray) -> np.ndarray:
    """Return one-sided chi-squared, (m,), of additional mass at each of the columns, (k, m); 0 for less mass."""
    moved = information.root @ slope(family.columns(mode.belief), mode.law)
    more = information.root @ slope(columns, mode.law)
    left = information.numbers - information.root @ mode.law
    inner = moved @ moved.T
    inner[np.diag_indices_from(inner)] += 1.0
    information_left = np.sum(more * np.linalg.solve(inner, more), axis=0)
    return np.asarray(np.maximum(left @ more, 0.0) ** 2 / np.maximum(information_left, constants.ROUNDING))
