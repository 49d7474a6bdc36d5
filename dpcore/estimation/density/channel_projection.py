"""Least squares in V_j from the counts of a finite channel: the unbiased estimate that intervals of EM and EMS come from.

EM's own fit is biased by where it stopped, and EMS's by its smoothing, in ways that no covariance tells.  The counts are
linear in the density: with shares y_l of each level's reports and N the B-splines' masses in the input cells,

    raw = (M' W M)^{-1} M' W y,    M_l = A_l N,  W = diag(n_l / p),

p the shares expected under the fit.  The covariance is that of multinomial shares, sandwiched, level by level.  j is as asked,
or coarser, with lines at last, where few cells cannot tell so many functions apart.
"""

from __future__ import annotations

import numpy as np

from dpcore.errors import NotEstimable
from dpcore.estimation import constants
from dpcore.estimation.consistency import project_density
from dpcore.estimation.density.densities import Spline, cell_masses
from dpcore.estimation.density.resolution_levels import Rung
from dpcore.estimation.inference.confidence_bands import massless
from dpcore.mechanisms.bases import bspline
from dpcore.mechanisms.observation_model import FiniteChannel


def project(
    channel: FiniteChannel,
    tables: np.ndarray,
    weights: np.ndarray,
    fit: np.ndarray,
    degree: int,
    level: int,
    bounds: tuple[float, float],
) -> Rung:
    """Return the least squares estimate in V_level, the nearest proper density, and the covariance of its coefficients.

    tables: (S, k) counts by reported category, k = 1 where there is none.  weights: (k,), w with `tables @ w` unbiased for the
    counts of the clients in question: ones, or a row of the inverse of the categorical channel.  fit: (inputs,), their law.
    Levels whose reports are too few to tell from none are left out; raises NotEstimable where that is all of them, or where the
    rest tell no law from another.
    """
    spaces = [*((degree, coarser) for coarser in range(level, -1, -1)), (1, 0)]
    for degree, level in spaces:
        information, right, noise = _normal_equations(channel, tables, weights, fit, degree, level)
        mass = bspline.integrals(degree, level)
        free = massless(mass)
        if np.linalg.cond(free.T @ information @ free) <= constants.MAX_CONDITION:
            break
    else:
        raise NotEstimable("the reports cannot tell a law of this attribute from another; use more cells")
    inverse = np.linalg.inv(information)
    raw, covariance = _condition(inverse @ right, inverse @ noise @ inverse, inverse, mass)
    lower, upper = bounds
    proper = project_density(raw, degree, level)
    return Rung(
        Spline(lower, upper, degree, level, raw),
        Spline(lower, upper, degree, level, proper),
        covariance,
    )


def _normal_equations(
    channel: FiniteChannel, tables: np.ndarray, weights: np.ndarray, fit: np.ndarray, degree: int, level: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """M' W M, M' W y and the covariance of the latter."""
    masses = cell_masses(degree, level, channel.inputs)
    counts, squares = tables @ weights, tables @ weights**2
    size = masses.shape[1]
    information, right = np.zeros((size, size)), np.zeros(size)
    noise = np.zeros((size, size))
    for wave, y, u in zip(channel.levels, channel.split(counts), channel.split(squares), strict=True):
        n = float(y.sum())
        if n <= constants.CLEAR_ERRORS * np.sqrt(u.sum()):
            continue
        p, design = wave.probabilities(fit), wave.probabilities(masses)
        scaled = design / p[:, None] * n  # W M
        information += scaled.T @ design
        right += scaled.T @ (y / n)
        # Of the shares: sum over reports of w^2 (e_z - p)(e_z - p)' / n^2.  What is taken off e_z moves the mass alone,
        # since M'W p is the splines' masses, and the mass is known.
        noise += (scaled.T * u) @ scaled / n**2
    if not information.any():
        raise NotEstimable("too few reports to tell any level from none; collect more")
    return information, right, noise


def _condition(
    raw: np.ndarray, covariance: np.ndarray, inverse: np.ndarray, mass: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The least squares estimate of mass one, which is known: moved along inverse @ mass, and its covariance."""
    gain = inverse @ mass / (mass @ inverse @ mass)
    keep = np.eye(len(raw)) - np.outer(gain, mass)
    return raw - gain * (mass @ raw - 1.0), keep @ covariance @ keep.T
