"""A slow twin of the wavelet basis: null spaces by singular values, inner products by quadrature, point by point."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BSpline

from dpcore.mechanisms.bases import SplineWavelet, bspline


def slow_spline(knots: list[float], k: int, degree: int, x: float) -> float:
    """The Cox-de Boor recursion, one number at a time; closed at the right end."""
    if degree == 0:
        last = x == 1 and knots[k] < x == knots[k + 1]
        return float(knots[k] <= x < knots[k + 1] or last)
    value = 0.0
    if knots[k + degree] > knots[k]:
        value += (x - knots[k]) / (knots[k + degree] - knots[k]) * slow_spline(knots, k, degree - 1, x)
    if knots[k + degree + 1] > knots[k + 1]:
        rest = (knots[k + degree + 1] - x) / (knots[k + degree + 1] - knots[k + 1])
        value += rest * slow_spline(knots, k + 1, degree - 1, x)
    return value


def slow_wavelets(degree: int, level: int) -> np.ndarray:
    """Coefficients (fine, 2^level) in B-splines of V_{level+1}, from null spaces of the conditions, floats all the way."""
    m, cells = degree + 1, 1 << level
    nodes, weights = np.polynomial.legendre.leggauss(m)
    x = ((np.arange(2 * cells)[:, None] + (nodes + 1) / 2) / (2 * cells)).ravel()
    w = np.tile(weights / 4 / cells, 2 * cells)

    def design(j: int) -> np.ndarray:
        knots = np.r_[[0.0] * degree, np.arange((1 << j) + 1) / (1 << j), [1.0] * degree]
        return np.asarray(BSpline(knots, np.eye((1 << j) + degree), degree)(x))

    fine, coarse = design(level + 1), design(level)
    cross, gram = (coarse.T * w) @ fine, (fine.T * w) @ fine

    def null_vector(first: int, last: int, earlier: list[np.ndarray]) -> np.ndarray:
        conditions = np.vstack([cross, *[(gram @ vector)[None, :] for vector in earlier]])[:, first : last + 1]
        _, singular, right = np.linalg.svd(conditions)
        assert np.sum(singular > 1e-10) == last - first  # one dimension is left
        vector = np.zeros(fine.shape[1])
        vector[first : last + 1] = right[-1]
        return np.asarray(vector / np.sqrt(vector @ gram @ vector))

    left: list[np.ndarray] = []
    for window in range(m, 2 * m - 1):
        left.append(null_vector(0, 2 * window - 1, left))
    interior = [null_vector(degree + 2 * k, degree + 2 * k + 3 * m - 2, []) for k in range(cells - 2 * m + 2)]
    return np.stack([*left, *interior, *[vector[::-1] for vector in reversed(left)]], axis=1)


def test_wavelets_are_those_of_the_slow_construction(subtests: pytest.Subtests) -> None:
    for degree, level in [(0, 1), (0, 3), (1, 2), (1, 4), (2, 3), (2, 4), (3, 3), (3, 4)]:
        with subtests.test(degree=degree, level=level):
            basis = SplineWavelet(degree, level, level)
            twin, ours = slow_wavelets(degree, level), basis.refine(1)
            signs = np.sign((twin * ours).sum(axis=0))
            assert np.allclose(ours, twin * signs, atol=1e-7)
            x = np.array([0, 0.013, 0.21, 0.5, 0.77, 0.999, 1])
            knots = bspline.knots(degree, level + 1).tolist()
            slow = np.array([[slow_spline(knots, k, degree, at) for k in range(len(twin))] for at in x])
            assert np.allclose(basis.evaluate(x, 1), slow @ (twin * signs), atol=1e-6)
            assert np.allclose(bspline.evaluate(x, degree, level + 1), slow, atol=1e-13)
