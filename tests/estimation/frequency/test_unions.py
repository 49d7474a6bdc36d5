"""Unions of categories: their shares, errors from the joint covariance, and how often their intervals hold the truth."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dpcore.errors import SchemeError
from dpcore.estimation.estimators import Frequency
from dpcore.estimation.frequency.frequency_estimate import FrequencyEstimate, Spread
from dpcore.estimation.functional_estimate import normal_quantile
from dpcore.privacy.budget import Budget
from tests.estimation.frequency.test_frequency import _aggregate, _channel
from tests.estimation.frequency.test_frequency_coverage import ORACLES, _estimates, _truth

BY_DAY = [
    ("unary_optimized", 8),
    ("randomized_response", 8),
    ("subset_selection", 8),
    ("hadamard_response", 8),
    ("unary_symmetric", 40),
    ("randomized_response", 40),
]


def _one(oracle: str, k: int = 8, n: int = 20_000) -> tuple[FrequencyEstimate, np.ndarray]:
    mechanism = ORACLES[oracle](Budget.parse("1"), k)
    return _estimates(mechanism, _truth(k), n, 1, seed=k)[0], np.array(mechanism.model().own_variances)  # type: ignore[union-attr]


def test_an_interval_ends_where_the_truth_would_be_the_deviations_away(subtests: pytest.Subtests) -> None:
    """Of the matrix itself, at frequencies of which the union has what the end says, however they are spread."""
    for oracle in ORACLES:
        for members in [[0], [1, 3], [0, 2, 4, 5], [0, 1, 2, 3, 4, 6, 7]]:
            with subtests.test(oracle=oracle, members=members):
                est, _ = _one(oracle)
                mechanism, inside = ORACLES[oracle](Budget.parse("1"), 8), np.isin(np.arange(8), members)
                found = est.share_of([str(i) for i in members], confidence=0.9)
                weights = inside - inside.mean()
                raw = est.raw[inside].sum() - inside.mean() * (est.raw.sum() - 1)
                assert found.value == pytest.approx(np.clip(raw, 0, 1), abs=1e-12)
                assert found.plug_in == pytest.approx(est.values[inside].sum(), abs=1e-12)
                assert found.standard_error == pytest.approx(np.sqrt(weights @ est.covariance @ weights), rel=1e-9)
                assert 0 < found.low < found.high < 1  # type: ignore[operator]
                rng = np.random.default_rng(0)
                for end in (found.low, found.high):
                    law = np.where(inside, end * rng.dirichlet(np.ones(8)), 0.0)
                    law[inside] *= end / law[inside].sum()
                    law[~inside] = (1 - end) * rng.dirichlet(np.ones((~inside).sum()))  # type: ignore[operator]
                    covariance = Spread(*mechanism.model().covariance(law, est.n)).matrix()  # type: ignore[union-attr]
                    assert abs(raw - end) == pytest.approx(
                        normal_quantile(0.9) * np.sqrt(weights @ covariance @ weights), rel=1e-9
                    )


def test_what_a_union_has_its_complement_has_not(subtests: pytest.Subtests) -> None:
    for oracle in ORACLES:
        with subtests.test(oracle=oracle):
            est, _ = _one(oracle)
            one, other = est.share_of(["0", "3", "4"]), est.share_of(["1", "2", "5", "6", "7"])
            assert (one.value, one.low, one.high) == pytest.approx((1 - other.value, 1 - other.high, 1 - other.low))  # type: ignore[operator]
            assert one.standard_error == pytest.approx(other.standard_error)
            everyone = est.share_of(est.categories)
            assert (everyone.value, everyone.low, everyone.high) == pytest.approx((1, 1, 1), abs=1e-12)
            assert everyone.standard_error == pytest.approx(0, abs=1e-9)


def test_a_union_of_one_is_the_category_or_surer() -> None:
    """Where a report says one category, shares sum to one anyway; of two categories said apart, each says the other again."""
    est, _ = _one("randomized_response")
    low, high = est.interval()
    found = est.share_of(["1"])
    assert (found.value, found.low, found.high) == pytest.approx((est.raw[1], low[1], high[1]), abs=1e-12)
    est, _ = _one("unary_symmetric", k=2)
    assert est.share_of(["0"]).standard_error / est.standard_errors[0] == pytest.approx(np.sqrt(0.5), abs=0.02)


def test_a_channels_unions_are_those_of_score_sums() -> None:
    from dpcore.mechanisms import RandomizedResponse

    mechanism = RandomizedResponse.design(Budget.parse("1"), categories=5)
    counts = np.array([2_000, 900, 800, 700, 600])
    fast = Frequency().estimate(_aggregate(mechanism, counts), "c")
    slow = Frequency().estimate(_aggregate(_channel(mechanism), counts), "c")
    one, other = fast.share_of(["c0", "c2"]), slow.share_of(["c0", "c2"])
    assert (one.value, one.standard_error) == pytest.approx((other.value, other.standard_error), rel=1e-9)
    assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-3)


def test_what_is_no_union_is_refused() -> None:
    est, _ = _one("randomized_response")
    for wrong in ([], "01"):
        with pytest.raises(SchemeError, match="takes a list of categories"):
            est.share_of(wrong)
    with pytest.raises(SchemeError, match="c has no category 'nine'"):
        est.share_of(["0", "nine"])
    assert est.share_of(["1", "0", "1"]) == est.share_of(["0", "1"])


def test_a_share_that_is_not_possible_keeps_its_interval() -> None:
    """Nobody has the last two categories: where noise says less than nobody, the interval starts at 0, and is not nothing."""
    made = _estimates(ORACLES["unary_optimized"](Budget.parse("1"), 8), np.eye(8)[0], 10_000, 60, seed=5)
    found = [est.share_of(["6", "7"]) for est in made]
    below = [one for one in found if one.value == 0]
    assert 15 < len(below) < 45
    assert all(one.low == 0 and one.high > 1.9 * one.standard_error for one in below)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("oracle", "k"),
    [
        pytest.param(oracle, k, marks=[pytest.mark.slow])
        if (oracle, k) in BY_DAY
        else pytest.param(oracle, k, marks=[pytest.mark.nightly("a study")])
        for oracle, k in product(ORACLES, (8, 40))
    ],
)
def test_intervals_of_unions_hold_the_truth(oracle: str, k: int) -> None:
    """1,000 rounds of 100,000 clients at epsilon 1; errors summed, or their squares, as if there were no covariance, do not."""
    truth = _truth(k)
    made = _estimates(ORACLES[oracle](Budget.parse("1"), k), truth, 100_000, 1_000, seed=k)
    unions = {"two": [0, 1], "half": list(range(0, k, 2)), "all but one": [i for i in range(k) if i != 1]}
    for name, members in unions.items():
        share, found = truth[members].sum(), [est.share_of([str(i) for i in members]) for est in made]
        off = np.array([one.value for one in found]) - share
        errors = np.array([one.standard_error for one in found], dtype=float)
        apart = np.array([np.sqrt((est.standard_errors[members] ** 2).sum()) for est in made])
        summed = np.array([est.standard_errors[members].sum() for est in made])
        held = np.mean([one.low <= share <= one.high for one in found])  # type: ignore[operator]
        short, alone, added = (np.mean(np.abs(off) <= 1.96 * each) for each in (0.7 * errors, apart, summed))
        print(
            f"{oracle} k={k} {name}: held {held:.3f}, standard error {errors.mean():.5f}, off by {off.std():.5f}; "
            f"without covariance {alone:.3f}, {np.mean(apart / errors):.2f} times as long; "
            f"errors summed {added:.3f}, {np.mean(summed / errors):.2f} times as long"
        )
        assert 0.93 <= held <= 0.97
        assert errors.mean() == pytest.approx(off.std(), rel=0.1)  # four and a half of its own standard errors
        assert short < 0.88  # intervals 30 % too short
        assert added > 0.985
        if name != "two":
            assert alone > 0.975
