"""Projections onto constraints: frequencies onto the simplex, splines onto densities.

Both are Euclidean: the projection of the raw estimate is at least as close to any consistent truth as the raw estimate.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy

from dpcore.estimation import constants
from dpcore.mechanisms.bases import bspline


def project_simplex(values: np.ndarray) -> np.ndarray:
    """Return the nearest point, shape (k,), that is nonnegative and sums to one ("norm-sub").

    The projection is max(v - tau, 0), tau found from the sorted values.  Source: [Duchi2008].

    >>> project_simplex(np.array([0.7, 0.5, -0.2]))
    array([0.6, 0.4, 0. ])
    """
    values = np.asarray(values, dtype=np.float64)
    descending = np.sort(values)[::-1]
    excess = (np.cumsum(descending) - 1) / np.arange(1, len(values) + 1)
    last = int(np.flatnonzero(descending > excess)[-1])
    projected = np.maximum(values - excess[last], 0.0)
    return np.asarray(projected / projected.sum())  # the sum is one but for rounding


def project_cumulative(values: np.ndarray) -> np.ndarray:
    """Return frequencies, shape (k,), nonnegative and of sum one, for ordered categories.

    Their cumulative sums are the nondecreasing numbers in [0, 1] nearest to the raw ones: isotonic regression, then clipping,
    is the projection on both constraints [Barlow1972].  Proportions of intervals of categories gain most.

    >>> project_cumulative(np.array([0.5, -0.1, 0.3, 0.3]))
    array([0.45, 0.  , 0.25, 0.3 ])
    """
    cumulative = np.cumsum(np.asarray(values, dtype=np.float64))[:-1]
    increasing = np.clip(scipy.optimize.isotonic_regression(cumulative).x, 0.0, 1.0)
    return np.diff(increasing, prepend=0.0, append=1.0)


def project_density(coefficients: np.ndarray, degree: int, level: int) -> np.ndarray:
    """Return the B-spline coefficients, shape (K,), of the density in V_level nearest in L2 to a spline of V_level.

    Degrees 0 and 1 are nonnegative exactly where their coefficients are.  For degrees 2 and 3 the coefficients after one or two
    knot refinements are required to be nonnegative, which is sufficient, and nearly necessary; above level 8 the coefficients
    themselves.
    The integral is one to rounding.

    Method: with B-splines summing to one, the projection on mass one adds a constant.  The rest is a least-distance problem in
    the directions of mass zero, solved as nonnegative least squares [Lawson1974], chapter 23.
    """
    raw = np.asarray(coefficients, dtype=np.float64)
    mass = bspline.integrals(degree, level)
    centred = raw + (1.0 - float(mass @ raw))
    refine, whitened = _constraints(degree, level)
    slack = refine @ centred
    if slack.min() >= 0:
        return centred
    triangle = _cholesky(degree, level)
    scale = float(np.max(np.abs(centred)))
    # min |y| subject to whitened y >= -slack / scale; c = centred + scale * L^-T y
    system = np.vstack([whitened.T, -slack / scale])
    target = np.zeros(len(raw) + 1)
    target[-1] = 1.0
    multipliers = _nonnegative_least_squares(system, target)
    residual = system @ multipliers - target
    step = -residual[:-1] / residual[-1]
    projected = centred + scale * scipy.linalg.solve_triangular(triangle.T, step, lower=False)
    least = float((refine @ projected).min())
    if least < 0:  # rounding: mix in some of the uniform density, whose refined coefficients are all one
        projected = projected - least
    return np.asarray(projected / float(mass @ projected))


def _nonnegative_least_squares(system: np.ndarray, target: np.ndarray) -> np.ndarray:
    return np.asarray(scipy.optimize.nnls(system, target, maxiter=10 * system.shape[1])[0])


def refinements(degree: int, level: int) -> int:
    """Return the number of knot refinements after which coefficients are required to be nonnegative."""
    return 0 if degree <= 1 else min(max(constants.POSITIVITY_LEVEL - level, 0), 2)


@lru_cache(maxsize=64)
def _constraints(degree: int, level: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows R with R c >= 0, and R L^-T across the directions that keep the mass (c = c1 + L^-T y)."""
    refine = np.eye(bspline.size(degree, level))
    for step in range(refinements(degree, level)):
        refine = bspline.refinement(degree, level + step) @ refine
    triangle = _cholesky(degree, level)
    whitened = scipy.linalg.solve_triangular(triangle, refine.T, lower=True).T
    direction = scipy.linalg.solve_triangular(triangle, bspline.integrals(degree, level), lower=True)
    direction = direction / np.linalg.norm(direction)
    whitened = whitened - np.outer(whitened @ direction, direction)
    return refine, whitened


@lru_cache(maxsize=64)
def _cholesky(degree: int, level: int) -> np.ndarray:
    """Lower L with L L' the Gram matrix of V_level."""
    return np.asarray(scipy.linalg.cholesky(bspline.gram(degree, level), lower=True))
