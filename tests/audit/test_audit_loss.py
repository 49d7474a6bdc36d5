"""Exact losses: compared without floats, bracketed by neighbouring floats."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.audit import Loss, at_most
from dpcore.privacy.budget import Budget

rationals = st.fractions(min_value=0, max_value=20, max_denominator=10**6)
ratios = st.fractions(min_value=1, max_value=10**6, max_denominator=10**6)


@given(rationals, ratios, rationals, ratios)
def test_comparison_agrees_with_floats_where_floats_can_tell(
    a: Fraction, r: Fraction, b: Fraction, s: Fraction
) -> None:
    first, second = Loss(a, r), Loss(b, s)
    left, right = float(a) + math.log(r), float(b) + math.log(s)
    if abs(left - right) > 1e-9:
        assert first.is_within(second) is (left < right)
    assert first.is_within(first)
    assert first.is_within(second) or second.is_within(first)


@given(rationals, ratios)
def test_a_bracket_holds_the_loss_and_is_as_narrow_as_floats_allow(a: Fraction, r: Fraction) -> None:
    low, high = Loss(a, r).bracket
    assert Loss(Fraction(low)).is_within(Loss(a, r))
    assert Loss(a, r).is_within(Loss(Fraction(high)))
    assert Loss(a, r).is_within(Loss(Fraction(at_most(Loss(a, r)))))
    assert low <= float(Loss(a, r)) <= high
    assert high in (low, math.nextafter(low, math.inf))
    assert low == pytest.approx(float(a) + math.log(r), rel=1e-12, abs=1e-12)


def test_a_ratio_next_to_e_is_decided_however_close_it_is(subtests: pytest.Subtests) -> None:
    """e = sum 1/k!, cut off and rounded both ways, against epsilon = 1."""
    for digits in [10, 30, 60, 200]:
        with subtests.test(digits=digits):
            total = sum(Fraction(1, math.factorial(k)) for k in range(digits + 20))  # the rest is below 10^-digits
            below = Fraction(math.floor(total * 10**digits), 10**digits)
            promise = Loss.from_budget(Budget.parse("1"))
            assert Loss(ratio=below).is_within(promise)
            assert not Loss(ratio=below + Fraction(2, 10**digits)).is_within(promise)


def test_the_comparison_is_stricter_than_no_float_and_agrees_with_the_budget_s_own_bound() -> None:
    for text in ("1", "0.001", "1/3", "ln 3", "2 + ln 3", "22"):
        budget = Budget.parse(text)
        floor = budget.ratio_floor
        assert Loss(ratio=floor).is_within(Loss.from_budget(budget))
        assert not Loss(ratio=floor * (1 + Fraction(1, 2**78))).is_within(Loss.from_budget(budget))
        assert not Loss(budget.rational + Fraction(1, 10**40), budget.ratio).is_within(Loss.from_budget(budget))


def test_sums_and_texts() -> None:
    total = Loss(Fraction(1, 2)) + Loss(ratio=Fraction(3)) + Loss(ratio=Fraction(2))
    assert total == Loss(Fraction(1, 2), Fraction(6))
    assert total.text == "1/2 + ln(6)"
    assert (Loss().text, Loss(Fraction(1)).text, Loss(ratio=Fraction(3, 2)).text) == ("0", "1", "ln(3/2)")


def test_what_nothing_bounds_keeps_no_promise() -> None:
    unbounded = Loss(ratio=None)
    assert not unbounded.is_within(Loss.from_budget(Budget.parse("64")))
    assert Loss(Fraction(5)).is_within(unbounded)
    assert float(unbounded + Loss(Fraction(1))) == math.inf
    assert unbounded.bracket == (math.inf, math.inf)
    assert unbounded.text == "unbounded"
