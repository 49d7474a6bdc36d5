"""A scheme with a biorthogonal basis from TOML to estimates: digests, proper densities, levels, intervals."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from scipy.interpolate import BSpline

import dpcore as dp
from dpcore.estimation.density import resolution_levels
from dpcore.estimation.density.inner_products import InnerProducts
from dpcore.estimation.density.projection import accepted, distances, thresholds
from dpcore.mechanisms.bases import bspline
from tests.helpers.cases import of_each_kind, some_by_day
from tests.helpers.statistical import draws_for_variance, mean_agrees

TEXT = """
name = "bank"
pairs = [["x", "side"]]

[attributes.side]
type = "categorical"
categories = ["left", "right"]
epsilon = "ln 3"

[attributes.x]
type = "numeric"
lower = 10
upper = 14
epsilon = 2
finest_level = 5
"""


def scheme(basis: str, more: str = "") -> dp.Scheme:
    return dp.Scheme.from_toml(TEXT + f'basis = "{basis}"\n{more}')


def people(n: int, seed: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    side = rng.integers(0, 2, n)
    x = 10 + 4 * np.where(side, rng.beta(2, 5, n), rng.beta(5, 2, n))
    return {"x": x, "side": np.array(["left", "right"])[side]}


def test_the_basis_is_in_the_digest_unless_it_is_the_sources() -> None:
    bank = scheme("bior2.4")
    assert bank.attributes["x"].mechanism.basis.name == "bior2.4"
    assert 'basis = "bior2.4"' in bank.canonical
    again = dp.Scheme.from_toml(bank.canonical)
    assert again.digest == bank.digest
    assert again.canonical == bank.canonical
    assert len({bank.digest, scheme("bior2.6").digest, scheme("spline", "degree = 1").digest}) == 3
    assert scheme("spline").digest == dp.Scheme.from_toml(TEXT).digest
    assert "basis" not in scheme("spline").canonical
    with pytest.raises(dp.errors.SchemeError, match=r"attributes\.x: .*unbounded"):
        scheme("bior2.2")
    with pytest.raises(dp.errors.SchemeError, match=r"attributes\.x\.basis must be one of 'spline'"):
        dp.Scheme.from_toml(TEXT + "basis = [1]\n")


@pytest.mark.parametrize("basis", of_each_kind(["bior1.3", "bior2.8", "bior3.9"], "bior2.8"))
def test_reports_become_proper_densities(basis: str) -> None:
    bank = scheme(basis)
    records = people(20_000)
    aggregate = dp.aggregate(bank, dp.privatize(bank, records, random=dp.seeded(3)))
    estimate = dp.estimate(aggregate, "x")
    x = np.linspace(10, 14, 2001)
    assert estimate(x).min() >= -1e-12
    assert np.trapezoid(estimate(x), x) == pytest.approx(1, abs=2e-3)
    assert estimate.level in range(1, 7)
    assert [row.level for row in estimate.levels] == list(range(bank.attributes["x"].mechanism.basis.coarsest_level, 7))
    low, high = estimate.band(x)
    assert np.all((low <= estimate(x)) & (estimate(x) <= high))
    fixed = dp.estimate(aggregate, "x", estimator=dp.Projection(level_rule=dp.Fixed(4)))
    assert fixed.level == 4
    assert len(fixed.density.coefficients) == 16 + fixed.density.degree
    groups = dp.estimate(aggregate, "x", given="side")
    assert set(groups) == {"left", "right"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("basis", "more"),
    some_by_day(
        [("bior1.5", ""), ("bior2.8", 'allocation = "split"'), ("bior3.5", "")],
        ("bior2.8", 'allocation = "split"'),
        ("bior3.5", ""),
    ),
)
def test_means_are_unbiased_and_their_errors_stated(basis: str, more: str) -> None:
    """A linear functional through the turned ladder: bias nil, its stated standard error the true one, 30 % off seen."""
    coarse = TEXT.replace("finest_level = 5", f'finest_level = 3\ncells = 128\nbasis = "{basis}"\n{more}')
    mechanism = dp.Scheme.from_toml(coarse).attributes["x"].mechanism
    model, rng, level, n = mechanism.model(), np.random.default_rng(5), 3, 20_000
    law = np.diff(scipy.stats.beta(2, 4).cdf(np.linspace(0, 1, mechanism.inputs + 1)))
    knots = bspline.knots(model.basis.degree, level)
    first_moments = [
        BSpline(knots, unit, model.basis.degree).integrate(0, 1)
        * np.mean(knots[k : k + model.basis.degree + 2])  # of a B-spline: its mass times the mean of its knots
        for k, unit in enumerate(np.eye(bspline.size(model.basis.degree, level)))
    ]
    scaled = []
    for run in range(draws_for_variance(1.3**2)):
        statistics = mechanism.simulate(rng.multinomial(n, law), dp.seeded(run))
        rungs = resolution_levels.build(InnerProducts.from_statistics(model, statistics), 2.0)
        variance = first_moments @ rungs.covariance_of(level) @ first_moments
        scaled.append((first_moments @ rungs.coefficients(level) - scipy.stats.beta(2, 4).mean()) / np.sqrt(variance))
    squares = np.array(scaled) ** 2
    assert mean_agrees(np.array(scaled), 0)
    assert mean_agrees(squares, 1)
    assert not mean_agrees(squares, 1.3**2)
    assert not mean_agrees(squares, 0.7**2)


@pytest.mark.parametrize("basis", of_each_kind(["bior1.5", "bior2.4", "bior3.5", "bior3.9"], "bior3.5"))
def test_a_level_that_describes_the_density_is_rarely_refused(basis: str) -> None:
    """Turned levels have correlated noise, which the thresholds take for independent: 1/60 is kept to a third."""
    bank = scheme(basis)
    uniform = {"x": np.random.default_rng(1).uniform(10, 14, 100_000), "side": np.full(100_000, "left")}
    aggregate = dp.simulate(bank, uniform, random=dp.seeded(1))
    rungs = resolution_levels.build(
        InnerProducts.from_statistics(bank.attributes["x"].mechanism.model(), aggregate.statistics["x"]), 2.0
    )
    values, vectors = np.linalg.eigh(rungs.covariance)
    noise = np.random.default_rng(2).standard_normal((40_000, len(values))) * np.sqrt(np.maximum(values, 0))
    blocks = np.split(noise @ vectors.T, np.cumsum([len(z) for z in rungs.inner_products])[:-1], axis=1)
    energies = [np.sum(z * np.linalg.solve(rungs.basis.gram(b), z.T).T, axis=1) for b, z in enumerate(blocks) if b]
    chosen = accepted(distances(np.array(energies).T), thresholds(rungs.spectra))
    assert 0.5 / 60 < np.mean(chosen > 0) < 1.33 / 60
