"""The projection estimator: what it recovers without noise, its covariance, levels without reports, groups."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dpcore import _random as dp_random
from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation.density import resolution_levels
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.density.inner_products import InnerProducts
from dpcore.estimation.density.projection import _listed
from dpcore.estimation.estimators import Fixed, Lepski, Projection
from dpcore.estimation.joint.conditioning import Pair
from dpcore.functionals import Mean
from dpcore.functionals.group import Group
from dpcore.mechanisms import RandomizedResponse
from dpcore.mechanisms.bases import bspline
from dpcore.privacy.budget import Budget
from tests.helpers.estimate_cases import SMOOTH, FakeAggregate, cell_law, draw, mechanism, noiseless


def test_without_noise_the_raw_estimate_is_the_least_squares_projection(subtests):
    """Twin: dense least squares on the cells, which knows no wavelet and no dual."""
    for degree in [0, 1, 2, 3]:
        for level in [3, 4] if degree < 3 else [3]:
            with subtests.test(degree=degree, level=level):
                of = mechanism(degree, finest_level=4 if degree < 3 else 3)
                law = cell_law(of, SMOOTH["bimodal"])
                estimate = Projection(level_rule=Fixed(level)).estimate(noiseless(of, law), "x")
                centres = (np.arange(of.inputs) + 0.5) / of.inputs
                design = bspline.evaluate(centres, degree, level)
                slow, *_ = np.linalg.lstsq(design, law * of.inputs, rcond=None)
                tolerance = 2e-3 * np.abs(slow).max()  # rounding of the integer tables
                np.testing.assert_allclose(estimate.raw.coefficients, slow, atol=tolerance)
                x = np.linspace(-0.9, 2.9, 7)
                np.testing.assert_allclose(
                    estimate.raw.pdf(x), bspline.evaluate((x + 1) / 4, degree, level) @ slow / 4, atol=tolerance
                )


@pytest.mark.parametrize(
    ("allocation", "epsilon"),
    [
        ("sample", "1"),
        pytest.param("sample", "20", marks=pytest.mark.slow),
        pytest.param("split", "20", marks=pytest.mark.slow),
    ],
)
def test_the_covariance_is_that_of_repeated_aggregates(allocation, epsilon):
    """At epsilon 20 the clients' own spread rules, at 1 the mechanism's noise."""
    of = mechanism(1, epsilon, 3, allocation)
    rule = Projection(level_rule=Fixed(3))
    estimates = [rule.estimate(draw(of, SMOOTH["raised"], 50_000, seed=s), "x") for s in range(100)]
    spread = np.cov(np.array([estimate.raw.coefficients for estimate in estimates]).T)
    stated = np.mean([estimate.covariance for estimate in estimates], axis=0)
    gram = bspline.gram(1, 3)
    assert np.sum(gram * spread) == pytest.approx(np.sum(gram * stated), rel=0.15)
    for weights in np.random.default_rng(0).normal(size=(5, len(stated))):
        ratio = (weights @ spread @ weights) / (weights @ stated @ weights)
        assert 0.5 < ratio < 1.7  # chi-squared with 99 degrees: sd .14


def test_knowing_the_mass_takes_noise_from_the_mean_and_nothing_else():
    aggregate = draw(mechanism(2), SMOOTH["raised"], 100_000, seed=3)
    with_mass = Projection(level_rule=Fixed(4)).estimate(aggregate, "x")
    literal = Projection(level_rule=Fixed(4), unit_mass=False).estimate(aggregate, "x")
    mass = bspline.integrals(2, 4)
    assert mass @ with_mass.raw.coefficients == pytest.approx(1, abs=1e-9)
    assert mass @ with_mass.covariance @ mass == pytest.approx(0, abs=1e-12)
    assert abs(mass @ literal.raw.coefficients - 1) > 1e-4
    assert mass @ literal.covariance @ mass > 1e-6
    change = np.linalg.eigvalsh(literal.covariance - with_mass.covariance)
    assert change.min() > -1e-9 * change.max()
    assert np.sum(change > 1e-6 * change.max()) == 1  # one direction
    assert with_mass.functional(Mean()).standard_error < 0.85 * literal.functional(Mean()).standard_error


def test_the_same_aggregate_gives_the_same_answer():
    aggregate = draw(mechanism(1), SMOOTH["beta"], 30_000, seed=4)
    first, second = (Projection().estimate(aggregate, "x") for _ in range(2))
    assert np.array_equal(first.density.coefficients, second.density.coefficients)
    assert first.levels == second.levels


def test_levels_whose_blocks_have_no_report_are_unavailable():
    of = mechanism(1)
    statistics = draw(of, SMOOTH["beta"], 100_000, seed=5).statistics["x"].copy()
    start = of.basis.blocks + sum(of.basis.size(b) for b in range(2))
    statistics[2] = 0
    statistics[start : start + of.basis.size(2)] = 0
    aggregate = FakeAggregate(of, statistics)
    estimate = Projection().estimate(aggregate, "x")
    assert [row.level for row in estimate.levels] == [2, 3]
    with pytest.raises(NotEstimable, match="2 to 3"):
        Projection(level_rule=Fixed(4)).estimate(aggregate, "x")


def test_too_few_reports_are_said_so():
    of = mechanism(1)
    size = of.basis.blocks + sum(table.shape[1] for table in of.tables)
    with pytest.raises(NotEstimable, match="no report"):
        Projection().estimate(FakeAggregate(of, np.zeros(size, dtype=np.int64)), "x")
    only_fine = np.zeros(size, dtype=np.int64)
    only_fine[1] = 5
    with pytest.raises(NotEstimable, match="coarsest"):
        Projection().estimate(FakeAggregate(of, only_fine), "x")
    one = draw(of, SMOOTH["beta"], 200, seed=1)
    assert Projection().estimate(one, "x").n == 200


def test_a_level_outside_the_basis_is_the_callers_error(subtests):
    for level in [1, 7]:
        with subtests.test(level=level), pytest.raises(SchemeError, match="between 2 and 5"):
            Projection(level_rule=Fixed(level)).estimate(draw(mechanism(1), SMOOTH["beta"], 1000, seed=1), "x")


def test_the_levels_table_tells_the_choice():
    estimate = Projection(level_rule=Lepski()).estimate(draw(mechanism(1), SMOOTH["bimodal"], 3_000_000, seed=8), "x")
    assert [row.level for row in estimate.levels] == [2, 3, 4, 5]
    assert [row.level for row in estimate.levels if row.selected] == [estimate.level]
    for row in estimate.levels[:-1]:
        if row.level < estimate.level:
            assert row.statistic > row.threshold
        if row.level == estimate.level:
            assert row.statistic <= row.threshold
    assert estimate.levels[-1].statistic is None


def test_other_mechanisms_and_pairs_are_refused():
    aggregate = draw(mechanism(1), SMOOTH["beta"], 1000, seed=1)
    with pytest.raises(SchemeError, match="not in the aggregate"):
        Projection().estimate(aggregate, "x", given="side")
    aggregate.scheme.attributes["side"] = SimpleNamespace(
        name="side", mechanism=RandomizedResponse.design(Budget.parse("1"), categories=2)
    )
    with pytest.raises(SchemeError, match="noisy features"):
        Projection().estimate(aggregate, "side")


def _grouped(n: int, share: float, seed: int) -> FakeAggregate:
    """Clients of two groups with different densities, paired with a noisy answer about the group."""
    of = mechanism(2, "40")  # so that the clients' spread counts beside the noise
    says = RandomizedResponse.design(Budget.parse("ln 3"), categories=2)
    rng, source = np.random.default_rng(seed), dp_random.seeded([seed, 2])
    tables = 0
    for group, name, size in ((0, "beta", round(n * share)), (1, "bimodal", n - round(n * share))):
        p = float(says.truth_probability)
        told = rng.binomial(size, p)
        parts = [told, size - told] if group == 0 else [size - told, told]
        drawn = [of.simulate(rng.multinomial(m, cell_law(of, SMOOTH[name])), source) for m in parts]
        tables = tables + np.array(drawn)
    side = SimpleNamespace(name="side", mechanism=says, categories=("a", "b"))
    return FakeAggregate(of, tables.sum(axis=0), {("x", "side"): tables}, side=side)


@pytest.mark.parametrize(
    "rounds", [pytest.param(8, marks=pytest.mark.slow), pytest.param(24, marks=pytest.mark.nightly("a study"))]
)
def test_groups_are_told_apart_without_bias_and_with_honest_errors(rounds):
    errors = []
    for seed in range(rounds):
        found = Projection().estimate(_grouped(300_000, 0.6, seed), "x", given="side")
        assert list(found) == ["a", "b"]
        for category, mean in (("a", -1 + 4 * 2 / 7), ("b", -1 + 4 * 0.5)):
            result = found[category].functional(Mean())
            errors.append((result.value - mean) / result.standard_error)
    assert found["a"].given == "side=a"
    assert found["a"].n == pytest.approx(180_000, rel=0.05)
    errors = np.array(errors)
    assert abs(errors.mean()) < 5 / np.sqrt(2 * rounds)
    assert 0.65 < errors.std() < 1.35  # 48 draws: sd .1, 16: .18


def test_a_group_too_rare_to_tell_is_left_out():
    found = Projection().estimate(_grouped(4_000, 0.999, 1), "x", given="side")
    assert list(found) == ["a"]


def test_a_groups_noise_is_that_of_its_effective_reports():
    """A noisy sum of k reports with weights w has the variance of (sum w)^2 / sum w^2 reports."""
    aggregate, inverse = _grouped(300_000, 0.6, 3), np.array([1.5, -0.5])
    model, tables = mechanism(2, "40").model(), aggregate.pairs[("x", "side")]
    found = InnerProducts.of_group(model, tables, inverse)
    reported = [model.split(table)[0] for table in tables]
    for block, noise in enumerate(found.noise[: len(found.z)]):
        said, missaid = (float(reports[block]) for reports in reported)
        effective = (1.5 * said - 0.5 * missaid) ** 2 / (2.25 * said + 0.25 * missaid)
        np.testing.assert_allclose(noise, model.noise_covariances(np.full(len(reported[0]), effective))[block])


def test_a_ladder_is_the_sum_of_its_blocks():
    of = mechanism(1)
    aggregate = draw(of, SMOOTH["bimodal"], 100_000, seed=9)
    rungs = resolution_levels.build(InnerProducts.from_statistics(of.model(), aggregate.statistics["x"]), 1.0)
    for index, level in enumerate(rungs.levels[:-1]):
        fine = rungs.coefficients(level + 1)
        step = fine - bspline.refinement(1, level) @ rungs.coefficients(level)
        norm = step @ bspline.gram(1, level + 1) @ step
        assert norm == pytest.approx(rungs.energies[index], rel=1e-9)


def test_groups_of_whom_none_can_be_told_are_refused_together() -> None:
    nobody = Pair("height", "side", ("left", "right"), np.zeros((2, 3)), np.eye(2))

    def too_few(place: int, group: Group) -> DensityEstimate:
        raise NotEstimable(f"{place} {group}")

    with pytest.raises(NotEstimable, match="no group of side has enough reports of height"):
        nobody.by_category(too_few)


def test_a_level_outside_is_told_the_ones_there_are() -> None:
    assert (_listed(range(2, 3)), _listed(range(2, 5))) == ("2", "2 to 4")
