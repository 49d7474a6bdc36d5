"""Plans for two attributes together: the ways to ask, and that a plan's error is that of a round."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import NotEstimable, SchemeError
from dpcore.functionals import Correlation
from dpcore.rounds.planning.joint_plan import APART, TOGETHER, PairAim, PairPlan
from dpcore.rounds.planning.planner import Planner

SCHEME = """
name = "both"
clients = 100_000
[attributes.income]
type = "numeric"
lower = 0
upper = 100
epsilon = 1
[attributes.age]
type = "numeric"
lower = 0
upper = 100
epsilon = 1
[attributes.job]
type = "categorical"
categories = ["a", "b", "c", "d"]
mechanism = "randomized_response"
epsilon = 1
[attributes.region]
type = "categorical"
categories = ["n", "e", "s", "w", "m"]
mechanism = "randomized_response"
epsilon = 1
"""


@cache
def plan(scheme: str, aim: str, **told: float) -> PairPlan:
    found = PairAim.parse(aim)
    assert found is not None
    return Planner.read(scheme).plan_pair(found, **told)


def test_a_uniform_table_has_the_errors_of_theory() -> None:
    together, apart = plan(SCHEME, "job, region: table").ways
    assert (together.name, apart.name, apart.is_asked) == (TOGETHER, APART, True)
    assert together.epsilon.text == apart.epsilon.text == "2"
    assert together.error == pytest.approx(0.00257, abs=2e-5)
    assert apart.error == pytest.approx(0.0073, abs=5e-5)


def test_the_error_of_two_answers_is_that_of_a_round() -> None:
    apart = plan(SCHEME, "income, age: correlation").ways[1]
    scheme = dp.Scheme.from_toml(SCHEME.replace("clients = 100_000", 'clients = 100_000\npairs = [["income", "age"]]'))
    generator = np.random.default_rng(3)
    x, y = (
        100 * np.where(generator.random(100_000) < 0.3, generator.random(100_000), b)
        for b in generator.beta(2, 4, (2, 100_000))
    )
    people = {"income": x, "age": y, "job": np.full(100_000, "a"), "region": np.full(100_000, "n")}
    found = dp.joint(dp.aggregate(scheme, dp.privatize(scheme, people, dp.seeded(4))), "income", "age")
    for free, error in ((False, apart.error), (True, apart.whatever_the_law)):
        assert found.functional(Correlation(), distribution_free=free).standard_error == pytest.approx(error, rel=0.05)


def test_found_clients_are_enough_and_hardly_more() -> None:
    aim = "job, region: table"
    found = plan(SCHEME, aim, error=0.001)
    assert found.is_found
    assert 0.00099 < found.ways[0].error <= 0.001


def test_two_columns_asked_together_are_compared_with_two_answers_of_half_the_epsilon() -> None:
    scheme = 'name = "both"\n[attributes.both]\ntype = "numeric"\nof = ["x", "y"]\nlower = [0, 0]\nupper = [1, 2]\nepsilon = 2'
    together, apart = plan(scheme + "\n", "x, y: correlation", clients=100_000).ways
    assert (together.is_asked, apart.is_asked) == (True, False)
    assert apart.epsilon.text == "2"
    alike = plan(SCHEME, "income, age: correlation").ways
    assert [together.error, apart.error] == pytest.approx([way.error for way in alike], rel=1e-6)


def test_a_number_and_categories_have_one_way() -> None:
    [way] = plan(SCHEME, "income, job: table").ways
    assert way.error is not None


def test_what_cannot_be_planned_is_refused() -> None:
    cases: list[tuple[str, dict[str, float], str]] = [
        ("income, job: correlation", {}, "correlation needs numbers, and job has categories"),
        ("income, income: slope", {}, "not two attributes of the scheme"),
        ("income, wealth: slope", {}, "it has income, age, job, region"),
        ("income, age: slope", {"clients": 1000, "error": 1.0}, "give only one of them"),
        ("income, age: slope", {"clients": 1}, "clients"),
    ]
    for aim, told, words in cases:
        with pytest.raises(SchemeError, match=words):
            plan(SCHEME, aim, **told)


def test_an_aim_out_of_reach_is_said_to_be() -> None:
    with pytest.raises(NotEstimable, match="needs more than"):
        plan(SCHEME, "job, region: table", error=1e-9)


def test_other_aims_are_told_apart_from_those_of_two_attributes() -> None:
    assert PairAim.parse("income: mean") is None
    assert PairAim.parse("income: probability(1, 2)") is None
    with pytest.raises(SchemeError, match="aim 'mean'"):
        PairAim.parse("income, age: mean")
