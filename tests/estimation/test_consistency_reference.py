"""Projections onto densities against a slow, general solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from dpcore.estimation.consistency import project_density, project_simplex, refinements
from dpcore.mechanisms.bases import bspline
from tests.helpers.cases import every_value_once


def _slow_projection(raw: np.ndarray, degree: int, level: int) -> np.ndarray:
    gram, mass = bspline.gram(degree, level), bspline.integrals(degree, level)
    rows = np.eye(len(raw))
    for step in range(refinements(degree, level)):
        rows = bspline.refinement(degree, level + step) @ rows
    found = minimize(
        lambda c: (c - raw) @ gram @ (c - raw),
        np.ones(len(raw)),
        jac=lambda c: 2 * gram @ (c - raw),
        method="SLSQP",
        constraints=[LinearConstraint(rows, 0, np.inf), LinearConstraint(mass, 1, 1)],
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    return np.asarray(found.x)


def _raw(degree: int, level: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    size = bspline.size(degree, level)
    u = np.linspace(0, 1, size)
    return 30 * u * (1 - u) ** 4 + rng.choice([0.2, 1.0, 3.0]) * rng.standard_normal(size)


def test_the_projection_is_the_slow_solvers(subtests):
    for degree in [0, 1, 2, 3]:
        for seed in range(5):
            with subtests.test(degree=degree, seed=seed):
                raw = _raw(degree, 3, seed)
                fast, slow = project_density(raw, degree, 3), _slow_projection(raw, degree, 3)
                gram = bspline.gram(degree, 3)
                assert (fast - raw) @ gram @ (fast - raw) <= (slow - raw) @ gram @ (slow - raw) * (1 + 1e-6) + 1e-9
                np.testing.assert_allclose(fast, slow, atol=2e-3 * np.abs(raw).max())


@pytest.mark.parametrize(("degree", "level"), every_value_once([0, 1, 2, 3], [3, 5, 7, 8]))
def test_projections_are_densities(degree, level):
    for seed in range(3):
        projected = project_density(_raw(degree, level, seed), degree, level)
        x = np.linspace(0, 1, 3001)
        assert (bspline.evaluate(x, degree, level) @ projected).min() >= -1e-12
        assert bspline.integrals(degree, level) @ projected == pytest.approx(1, abs=1e-14)
        np.testing.assert_allclose(project_density(projected, degree, level), projected, atol=1e-9)


def test_a_density_is_left_alone_and_a_multiple_of_it_too(subtests):
    for degree in [1, 2, 3]:
        with subtests.test(degree=degree):
            size = bspline.size(degree, 4)
            density = 0.5 + np.random.default_rng(1).random(size)
            density /= bspline.integrals(degree, 4) @ density
            np.testing.assert_allclose(project_density(density, degree, 4), density, atol=1e-12)


def test_no_density_is_further_from_the_projection_than_from_the_raw_estimate(subtests):
    for degree in [0, 2, 3]:
        with subtests.test(degree=degree):
            rng = np.random.default_rng(3)
            gram, mass = bspline.gram(degree, 4), bspline.integrals(degree, 4)
            for seed in range(5):
                raw = _raw(degree, 4, seed)
                projected = project_density(raw, degree, 4)
                truth = rng.gamma(0.3, size=len(raw))
                truth /= mass @ truth
                before, after = raw - truth, projected - truth
                assert after @ gram @ after <= before @ gram @ before + 1e-9


def test_nonnegative_quadratics_with_negative_coefficients_are_kept():
    """(x - .4)^2 touches zero inside a cell: a coefficient is negative there, and refinement sees that the function is not."""
    parabola = np.array([0.16, 0.16 - 0.4, 0.36]) * 3 / (0.4**3 + 0.6**3)  # Bernstein coefficients, mass one
    level = 3
    for step in range(level):
        parabola = bspline.refinement(2, step) @ parabola
    projected = project_density(parabola, 2, level)
    clipped = np.maximum(parabola, 0)
    gram = bspline.gram(2, level)
    moved, cut = projected - parabola, clipped - parabola
    assert moved @ gram @ moved < 0.2 * (cut @ gram @ cut)


def test_the_simplex_projection_by_bisection():
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = rng.normal(size=6)
        low, high = values.min() - 1, values.max()
        for _ in range(200):
            tau = (low + high) / 2
            low, high = (tau, high) if np.maximum(values - tau, 0).sum() > 1 else (low, tau)
        np.testing.assert_allclose(project_simplex(values), np.maximum(values - low, 0), atol=1e-12)
