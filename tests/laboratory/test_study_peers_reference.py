"""The peers against slow, obvious twins written from their papers and published code."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from dpcore.estimation.consistency import project_cumulative, project_simplex
from dpcore.laboratory.studies.peers import hierarchy, histogram, square_wave
from dpcore.laboratory.studies.targets.densities import FINEST, target


def report_density(epsilon: float, x: float, z: float) -> float:
    """The density of a square wave's report, as the paper defines it."""
    e = np.exp(epsilon)
    b = (epsilon * e - e + 1) / (2 * e * (e - 1 - epsilon))
    p = e / (2 * b * e + 1)
    return p if abs(z - x) <= b else p / e


def dense(epsilon: float, bins: int) -> np.ndarray:
    """The transition matrix of d bins, people uniform in their cell, by integrating overlaps numerically."""
    wave = square_wave.Channel(epsilon, bins)
    matrix = np.empty((bins, bins))
    for cell in range(bins):
        x = (cell + (np.arange(2000) + 0.5) / 2000) / bins
        for row, (low, high) in enumerate(zip(wave.ends[:-1], wave.ends[1:], strict=True)):
            overlap = np.clip(np.minimum(high, x + wave.b) - np.maximum(low, x - wave.b), 0, None)
            q = wave.high / np.exp(epsilon)
            matrix[row, cell] = q * (high - low) + (wave.high - q) * overlap.mean()
    return matrix


def published(counts: np.ndarray, matrix: np.ndarray, smoothing: bool, epsilon: float) -> np.ndarray:
    """EM and EMS as the code that goes with the paper runs them, on a dense matrix."""
    d = len(counts)
    smooth = np.zeros((d, d))
    for i in range(d):
        for j, weight in ((i - 1, 1.0), (i, 2.0), (i + 1, 1.0)):
            if 0 <= j < d:
                smooth[i, j] = weight
    smooth /= smooth.sum(axis=1, keepdims=True)
    theta, old, before, step = np.ones(d) / d, np.zeros(d), 0.0, 0
    while np.abs(old - theta).sum() > 1 / counts.sum() and step < 10_000:
        old = theta
        theta = theta * (matrix.T @ (counts / (matrix @ theta)))
        theta /= theta.sum()
        if smoothing:
            theta = smooth @ theta
            theta /= theta.sum()
        likelihood = counts @ np.log(matrix @ theta)
        if step > 1 and abs(likelihood - before) < 1e-3 * (1 if smoothing else np.exp(epsilon)):
            break
        before = likelihood
        step += 1
    return theta


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_the_square_wave_is_the_papers(epsilon: float) -> None:
    wave = square_wave.Channel(epsilon, 16)
    for x in (0.0, 0.31, 1.0):
        ends = [-wave.b, x - wave.b, x + wave.b, 1 + wave.b]
        mass = sum(quad(lambda z, x=x: report_density(epsilon, x, z), a, b)[0] for a, b in pairwise(ends))
        assert mass == pytest.approx(1)
    matrix = dense(epsilon, 16)
    theta = np.random.default_rng(1).dirichlet(np.ones(16), size=3).T
    np.testing.assert_allclose(wave.forward(theta), matrix @ theta, atol=2e-6)
    np.testing.assert_allclose(wave.backward(theta), matrix.T @ theta, atol=2e-6)
    for column in theta.T:
        np.testing.assert_allclose(wave.law(column), matrix @ column, atol=2e-6)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_widths_are_those_of_the_papers_formula(epsilon: float) -> None:
    known = {0.5: 0.358, 1.0: 0.256, 2.0: 0.129, 4.0: 0.030}
    assert square_wave.Channel(epsilon, 8).b == pytest.approx(known[epsilon], abs=5e-4)


@pytest.mark.parametrize(
    ("epsilon", "smoothing"),
    [
        (0.5, True),
        (2.0, False),
        pytest.param(0.5, False, marks=pytest.mark.nightly("every case")),
        pytest.param(2.0, True, marks=pytest.mark.nightly("every case")),
    ],
)
def test_fast_decoding_is_the_published_codes(epsilon: float, smoothing: bool) -> None:
    bins, n = 64, 10_000
    wave = square_wave.Channel(epsilon, bins)
    matrix = np.stack([wave.law(cell) for cell in np.eye(bins)], axis=1)
    law = target("bimodal").cells(FINEST)
    drawn = [square_wave.reports(law, n, epsilon, bins, np.random.default_rng(seed)) for seed in range(4)]
    found = square_wave.decode(np.stack(drawn), epsilon, smoothing)
    for counts, theta in zip(drawn, found, strict=True):
        np.testing.assert_allclose(theta, published(counts, matrix, smoothing, epsilon), atol=1e-9)


def test_a_converged_fit_no_longer_moves() -> None:
    law = target("bimodal").cells(FINEST)
    counts = square_wave.reports(law, 10**5, 1.0, 32, np.random.default_rng(1))[None, :]
    early, late = square_wave.trajectory(counts, 1.0, True, (False, True))
    wave = square_wave.Channel(1.0, 32)
    theta = late.T
    moved = theta * wave.backward(counts.T / wave.forward(theta))
    moved = square_wave._smooth(moved / moved.sum())
    assert np.abs(moved / moved.sum() - theta).sum() < 1e-6
    assert np.abs(early - late).sum() > 1e-5


def test_norm_sub_is_the_projection() -> None:
    raw = np.random.default_rng(2).normal(0.05, 0.2, size=(50, 20))
    for row, found in zip(raw, histogram.norm_sub(raw), strict=True):
        np.testing.assert_allclose(found, project_simplex(row), atol=1e-12)


def test_monotone_is_the_isotonic_projection() -> None:
    raw = np.random.default_rng(3).normal(0.05, 0.2, size=(50, 20))
    for row, found in zip(raw, hierarchy.monotone(raw), strict=True):
        np.testing.assert_allclose(found, project_cumulative(row), atol=1e-12)


def test_constrained_inference_is_least_squares() -> None:
    generator = np.random.default_rng(4)
    levels = [generator.normal(size=1 << level) for level in range(1, 5)]
    rows = [np.kron(np.eye(1 << level), np.ones(16 >> level)) for level in range(1, 5)]
    design, seen = np.vstack(rows), np.concatenate(levels)
    # leaves with sum one: x = base + Z eta
    basis = np.linalg.svd(np.ones((1, 16)))[2][1:].T
    base = np.full(16, 1 / 16)
    eta = np.linalg.lstsq(design @ basis, seen - design @ base, rcond=None)[0]
    np.testing.assert_allclose(hierarchy.constrained_inference(levels), base + basis @ eta, atol=1e-12)
