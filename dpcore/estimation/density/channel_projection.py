"""Least squares in V_j from the counts of a finite channel: unbiased, and the centre of the bands of EM and EMS.

EM is biased by its stopping rule and EMS by its smoothing; no covariance accounts for either bias.  The counts are linear in
the density: with shares y_l of each level's reports and N the B-splines' masses in the input cells,

    raw = (M' W M)^{-1} M' W y,    M_l = A_l N,  W = diag(n_l / p),

p the shares expected under the fit.  The covariance is the sandwich of the multinomial covariance of the shares, level by
level.  Where few cells do not identify the functions of V_j, a coarser level is used, at last degree 1.
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
    """Return the least squares estimate in V_level, the nearest proper density, and the covariance of the coefficients.

    tables: (S, k) counts by reported category, k = 1 without categories.  weights: (k,), w with `tables @ w` unbiased for the
    counts of the clients in question: ones, or a row of the inverse of the categorical channel.  fit: (inputs,), their
    distribution.  Levels whose count is within three standard errors of zero are left out; raises NotEstimable if all are, or
    if the rest do not identify a density.
    """
    spaces = [*((degree, coarser) for coarser in range(level, -1, -1)), (1, 0)]
    for degree, level in spaces:
        information, right, noise = _normal_equations(channel, tables, weights, fit, degree, level)
        mass = bspline.integrals(degree, level)
        free = massless(mass)
        if np.linalg.cond(free.T @ information @ free) <= constants.MAX_CONDITION:
            break
    else:
        raise NotEstimable("the reports do not identify a density of this attribute; use more cells")
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
    """M' W M, M' W y and the covariance of M' W y."""
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
        # Covariance of the shares: sum over reports of w^2 (e_z - p)(e_z - p)' / n^2.  Subtracting p changes the mass alone,
        # since M'W p is the splines' masses, and the mass is one.
        noise += (scaled.T * u) @ scaled / n**2
    if not information.any():
        raise NotEstimable("the count of every level is within three standard errors of zero; collect more reports")
    return information, right, noise


def _condition(
    raw: np.ndarray, covariance: np.ndarray, inverse: np.ndarray, mass: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The least squares estimate constrained to mass one: moved along inverse @ mass, and its covariance."""
    gain = inverse @ mass / (mass @ inverse @ mass)
    keep = np.eye(len(raw)) - np.outer(gain, mass)
    return raw - gain * (mass @ raw - 1.0), keep @ covariance @ keep.T
