"""Least squares from counts of waves: exact without noise, and with the mean and covariance it states."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore._random import seeded
from dpcore.errors import NotEstimable
from dpcore.estimation.density.channel_projection import project
from dpcore.estimation.density.densities import Spline
from dpcore.mechanisms import DyadicWave, RandomizedResponse, SquareWave
from dpcore.mechanisms.bases import bspline
from dpcore.mechanisms.numeric.wave import WaveMechanism
from dpcore.privacy.budget import Budget
from tests.helpers.statistical import draws_for_mean, draws_for_variance, mean_agrees, variance_agrees

UNIT = (0.0, 1.0)
TWO = Budget.parse("2")
HALF = Budget.parse("0.5")  # under which the squared weights of a group are far from their sizes
WAVES = [DyadicWave.design(TWO), SquareWave.design(TWO, cells=64), SquareWave.design(TWO, cells=64, widths=[3])]

COARSE = [DyadicWave.design(TWO, cells=16, levels=2), SquareWave.design(TWO, cells=16)]  # drawn thousands of times
RUNS = max(draws_for_mean(0.3), draws_for_variance(1.5), draws_for_variance(1 / 1.5))


def spline_law(inputs: int, degree: int = 2, level: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """A density of V_level, and its probabilities of the input cells."""
    coefficients = 1.0 + np.sin(np.arange(bspline.size(degree, level)) * 1.3)
    coefficients /= float(bspline.integrals(degree, level) @ coefficients)
    return coefficients, np.diff(Spline(*UNIT, degree, level, coefficients).cdf(np.arange(inputs + 1) / inputs))


def test_expected_counts_give_a_spline_back_whatever_the_fit(subtests: pytest.Subtests) -> None:
    for mechanism in WAVES:
        with subtests.test(mechanism=mechanism):
            coefficients, law = spline_law(mechanism.inputs)
            model = mechanism.model()
            counts = model.expected(law, 1e6 * model.level_law)[:, None]
            for fit in (law, np.full(mechanism.inputs, 1 / mechanism.inputs)):
                rung = project(model, counts, np.ones(1), fit, 2, 3, UNIT)
                np.testing.assert_allclose(rung.raw.coefficients, coefficients, rtol=1e-7, atol=1e-7)
                mass = bspline.integrals(2, 3)
                assert mass @ rung.covariance @ mass == pytest.approx(0, abs=1e-12)  # known to be one
            lower, upper = -3.0, 5.0
            moved = project(model, counts, np.ones(1), law, 2, 3, (lower, upper)).raw
            assert moved.cdf(upper) == pytest.approx(1)
            assert moved.pdf(1.0) == pytest.approx(Spline(*UNIT, 2, 3, coefficients).pdf(0.5) / 8)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", COARSE, ids=lambda mechanism: mechanism.name)
def test_the_covariance_is_that_of_repeated_aggregates(mechanism: WaveMechanism) -> None:
    coefficients, law = spline_law(mechanism.inputs)
    model, n = mechanism.model(), 50_000
    rng, random = np.random.default_rng(1), seeded(2)
    rungs = [
        project(model, mechanism.simulate(rng.multinomial(n, law), random)[:, None], np.ones(1), law, 2, 3, UNIT)
        for _ in range(RUNS)
    ]
    _check(
        np.array([rung.raw.coefficients for rung in rungs]),
        coefficients,
        np.mean([r.covariance for r in rungs], axis=0),
    )


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", COARSE, ids=lambda mechanism: mechanism.name)
def test_so_is_that_of_a_group_behind_a_noisy_category(mechanism: WaveMechanism) -> None:
    coefficients, law = spline_law(mechanism.inputs)
    other, category = np.full(mechanism.inputs, 1 / mechanism.inputs), RandomizedResponse.design(HALF, categories=2)
    model, sizes = mechanism.model(), (40_000, 30_000)
    response = category.model().response()
    inverse = np.linalg.inv(response)[0]
    rng, random, rungs = np.random.default_rng(3), seeded(4), []
    for _ in range(RUNS):
        group = rng.binomial(sum(sizes), sizes[0] / sum(sizes))
        people = rng.multinomial(group, law), rng.multinomial(sum(sizes) - group, other)
        first = sum(rng.binomial(held, share) for held, share in zip(people, response[0], strict=True))
        tables = [mechanism.simulate(said, random) for said in (first, sum(people) - first)]
        rungs.append(project(model, np.stack(tables, axis=1), inverse, law, 2, 3, UNIT))
    _check(
        np.array([rung.raw.coefficients for rung in rungs]),
        coefficients,
        np.mean([r.covariance for r in rungs], axis=0),
    )


def _check(drawn: np.ndarray, truth: np.ndarray, covariance: np.ndarray) -> None:
    for direction in np.random.default_rng(5).normal(size=(6, len(truth))):
        variance = direction @ covariance @ direction
        assert mean_agrees(drawn @ direction, direction @ truth)
        assert not mean_agrees(drawn @ direction, direction @ truth + 0.3 * np.sqrt(variance))
        assert variance_agrees(drawn @ direction, variance)
        assert not variance_agrees(drawn @ direction, 1.5 * variance)
        assert not variance_agrees(drawn @ direction, variance / 1.5)


def test_levels_without_reports_are_left_out() -> None:
    mechanism = WAVES[0]
    coefficients, law = spline_law(mechanism.inputs)
    model = mechanism.model()
    counts = model.expected(law, 1e6 * model.level_law * [1, 0, 1, 1])[:, None]
    rung = project(model, counts, np.ones(1), law, 2, 3, UNIT)
    np.testing.assert_allclose(rung.raw.coefficients, coefficients, rtol=1e-7, atol=1e-7)
    with pytest.raises(NotEstimable, match="within three standard errors"):
        project(model, np.zeros_like(counts), np.ones(1), law, 2, 3, UNIT)


def test_a_few_cells_tell_a_coarser_space(subtests: pytest.Subtests) -> None:
    """Of sixteen pieces 18 functions would be told by 16 cells: a singular matrix, or errors of any size, by rounding."""
    for mechanism, space in [
        (SquareWave.design(TWO, cells=2), (1, 0)),
        (SquareWave.design(TWO, cells=16), (2, 3)),
        (DyadicWave.design(TWO, cells=4), (2, 2)),
    ]:
        with subtests.test(mechanism=mechanism, space=space):
            degree, level = space
            coefficients, law = spline_law(mechanism.inputs, degree, level)
            model = mechanism.model()
            rung = project(model, model.expected(law, 1e6 * model.level_law)[:, None], np.ones(1), law, 2, 4, UNIT)
            assert (rung.raw.degree, rung.raw.level) == space
            np.testing.assert_allclose(rung.raw.coefficients, coefficients, rtol=1e-6, atol=1e-6)
            assert np.sqrt(np.diagonal(rung.covariance)).max() < 1


def test_half_the_reports_have_twice_the_variance() -> None:
    mechanism = WAVES[1]
    _, law = spline_law(mechanism.inputs)
    model = mechanism.model()
    counts = model.expected(law, np.array([1e6]))[:, None]
    full, half = (project(model, counts * share, np.ones(1), law, 2, 3, UNIT) for share in (1, 0.5))
    np.testing.assert_allclose(half.covariance, 2 * full.covariance, rtol=1e-9, atol=1e-15)


def test_the_covariance_is_the_sum_over_reports_one_by_one() -> None:
    """Weighted least squares of mass one and its sandwich, by loops over levels, reports and pairs of coefficients."""
    mechanism = DyadicWave.design(TWO, cells=16, levels=2)
    model, (coefficients, law) = mechanism.model(), spline_law(mechanism.inputs, 1, 1)
    tables = np.stack([np.rint(model.expected(law, n * model.level_law)) for n in (3000.0, 1000.0)], axis=1)
    tables[::3, 1] += 7
    weights = np.array([1.3, -0.2])
    fit = np.full(mechanism.inputs, 1 / mechanism.inputs)
    rung = project(model, tables, weights, fit, 1, 1, UNIT)
    K = len(coefficients)
    masses = np.stack(
        [np.diff(Spline(*UNIT, 1, 1, one).cdf(np.arange(mechanism.inputs + 1) / mechanism.inputs)) for one in np.eye(K)]
    ).T
    information, right, noise = np.zeros((K, K)), np.zeros(K), np.zeros((K, K))
    for level, counted in zip(model.levels, model.split(tables), strict=True):
        n = sum(weights @ row for row in counted)
        p, design = level.matrix() @ fit, level.matrix() @ masses
        influence = design / p[:, None]
        for z, row in enumerate(counted):
            information += n * p[z] * np.outer(influence[z], influence[z])
            right += influence[z] * (weights @ row)
            off = influence[z] - p @ influence
            noise += (weights**2 @ row) * np.outer(off, off)
    mass = bspline.integrals(1, 1)
    bordered = np.block([[information, mass[:, None]], [mass[None], np.zeros((1, 1))]])  # with mass one as a constraint
    solved = np.linalg.inv(bordered)
    np.testing.assert_allclose(rung.raw.coefficients, (solved @ np.append(right, 1.0))[:K], rtol=1e-9)
    np.testing.assert_allclose(rung.covariance, solved[:K, :K] @ noise @ solved[:K, :K], rtol=1e-9, atol=1e-12)
