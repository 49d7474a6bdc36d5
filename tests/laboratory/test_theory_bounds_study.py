"""Lower bounds lie below what our estimators err, where the bounds come from."""

from __future__ import annotations

import pytest

from dpcore.laboratory.studies import bounds


@pytest.mark.slow
def test_every_problem_has_our_methods() -> None:
    places = list(bounds.rows())
    assert {row.problem for row in places} >= {"mean, local", "density, local", "point, local", "density, central"}
    assert {row.method for row in places} >= {*bounds.CATEGORICAL, *bounds.NUMERIC}
    assert len(places) == 4 * (5 + 9) + 4 * 4
    assert all(row.bound > 0 for row in places)


@pytest.mark.slow
def test_coins_err_more_than_the_bound_and_not_much_more() -> None:
    coins = [row for row in bounds.rows() if (row.problem, row.method) == ("mean, local", "randomized_response")]
    assert len(coins) == 4
    for row in coins:
        risk = sum(row.draw(seed) for seed in range(60)) / 60
        assert row.bound < risk < 60 * row.bound


@pytest.mark.nightly("a study")
def test_all_our_estimators_err_more_than_the_bounds() -> None:
    found = bounds.table(8)
    print(found.to_string())
    assert (found["ratio"] > 1).all()
