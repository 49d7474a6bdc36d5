from __future__ import annotations

import math
from decimal import Decimal, getcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.errors import SchemeError
from dpcore.privacy.budget import INFINITE, Budget

LONG = "0.12345678901234567890123456789"
VALUES = {
    "0.5": 0.5,
    "1": 1,
    "0.1": 0.1,
    "1/3": 1 / 3,
    "ln 3": math.log(3),
    "ln 3/2": math.log(1.5),
    "ln 1.5": math.log(1.5),
}
VALUES |= {"2": 2, "64": 64, LONG: 0.1234567890123457}


def test_text_reads_back_to_the_same_budget(subtests: pytest.Subtests) -> None:
    for text in ["0.5", "1", "0.1", "1/3", "ln 3", "ln 3/2", "ln 1.5", "2 + ln 3", "64", LONG]:
        with subtests.test(text=text):
            budget = Budget.parse(text)
            assert Budget.parse(budget.text) == budget
            assert math.isclose(float(budget), sum(map(VALUES.__getitem__, text.split(" + "))))


def test_what_is_not_an_epsilon_is_refused(subtests: pytest.Subtests) -> None:
    for text in ["-1", "0", "nan", "inf", "ln 1", "ln 0.5", "ln x", "", "65", "1e9", "1/0", "ln 3/0"]:
        with subtests.test(text=text), pytest.raises(SchemeError, match="epsilon must be"):
            Budget.parse(text)


@given(st.fractions(min_value=Fraction(1, 1000), max_value=20))
def test_floors_never_exceed_and_are_tight(rational: Fraction) -> None:
    getcontext().prec = 60
    exact = (Decimal(rational.numerator) / Decimal(rational.denominator)).exp()
    floor = Budget(rational).ratio_floor
    as_decimal = Decimal(floor.numerator) / Decimal(floor.denominator)
    assert as_decimal <= exact
    assert 1 - as_decimal / exact < Decimal(2) ** -60


@given(st.fractions(min_value=Fraction(1001, 1000), max_value=1000))
def test_the_logarithm_is_rounded_down(ratio: Fraction) -> None:
    getcontext().prec = 60
    exact = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
    floor = Budget(ratio=ratio).floor
    as_decimal = Decimal(floor.numerator) / Decimal(floor.denominator)
    assert as_decimal <= exact
    assert exact - as_decimal < Decimal(2) ** -70


def test_ln_3_stays_the_ratio_3_and_sums_are_exact() -> None:
    three = Budget.parse("ln 3")
    assert three.ratio_floor == 3
    total = three + Budget.parse("0.1") + Budget.parse("0.2")
    assert total.text == "0.3 + ln 3"
    assert math.isclose(float(total), 0.3 + math.log(3))
    assert math.isclose(float(total.ratio_floor), 3 * math.exp(0.3))
    assert math.isclose(float(total.floor), 0.3 + math.log(3))


def test_one_budget_covers_another_exactly_where_it_is_no_smaller() -> None:
    texts = [
        "0.1",
        "ln 3",
        "1",
        "1.1",
        "1 + ln 3",
        "ln 9",
        "2",
        "2 + ln 1.5",
        "ln 2.7182818",
        "ln 2.7182819",
        "ln 1.0001",
    ]
    for one in map(Budget.parse, texts):
        for other in map(Budget.parse, texts):
            assert one.covers(other) == (float(one) >= float(other)), (one, other)


def test_a_doubt_is_no_cover() -> None:
    """e is a little more than its rational floor: 1 covers ln of that and is not covered by it."""
    one = Budget.parse("1")
    below, above = (Budget(ratio=one.ratio_floor + Fraction(off, 2**78)) for off in (0, 3))
    assert one.covers(below)
    assert not below.covers(one)
    assert above.covers(one)
    assert not one.covers(above)


def test_an_infinite_budget_covers_all_and_is_covered_by_itself_alone() -> None:
    one = Budget.parse("1")
    assert INFINITE.covers(one)
    assert INFINITE.covers(INFINITE)
    assert not one.covers(INFINITE)
    assert one + INFINITE == INFINITE
    assert (float(INFINITE), INFINITE.text) == (math.inf, "infinite")
    for bound in ("floor", "ratio_floor"):
        with pytest.raises(SchemeError, match="epsilon must be a number here"):
            getattr(INFINITE, bound)
    with pytest.raises(SchemeError, match="epsilon must be a number above 0"):
        Budget.parse("infinite")
