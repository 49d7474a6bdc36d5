"""Two attributes together, from records to numbers: margins, intervals that hold, tests of the right size, refusals."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import dpcore as dp
from dpcore import functionals as f
from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation.joint.joint_distribution import Functions
from dpcore.estimation.joint.pair_estimates import pair_estimates
from dpcore.functionals.axis import Axis
from dpcore.laboratory.studies.targets.joint_distributions import JointLaw, joint_laws
from tests.helpers.statistical import most_seen

N = 30_000


_scheme = cache(dp.Scheme.from_toml)


def _joint(law: JointLaw, repetition: int, n: int = N, epsilon: float = 2.0):
    scheme = _scheme(law.scheme(epsilon, n))
    people = law.people(n, np.random.default_rng(repetition))
    return dp.joint(dp.aggregate(scheme, dp.privatize(scheme, people, dp.seeded(repetition))), "x", "y")


@pytest.mark.parametrize(
    "names", [("curve", "table_unary"), pytest.param(("groups",), marks=pytest.mark.slow)], ids=str
)
def test_what_is_shown_has_the_single_estimates_as_its_margins(
    names: tuple[str, ...], subtests: pytest.Subtests
) -> None:
    for name in names:
        with subtests.test(name=name):
            law = joint_laws()[name]
            scheme = dp.Scheme.from_toml(law.scheme(2.0, N).replace("upper = 1\n", "upper = 1\ncells = 16\n"))
            aggregate = dp.aggregate(
                scheme, dp.privatize(scheme, law.people(N, np.random.default_rng(1)), dp.seeded(1))
            )
            found = dp.joint(aggregate, "x", "y")
            for axis, sums in ((found.first, found.law.sum(axis=1)), (found.second, found.law.sum(axis=0))):
                single = dp.estimate(aggregate, axis.name)
                if axis.edges is None:
                    np.testing.assert_allclose(sums, single.values, atol=1e-6)
                else:
                    np.testing.assert_allclose(np.cumsum(sums)[:-1], single.cdf(axis.edges[1:-1]), atol=1e-6)
            turned = dp.joint(aggregate, "y", "x")
            np.testing.assert_allclose(turned.law, found.law.T, atol=1e-9)
            table = found.to_frame()
            assert table["share"].sum() == pytest.approx(1)
            assert table["estimate"].sum() == pytest.approx(1, abs=1e-6)
            assert ((table["low"] <= table["share"]) & (table["share"] <= table["high"])).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["table", pytest.param("groups", marks=pytest.mark.nightly("a study"))])
def test_intervals_hold_the_truth_and_those_a_third_too_short_do_not(name: str) -> None:
    """Of every number asked; fewer hold where standard errors are 30 % too small."""
    law = joint_laws()[name]
    truths = {functional: law.truth(functional) for functional in law.asked}
    z = [
        (result.value - truths[functional]) / result.standard_error
        for repetition in range(100)
        for found in [_joint(law, repetition)]
        for functional in law.asked
        for result in [found.functional(functional)]
    ]
    missed, by_short = (int(np.sum(np.abs(z) >= 1.96 * scale)) for scale in (1.0, 0.7))
    assert missed <= most_seen(len(z), 0.05) < by_short


@pytest.mark.parametrize("name", ["table_none", pytest.param("independent", marks=pytest.mark.slow)])
def test_independence_is_seldom_rejected_where_it_is_true_and_always_where_much_is_not(name: str) -> None:
    tests = [_joint(joint_laws()[name], repetition).independence().p_value for repetition in range(20)]
    assert sum(p < 0.05 for p in tests) <= 5
    other = "curve" if name == "independent" else "table"
    assert _joint(joint_laws()[other], 1).independence().p_value < 1e-4


def test_a_number_whatever_the_law_is_named_so_and_longer() -> None:
    found = _joint(joint_laws()["normal"], 3)
    smooth = found.functional(f.Rectangle((0.25, 0.5), (0.25, 0.5)))
    free = found.functional(f.Rectangle((0.25, 0.5), (0.25, 0.5)), distribution_free=True)
    assert (smooth.kind, free.kind) == ("smooth", "distribution_free")
    assert smooth.plug_in == free.plug_in
    assert free.standard_error > 2 * smooth.standard_error


def test_what_reports_cannot_tell_is_refused_with_what_would_do() -> None:
    law = joint_laws()["groups"]
    found = _joint(law, 1, n=400, epsilon=0.25)
    result = found.functional(f.ConditionalMean(("3",)))
    assert result.is_refused
    assert "within three standard errors of zero with 400 reports" in result.reason


def test_two_columns_asked_together_are_told_in_either_order() -> None:
    scheme = dp.Scheme.from_toml(
        'name = "t"\nclients = 1000\n[attributes.both]\ntype = "categorical"\nof = ["job", "home"]\n'
        'categories = [["a", "b"], ["n", "e", "s"]]\nepsilon = 2\n'
    )
    generator = np.random.default_rng(5)
    job = generator.choice(["a", "b"], 20_000, p=[0.3, 0.7])
    home = np.where((job == "a") & (generator.random(20_000) < 0.5), "n", generator.choice(["n", "e", "s"], 20_000))
    aggregate = dp.simulate(scheme, {"job": job, "home": home}, dp.seeded(1))
    one, other = dp.joint(aggregate, "job", "home"), dp.joint(aggregate, "home", "job")
    np.testing.assert_allclose(one.law, other.law.T, atol=1e-9)
    asked = f.ConditionalProbability(("n",), ("a",))
    found, truth = other.functional(asked), float((home[job == "a"] == "n").mean())
    assert abs(found.value - truth) < 4 * found.standard_error
    turned = one.functional(f.Rectangle(("a",), ("n",)))
    assert turned.value == pytest.approx(other.functional(f.Rectangle(("n",), ("a",))).value, abs=1e-9)
    assert one.independence().p_value < 1e-6


def test_a_pair_that_is_not_kept_is_named() -> None:
    scheme = dp.Scheme.from_toml(joint_laws()["table"].scheme(1.0, 100).replace('pairs = [["x", "y"]]\n', ""))
    people = joint_laws()["table"].people(100, np.random.default_rng(1))
    aggregate = dp.aggregate(scheme, dp.privatize(scheme, people, dp.seeded(1)))
    with pytest.raises(SchemeError, match=r"x with y is not kept; name the pair in the scheme \(it keeps: none\)"):
        dp.joint(aggregate, "x", "y")


def test_a_pair_of_which_one_category_alone_is_estimated_is_refused_and_the_round_is_whole() -> None:
    text = joint_laws()["groups"].scheme(0.1, 200)
    text = text.replace("upper = 1\n", "upper = 1\ncells = 8\n")
    scheme = dp.Scheme.from_toml(text.replace('["0", "1", "2", "3"]', '["0", "1"]'))
    people = {"x": np.linspace(0.1, 0.9, 200), "y": np.repeat(["0", "1"], 100)}
    everyone = dp.aggregate(scheme, dp.privatize(scheme, people, dp.seeded(1)))
    # What reports of a rare category come to with so much noise: all of it, or none.
    table = everyone.statistics["y"].copy()
    assert table.sum() == 200
    x = dp.estimate(everyone, "x")
    for statistics in (np.array([200, 0]), np.array([0, 200])):
        one = replace(everyone, statistics={**everyone.statistics, "y": statistics})
        (pair,) = pair_estimates(one, {"x": x, "y": dp.estimate(one, "y")}, {})
        assert "has all its mass on one value; collect more" in pair.reason
    with pytest.raises(NotEstimable, match=r"y: the estimate from 200 reports has all its mass on one value"):
        dp.joint(one, "x", "y")


def test_functions_of_an_axis_with_silence_vary_where_the_margin_does(subtests: pytest.Subtests) -> None:
    for where in [0, 5, -1]:
        with subtests.test(where=where):
            numbers = np.append(np.arange(10.0), 0.0)
            axis = Axis(name="x", unit="", answered=np.append(np.ones(10), 0.0), numbers=numbers, squares=numbers**2)
            margin = np.full(11, 1e-10)
            margin[where] = 1 - 1e-9
            assert len(Functions.at_margin(axis, margin).values) == 0
            margin[[2, 3]] += 0.1
            functions = Functions.at_margin(axis, margin / margin.sum()).values
            gram = (functions * margin / margin.sum()) @ functions.T
            np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-6)
            assert len(functions) == 2


def test_few_reports_are_refused_in_a_line() -> None:
    with pytest.raises(NotEstimable, match="x with y has 2 reports, and needs 20; collect more"):
        _joint(joint_laws()["table"], 1, n=2, epsilon=0.1)


@pytest.mark.slow
def test_twenty_reports_have_a_test() -> None:
    """Two waves at a small epsilon, whose sums' covariance is all but singular."""
    test = _joint(joint_laws()["normal"], 1, n=20, epsilon=0.1).independence()
    assert test.statistic >= 0
    assert 0 <= test.p_value <= 1
