"""Maximum of the posterior of a log-spline family under one prior, and the evidence by Laplace's method."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

from dpcore.estimation import constants
from dpcore.estimation.density.likelihood import Counts
from dpcore.estimation.density.log_spline_family import Family


class Maximum(NamedTuple):
    """The maximum of the posterior.

    eta: its coordinates.  factor: Cholesky factor of the precision there.  value: l - eta' Q eta / 2 - log det(I + Q) / 2.
    information: I at the last place where it was computed.  is_behind: whether the value is below the required one.
    """

    eta: np.ndarray
    factor: tuple[np.ndarray, bool]
    value: float
    information: np.ndarray | None
    is_behind: bool


def maximise(
    family: Family,
    precision: np.ndarray,
    eta: np.ndarray,
    information: np.ndarray | None = None,
    least: float = -np.inf,
) -> Maximum:
    """Return the maximum of the posterior by Fisher scoring and, between two Fisher informations, quasi-Newton steps.

    Most time is spent on the Fisher information.  It is the initial matrix of limited-memory BFGS steps towards the maximum;
    there it is computed again.  The search ends where the Fisher step is short as well.

    precision: (D,) of the prior.  information: (D, D), at a place nearby.  least: a value below it need not be exact.
    """
    law, expected, value = _seen(family, precision, eta)
    gradient = family.gradient(law, expected) - precision * eta
    lowest = float(np.sum(np.log(precision[precision > 0]))) / 2  # of half log det(I + Q)
    is_here = information is None
    for _ in range(constants.FISHER_STEPS):
        if information is None or is_here:
            information = family.information(law, expected)
        factor = _factor(information, precision)
        half = float(np.sum(np.log(np.diagonal(factor[0]))))
        memory: list[tuple[np.ndarray, np.ndarray, float]] = []
        for _ in range(constants.QUASI_STEPS):
            step = _direction(factor, memory, gradient)
            left = float(gradient @ step)
            if (is_here or left < constants.CONVERGED) and value + 2 * left - (half if is_here else lowest) < least:
                return Maximum(eta, factor, value - half, information, True)
            tries = constants.SHORTENINGS if is_here else constants.QUASI_SHORTENINGS
            tried = _climbed(family, precision, eta, step, value, left, tries) if left >= constants.CONVERGED else None
            if tried is None:  # converged up to rounding
                break
            length, (law, expected, value) = tried
            step, eta = length * step, eta + length * step
            before, gradient = gradient, family.gradient(law, expected) - precision * eta
            lost = before - gradient
            if (curvature := float(lost @ step)) > 0:
                memory.append((step, lost, curvature))
            is_here = False
        if is_here:
            break
        is_here = True
    return Maximum(eta, factor, value - half, information, False)


def _climbed(
    family: Family, precision: np.ndarray, eta: np.ndarray, step: np.ndarray, value: float, left: float, tries: int
) -> tuple[float, tuple[np.ndarray, np.ndarray, float]] | None:
    """Return the accepted fraction of a step and the state there; None if no fraction increases the value.

    left: the slope along the step.  A rejected step is shortened to the maximum of a parabola [NocedalWright2006], 3.5.
    """
    length = 1.0
    for _ in range(tries):
        seen = _seen(family, precision, eta + length * step)
        gained = seen[2] - value
        if gained >= constants.SUFFICIENT_GAIN * length * left - constants.SUM_ROUNDING * abs(value):
            return length, seen
        highest = left * length / (2 * (left * length - gained)) if np.isfinite(gained) else 0.0
        length *= min(max(highest, 0.1), 0.5)
    return None


def _seen(family: Family, precision: np.ndarray, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Distribution, expected values and penalised value; the value is minus infinity where the distribution is impossible."""
    law = family.law(eta)
    expected = family.expected(law)
    if (
        family.atoms and float(np.maximum(law[family.points :], 0.0).sum()) >= constants.MAX_MASS
    ):  # something is left to the density
        return law, expected, -np.inf
    if isinstance(family.likelihood, Counts) and not expected.min() > 0:
        return law, expected, -np.inf
    return law, expected, family.likelihood.log_likelihood(expected) - float(precision @ eta**2) / 2


def _direction(
    factor: tuple[np.ndarray, bool], memory: list[tuple[np.ndarray, np.ndarray, float]], gradient: np.ndarray
) -> np.ndarray:
    """The limited-memory BFGS step [LiuNocedal1989], the factor as the initial matrix.

    memory: the last steps, the change of the gradient by each, and the product of the two.
    """
    shares, rest = [], gradient
    for step, lost, curvature in reversed(memory):
        shares.append(float(step @ rest) / curvature)
        rest = rest - shares[-1] * lost
    direction = np.asarray(scipy.linalg.lapack.dpotrs(factor[0], rest, lower=0)[0])
    for (step, lost, curvature), share in zip(memory, reversed(shares), strict=True):
        direction += (share - float(lost @ direction) / curvature) * step
    return direction


def _factor(information: np.ndarray, precision: np.ndarray) -> tuple[np.ndarray, bool]:
    """The Cholesky factor of the posterior precision, with the smallest ridge that makes it positive definite."""
    matrix, ridge = information.copy(), 0.0
    diagonal = np.diagonal(information) + precision
    while np.isfinite(ridge):
        np.fill_diagonal(matrix, diagonal + ridge)
        factor, failed = scipy.linalg.lapack.dpotrf(matrix, lower=0, clean=0)
        if not failed:
            return factor, False
        ridge = max(10 * ridge, 1e-12 * float(diagonal.sum()) / len(matrix))
    raise np.linalg.LinAlgError("the information is not finite")
