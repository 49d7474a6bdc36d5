"""How a number reads: its words, its unit, its digits, its interval, whose it is, and why there is none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpcore.cli.printing import _cell
from dpcore.errors import SchemeError
from dpcore.functionals import KINDS
from dpcore.functionals.group import Group
from dpcore.results.pages.content import _short
from dpcore.results.text.phrases import phrase, rank, read, rounded, separated, whose


@pytest.mark.parametrize(
    ("functional", "said"),
    [
        ("mean", ("mean", "USD", 1)),
        ("quantile(0.5)", ("median", "USD", 1)),
        ("quantile(0.25)", ("25 % of clients are below", "USD", 1)),
        ("cdf(50000)", ("share at or below 50,000 USD", "%", 100)),
        ("probability(-1, 2.5)", ("share from −1 to 2.5 USD", "%", 100)),
        ("atom(0)", ("share at the bound, 0 USD", "%", 100)),
        ("variance", ("variance", "USD²", 1)),
        ("moment(3)", ("moment(3)", "USD³", 1)),
        ("derivative(0, 50000)", ("density at 50,000 USD", "per USD", 1)),
        ("derivative(1, 50000)", ("derivative(1, 50000)", "per USD²", 1)),
        ("integrated_square(1)", ("integrated square(1)", "per USD³", 1)),
        ("power_integral(0.5)", ("power integral(0.5)", "USD^0.5", 1)),
        ("entropy", ("entropy", "nats", 1)),
        ("wasserstein(1, uniform)", ("wasserstein(1, uniform)", "USD", 1)),
        ("fisher_information", ("fisher information", "per USD²", 1)),
        ("frequency(self_employed)", ("self employed", "%", 100)),
        ("both(e_bike, car (own))", ("share of both e bike and car (own)", "%", 100)),
    ],
)
def test_functionals_are_said_in_words(functional: str, said: tuple[str, str, float]) -> None:
    found = phrase(functional, "USD")
    assert (found.text, found.unit, found.factor) == said


def test_every_functional_has_a_unit_or_none_of_its_own() -> None:
    shares_and_nats = {"cdf": "%", "probability": "%", "atom": "%", "entropy": "nats", "kullback_leibler": "nats"}
    shares_and_nats |= {"both": "%"}
    for kind in KINDS:
        asked = kind.example or kind.name
        unit = phrase(asked, "m").unit
        assert shares_and_nats.get(kind.name, unit) == unit != ""
        assert phrase(asked, "").unit == shares_and_nats.get(kind.name, "")


def test_a_unit_of_several_words_is_raised_as_one() -> None:
    assert [phrase(name, "kWh a year").unit for name in ("mean", "variance")] == ["kWh a year", "(kWh a year)²"]


def test_numbers_stand_in_the_order_people_ask() -> None:
    names = ["both(St. Ives, ...)", "entropy", "cdf(10000)", "cdf(5000)", "quantile(0.5)", "mean"]
    assert sorted(names, key=rank) == ["mean", "quantile(0.5)", "cdf(5000)", "cdf(10000)", "entropy", names[0]]


@pytest.mark.parametrize(
    ("value", "spread", "text"),
    [
        (61_234.5, 869, "61,230"),
        (0.48123, 0.018, "0.481"),
        (-0.48123, 0.018, "−0.481"),
        (1.83e9, 8e7, "1.830 × 10⁹"),
        (2.345e-6, 1e-7, "2.35 × 10⁻⁶"),
        (-0.0004, 0.09, "0.000"),
        (11.923, 0, "11.92"),
        (np.nan, 1, "–"),
        (5, np.inf, "5.000"),
        (0, 0, "0"),
        (-0.0, 0, "0"),
        (-0.0, 1, "0.0"),
        (-0.4, 900, "0"),
        (-4.0, 9e8, "0.0 × 10⁸"),
        (-1e-12, 3e-6, "0.0 × 10⁻⁶"),
    ],
)
def test_numbers_show_what_their_interval_leaves_standing(value, spread, text):
    assert rounded(value, spread) == text


@pytest.mark.parametrize(
    ("estimate", "low", "high", "texts"),
    [
        (9.5e-5, 8.3e-5, 1.03e-4, ["9.5 × 10⁻⁵", "8.3 × 10⁻⁵", "10.3 × 10⁻⁵"]),
        (8.2e-5, 3e-5, 1.24e-4, ["8.2 × 10⁻⁵", "3.0 × 10⁻⁵", "12.4 × 10⁻⁵"]),
        (1.2e-4, 9.5e-5, 1.4e-4, ["0.000120", "0.000095", "0.000140"]),
        (8e6, 6e6, 1.1e7, ["8,000,000", "6,000,000", "11,000,000"]),
        (0.0, -2e-6, 2e-6, ["0.0 × 10⁻⁶", "−2.0 × 10⁻⁶", "2.0 × 10⁻⁶"]),
    ],
)
def test_an_interval_has_the_power_of_ten_of_its_estimate(
    estimate: float, low: float, high: float, texts: list[str]
) -> None:
    found = read(a_row(functional="derivative(0, 8000)", estimate=estimate, low=low, high=high), "USD")
    assert [found.estimate, found.low, found.high] == texts


def test_ticks_have_separators_and_a_true_minus():
    assert [separated(value) for value in (250_000.0, -1500.0, 0.30000000000000004)] == ["250,000", "−1,500", "0.3"]


def test_nothing_is_minus_zero_in_pictures_pages_and_the_terminal():
    assert (separated(-0.0), _short(-0.0), _cell(-0.0)) == ("0", "0", "0")


def a_row(**changes: Any) -> dict[str, Any]:
    row = {
        "attribute": "income",
        "given": "",
        "functional": "mean",
        "estimate": 79_000.0,
        "low": 63_240.0,
        "high": 92_000.0,
    }
    return row | {"reason": None} | changes


def test_a_miss_is_seen_to_be_one() -> None:
    found = read(a_row(truth=62_910.0), "USD")
    assert (found.holds, found.low, found.truth, found.true) == (False, "63,200", "62,900", "62,900 USD")
    found = read(a_row(truth=63_300.0), "USD")
    assert (found.holds, found.low, found.truth) == (True, "63,000", "63,000")


def a_difference(**changes: Any) -> dict[str, Any]:
    row = a_row(functional="frequency(a)", other_given="", difference=0.031, low=0.001, high=0.061, differs=False)
    del row["estimate"]
    return row | changes


def test_a_difference_has_its_sign_and_its_verdict_and_zero_is_seen_to_be_left_out() -> None:
    found = read(a_difference(), "USD")
    assert (found.quantity, found.value, found.interval) == ("share of a", "+3.1 % points", "0.1 to 6.1")
    assert read(a_difference(low=0.0001), "USD").interval == "0.01 to 6.10"
    sides = [(None, "perhaps"), (False, "perhaps"), (math.nan, "perhaps"), (True, "yes")]
    assert [read(a_difference(differs=differs), "").verdict for differs, _ in sides] == [said for _, said in sides]
    assert read(a_difference(low=-0.01), "").verdict == "no"


def test_a_quantile_of_values_is_one_of_them() -> None:
    row = {
        "attribute": "x",
        "given": "",
        "functional": "quantile(0.5)",
        "estimate": 1.0,
        "low": 1.0,
        "high": 2.0,
        "truth": 2.0,
    }
    line = read(row | {"estimator": "log_linear"}, "")
    assert (line.estimate, line.interval, line.truth, line.holds) == ("1", "1 to 2", "2", True)
    assert read(row | {"estimator": "log_spline"}, "").estimate == "1.0"
    assert read(row | {"estimator": "log_linear", "functional": "mean"}, "").estimate == "1.0"


def test_a_share_below_a_value_reads_as_one() -> None:
    row = {"attribute": "x", "given": "", "estimate": 0.4, "low": 0.3, "high": 0.5}
    said = {name: read(row | {"category": name}, "").quantity for name in ("below 20", "20 and above")}
    assert said == {"below 20": "share below 20", "20 and above": "share of 20 and above"}


def test_a_refusal_has_its_reason_and_no_verdict() -> None:
    for row in (a_row(estimate=np.nan, low=np.nan, high=np.nan), a_difference(difference=None, low=None, high=None)):
        found = read(row | {"reason": "too noisy"}, "USD")
        assert (found.value, found.interval, found.note, found.verdict) == ("refused", "", "too noisy", "")


def test_a_share_reads_alike_in_every_table() -> None:
    frequency = read(
        {"attribute": "home", "category": "a_b", "given": "", "estimate": 0.5, "low": 0.45, "high": 0.55}, ""
    )
    assert (frequency.attribute, frequency.text, frequency.quantity, frequency.value) == (
        "home",
        "a b",
        "share of a b",
        "50 %",
    )
    assert read(a_difference(functional="frequency(a_b)"), "").quantity == frequency.quantity


def test_groups_are_told_in_words() -> None:
    urban, rural = "home_of=urban", "home_of=rural"
    assert [whose(""), whose(rural), whose(rural, rural), whose(urban, rural)] == [
        "",
        "home of: rural",
        "rural",
        "urban − rural",
    ]
    assert Group.parse("a=b=c") == Group("a", "b=c")
    assert str(Group("a", "b=c")) == "a=b=c"
    with pytest.raises(SchemeError, match="a group is ATTRIBUTE=CATEGORY, got 'rural'"):
        Group.parse("rural")
