"""What a round says of its pairs unasked: numbers that fit their kinds, on the bounds there are, or why there are none."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore.functionals.axis import Axis
from dpcore.pipeline import Round, estimate_all

TEXT = """
name = "people"
reporting = "all"
pairs = [["home", "income"], ["income", "age"], ["job", "home"], ["wealth", "home"]]

[attributes.income]
type = "numeric"
lower = 0
upper = 100
mechanism = "dyadic_wave"
cells = 16
epsilon = 3

[attributes.wealth]
type = "numeric"
lower = 0
upper = 100
mechanism = "wavelet_laplace"
degree = 1
finest_level = 3
cells = 128
level_rule = "fixed"
level = 2
epsilon = 1

[attributes.age]
type = "numeric"
lower = 20
upper = 60
step = 1
epsilon = 3

[attributes.home]
type = "categorical"
categories = ["rural", "urban"]
mechanism = "randomized_response"
epsilon = 2

[attributes.job]
type = "categorical"
categories = ["none", "farm", "office"]
mechanism = "unary_encoding"
epsilon = 2
"""


def people(n: int) -> pd.DataFrame:
    random = np.random.default_rng(29)
    age, home = random.integers(20, 61, n), random.random(n) < 0.6
    income = np.clip(age - 10 + 20 * home + random.normal(0, 10, n), 0, 100)
    job = np.where(random.random(n) < 0.3, "none", np.where(home, "office", "farm"))
    columns = {"income": income, "wealth": income, "age": age, "job": job}
    return pd.DataFrame({**columns, "home": np.where(home, "urban", "rural")})


@cache
def aggregate(n: int = 30_000) -> dp.Aggregate:
    scheme = dp.Scheme.from_toml(TEXT)
    return dp.aggregate(scheme, dp.privatize(scheme, people(n), dp.seeded([29])))


@cache
def found() -> Round:
    return estimate_all(aggregate())


def test_a_number_comes_before_categories_and_additive_noise_has_no_pair() -> None:
    assert [(pair.first, pair.second) for pair in found().joints] == [
        ("income", "home"),
        ("income", "age"),
        ("job", "home"),
    ]
    assert all(pair.estimate is not None and not pair.reason and pair.has_table for pair in found().joints)


def test_numbers_and_tests_fit_the_kinds() -> None:
    by_home, by_age, jobs = (
        ([number.result.functional for number in pair.numbers], [test.name for test in pair.tests])
        for pair in found().joints
    )
    assert by_home[0] == [
        f"conditional_{what}{part})" for part in ("rural", "urban") for what in ("mean(", "quantile(0.5, ")
    ]
    assert by_home[1] == ["independence", "equal_means"]
    assert by_age[0][:4] == ["correlation", "rank_correlation", "slope", "intercept"]
    assert by_age[0][4:6] == ["conditional_mean(20, 25)", "conditional_quantile(0.5, 20, 25)"]
    assert len(by_age[0]) == 4 + 2 * 8
    assert by_age[1] == ["independence", "trend", "equal_means"]
    assert jobs[0] == [
        f"conditional_probability({job}, {home})" for home in ("rural", "urban") for job in ("none", "farm", "office")
    ]
    assert jobs[1] == ["independence"]


def test_numbers_are_those_of_the_people() -> None:
    truth = people(30_000)
    of = {part: rows["income"].mean() for part, rows in truth.groupby("home")}
    of |= {"": np.corrcoef(truth["income"], truth["age"])[0, 1]}
    by_home, by_age, jobs = found().joints
    for number in (*by_home.numbers[::2], by_age.numbers[0]):
        result = number.result
        assert abs(result.value - of[number.second_part]) < 4 * result.standard_error, number
    shares = pd.crosstab(truth["job"], truth["home"], normalize="columns")
    for number in jobs.numbers:
        result = number.result
        assert abs(result.value - shares.loc[number.first_part, number.second_part]) < 4 * result.standard_error
    assert all(test.p_value < 1e-6 for pair in found().joints for test in pair.tests)


def test_conditional_numbers_stay_on_the_bounds() -> None:
    for number in (number for pair in found().joints for number in pair.numbers):
        if "conditional_mean" in number.result.functional and not number.result.is_refused:
            assert 0 <= number.result.low <= number.result.high <= 100


def test_few_reports_keep_a_pair_back_with_a_reason() -> None:
    few = estimate_all(aggregate(400), fewest=200)
    by_home, by_age, jobs = few.joints
    assert "name a category of home (min_clients)" in by_home.reason
    assert by_home.reason == jobs.reason
    assert (by_home.estimate, by_home.numbers, by_home.tests) == (None, (), ())
    assert not by_age.reason
    assert {pair.reason for pair in estimate_all(aggregate(400), fewest=500).joints} == {
        "400 reports, and 500 are needed (min_clients); collect more"
    }
    nothing = estimate_all(dp.Aggregate.zero(aggregate().scheme))
    assert all(pair.reason.startswith(f"{pair.first}: ") for pair in nothing.joints)


def test_parts_are_in_order_and_of_answers(subtests: pytest.Subtests) -> None:
    for axis, parts in [
        (
            Axis(
                name="x",
                unit="",
                answered=np.ones(6),
                numbers=np.array([3.0, 1, 2, 5, 4, 6]),
                categories=tuple("cabedf"),
            ),
            ["1 to 2", "3 to 4", "5 to 6"],
        ),
        (
            Axis(name="x", unit="", answered=np.ones(4), numbers=np.arange(4.0), edges=np.linspace(0, 1e6, 5)),
            ["0 to 333333", "333333 to 666667", "666667 to 1000000"],
        ),
        (Axis(name="x", unit="", answered=np.array([1.0, 1, 0]), categories=("a", "b", "missing")), ["a", "b"]),
        (Axis(name="x", unit="", answered=np.ones(5), numbers=np.arange(5.0)), ["0 to 1", "2 to 3", "4"]),
    ]:
        with subtests.test(axis=axis, parts=parts):
            assert [name for name, _ in axis.parts(3)] == parts
            shares = np.sum([share for _, share in axis.ranges(3)], axis=0)
            if axis.edges is None:
                np.testing.assert_array_equal(shares, axis.answered)
