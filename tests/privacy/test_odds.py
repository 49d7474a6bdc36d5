"""Odds of several reports together, against every combination of reports of obvious channels."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.errors import CalibrationError, SchemeError
from dpcore.privacy.budget import Budget
from dpcore.privacy.odds import Odds, budget_of, either, together

Law = list[Fraction]  # of reports
COIN = ([Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)])
OF_FOUR = ([Fraction(5, 8), *[Fraction(1, 8)] * 3], [Fraction(1, 8), Fraction(5, 8), *[Fraction(1, 8)] * 2])
_SLACK = Fraction(1, 1 << 100)  # shares of several reports are rounded up


def odds_of(first: Law, second: Law) -> Odds:
    ratios = [ratio for p, q in zip(first, second, strict=True) for ratio in (p / q, q / p)]
    return Odds(max(ratios), sum(abs(p - q) for p, q in zip(first, second, strict=True)) / 2)


def all_at_once(*pairs: tuple[Law, Law]) -> Odds:
    """Every combination of the reports."""
    return odds_of(*([prod(chosen) for chosen in product(*laws)] for laws in zip(*pairs, strict=True)))


@st.composite
def channels(draw: st.DrawFn) -> tuple[Law, Law]:
    size = draw(st.integers(2, 4))
    rows = [draw(st.lists(st.integers(1, 30), min_size=size, max_size=size)) for _ in range(2)]
    return tuple([Fraction(weight, sum(row)) for weight in row] for row in rows)  # type: ignore[return-value]


def test_reports_of_two_weights_are_together_what_enumeration_says(subtests: pytest.Subtests) -> None:
    for pairs in [(COIN,), (COIN, COIN), (COIN, OF_FOUR), (OF_FOUR, OF_FOUR, COIN)]:
        with subtests.test(pairs=pairs):
            found, expected = together(odds_of(*pair) for pair in pairs), all_at_once(*pairs)
            assert found.ratio == expected.ratio
            assert expected.variation <= found.variation <= expected.variation + _SLACK


def test_rounds_are_questions_asked_again() -> None:
    asked = together([odds_of(*COIN), odds_of(*OF_FOUR)], rounds=2)
    assert asked == together([odds_of(*COIN), odds_of(*OF_FOUR)] * 2)
    assert asked.variation <= all_at_once(COIN, OF_FOUR, COIN, OF_FOUR).variation + _SLACK


@given(st.lists(channels(), min_size=1, max_size=3))
def test_no_channels_tell_more_together_than_is_said(pairs: list[tuple[Law, Law]]) -> None:
    found, expected = together(odds_of(*pair) for pair in pairs), all_at_once(*pairs)
    assert found.variation >= expected.variation
    assert found.ratio >= expected.ratio


@given(st.lists(channels(), min_size=2, max_size=3))
def test_where_there_are_many_ratios_the_bound_still_holds(pairs: list[tuple[Law, Law]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpcore.privacy.odds._MOST", 4)
        rough = together(odds_of(*pair) for pair in pairs)
    assert rough.variation >= all_at_once(*pairs).variation
    assert rough.ratio == together(odds_of(*pair) for pair in pairs).ratio


def test_a_delta_is_added_for_every_report() -> None:
    part = Odds(Fraction(3), Fraction(1, 2), Fraction(1, 1000), is_exact=False)
    alone, found = together([part]), together([part], rounds=3)
    assert alone == part
    assert found.delta == Fraction(3, 1000)
    assert found.variation == together([Odds(Fraction(3), Fraction(1, 2))], rounds=3).variation + Fraction(3, 1000)


def test_one_of_several_tells_at_most_what_each_number_says() -> None:
    found = either([Odds(Fraction(3), Fraction(1, 4)), Odds(Fraction(2), Fraction(1, 3))])
    assert (found.ratio, found.variation) == (3, Fraction(1, 3))


def test_a_thousand_rounds_take_no_time() -> None:
    found = together([odds_of(*COIN)], rounds=1000)
    assert found.ratio == Fraction(3) ** 1000
    assert found.variation > 1 - Fraction(1, 10**30)
    for rounds in (0, 1001):
        with pytest.raises(SchemeError, match="rounds must lie"):
            together([odds_of(*COIN)], rounds=rounds)


def test_what_no_channel_has_is_refused(subtests: pytest.Subtests) -> None:
    for numbers in [(Fraction(1, 2), Fraction(0)), (Fraction(3), Fraction(3, 5)), (Fraction(3), Fraction(-1))]:
        with subtests.test(numbers=numbers), pytest.raises(CalibrationError, match="no channel has"):
            Odds(*numbers)


def test_an_epsilon_is_the_largest_that_has_the_odds() -> None:
    assert budget_of(Fraction("0.75")).text == "ln 3"
    of_ten = budget_of(Fraction("0.75"), rounds=10)
    assert Budget(rational=10 * of_ten.rational).ratio_floor <= 3
    assert abs(float(of_ten) * 10 - float(budget_of(Fraction("0.75")))) < 1e-15
    for worst in ("0.5", "1", "0.2", "0.99999999999999999999999999999"):
        with pytest.raises(SchemeError, match="odds"):
            budget_of(Fraction(worst))
