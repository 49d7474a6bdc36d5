"""Numbers smoothed over the rounds of a scheme: rows of `smoothed`, shares on the simplex, checks of shifts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore.results.tables.trend_rows import trends_of
from dpcore.results.warehouse import land, query
from tests.results.test_warehouse_macros import a_run, landing, numbers

DAYS = [f"2026-11-{day:02}" for day in range(1, 29)]


def land_rounds(path: Path, values: dict[str, float], order: Sequence[str] | None = None) -> None:
    """Land a round for each day, whose mean is its value; a group has the same mean in all but the second round."""
    for name in order or list(values):
        group = numbers(values[name], 2.0, given="sex=f")["functionals"]
        both = [numbers(values[name], 1.0)["functionals"], *([group] if name != DAYS[1] else [])]
        land(path, landing(a_run(name, "x"), {"functionals": pd.concat(both)}), smoother=trends_of)


def values_of(rounds: int) -> dict[str, float]:
    return dict(zip(DAYS[:rounds], np.random.default_rng(1).normal(10, 1, rounds), strict=True))


def test_two_rounds_have_no_trend_and_three_have(fresh: Path) -> None:
    land_rounds(fresh, values_of(2))
    assert query(fresh, "from smoothed").empty
    land_rounds(fresh, values_of(4), DAYS[2:4])
    rows = query(fresh, "from trends where given = '' order by round")
    assert rows["smoothed"].notna().all()
    assert rows["filtered"].notna().tolist() == [False, False, True, True]
    assert rows["forecast"].notna().equals(rows["filtered"].notna())
    assert rows["smoothed"].iloc[-1] == rows["filtered"].iloc[-1]
    of_group = query(fresh, "from trends where given <> '' order by round")
    assert of_group["filtered"].notna().tolist() == [False, False, True]  # its third round


def test_rows_are_those_of_the_function(fresh: Path) -> None:
    values = values_of(16)
    land_rounds(fresh, values)
    rows = query(fresh, "from trends where given = '' order by round")
    days = [pd.Timestamp(day).date() for day in values]
    found = dp.trend(days, list(values.values()), np.ones(16))
    np.testing.assert_allclose(rows["smoothed"], found.smoothed)
    np.testing.assert_allclose(rows["smoothed_low"], found.low)
    last = rows.iloc[-1]
    assert last[["forecast", "forecast_low", "forecast_high"]].tolist() == pytest.approx(found.forecast[1:])
    assert found.shift is not None
    assert last["shift_p_value"] == pytest.approx(found.shift.p_value)
    assert not rows["shifted"].fillna(False).any()


def test_the_order_of_landings_does_not_matter(fresh: Path, tmp_path: Path) -> None:
    values = values_of(6)
    land_rounds(fresh, values)
    rows = query(fresh, "select * exclude run_id from smoothed order by all")
    checks = query(fresh, "select * exclude run_id from checks where starts_with(name, 'shift(') order by all")
    mixed = tmp_path / "mixed.duckdb"
    land_rounds(mixed, values, [DAYS[place] for place in (3, 0, 5, 4, 1, 2, 3)])
    pd.testing.assert_frame_equal(query(mixed, "select * exclude run_id from smoothed order by all"), rows)
    again = query(mixed, "select * exclude run_id from checks where starts_with(name, 'shift(') order by all")
    pd.testing.assert_frame_equal(again, checks)
    assert len(checks) == 4


def test_a_shift_fails_its_check(fresh: Path) -> None:
    values = values_of(12)
    land_rounds(fresh, values | {DAYS[11]: 20.0})
    rows = query(fresh, "select name, passed, observed, threshold, detail, round from checks join runs using (run_id) "
                 "where starts_with(name, 'shift(') order by round")  # fmt: skip
    assert rows["name"].eq("shift(income)").all()
    assert rows["passed"].tolist() == [True] * 9 + [False]
    assert rows["observed"].iloc[-1] > rows["threshold"].iloc[-1]
    detail = rows["detail"].iloc[-1]
    assert detail.startswith("2 of 2 numbers differ significantly from what earlier rounds predict: mean +")
    assert query(fresh, f"select shifted from trends where round = '{DAYS[11]}'")["shifted"].all()


def test_rounds_that_are_no_dates_are_a_step_apart() -> None:
    rows = estimates_of(dict(zip("abcd", [1.0, 2.0, 1.5, 1.2], strict=True)))
    by_name, _ = trends_of(rows, "a")
    days = rows.assign(round=[f"2026-11-0{place}" for place in range(1, 5)])
    by_day, _ = trends_of(days, "2026-11-01")
    np.testing.assert_array_equal(by_name["smoothed"], by_day["smoothed"])


def estimates_of(values: dict[str, float], functional: str = "mean", error: float = 1.0) -> pd.DataFrame:
    rounds = pd.DataFrame({"round": list(values), "estimate": list(values.values())})
    key = {
        "attribute": "a",
        "given": "",
        "functional": functional,
        "estimator": "x",
        "standard_error": error,
        "confidence": 0.95,
    }
    return rounds.assign(
        run_id="run " + rounds["round"],
        plug_in=rounds["estimate"],
        low=rounds["estimate"] - 2,
        high=rounds["estimate"] + 2,
        **key,
    )


def test_shares_are_on_the_simplex_inside_their_intervals() -> None:
    rng, truth = np.random.default_rng(2), np.array([0.9, 0.1, 0.0, 0.0])
    raw = truth + rng.normal(0, 0.1, (10, 4))
    shares = [
        estimates_of(dict(zip(DAYS, raw[:, place], strict=False)), f"frequency({place})", 0.1) for place in range(4)
    ]
    rows, _ = trends_of(pd.concat(shares).assign(plug_in=1 / 4), "")
    for name in ("smoothed", "filtered", "forecast"):
        there = rows.dropna(subset=name)
        np.testing.assert_allclose(there.groupby("run_id")[name].sum(), 1)
        assert there[name].between(there[f"{name}_low"], there[f"{name}_high"]).all()
        assert there[[f"{name}_low", f"{name}_high"]].stack().between(0, 1).all()
    smoothed = rows.pivot(index="run_id", columns="number", values="smoothed").to_numpy()
    assert ((smoothed - truth) ** 2).mean() < 0.25 * ((raw - truth) ** 2).mean()


def test_shares_of_options_are_within_bounds_and_sum_to_anything() -> None:
    values = dict(zip(DAYS[:4], [0.9, 0.95, 0.9, 1.05], strict=True))
    shares = [estimates_of(values, f"frequency({place})", 0.1) for place in range(3)]
    rows, _ = trends_of(pd.concat(shares).assign(plug_in=0.9), "")
    assert rows["smoothed"].between(0.85, 1).all()


def test_shares_without_an_error_and_attributes_of_many_categories_have_no_trend() -> None:
    values = dict(zip(DAYS[:3], [0.3, 0.4, 0.3], strict=True))
    without = estimates_of(values, "frequency(b)", 0.0)
    rows, checks = trends_of(pd.concat([estimates_of(values, "frequency(a)"), without]), "")
    assert rows.empty
    assert checks.empty
    assert trends_of(estimates_of(values).assign(estimator="texts"), "")[0].empty
    many = [estimates_of(values, f"frequency({place})") for place in range(101)]
    assert trends_of(pd.concat(many), "")[0].empty
    assert len(trends_of(pd.concat(many[:100]), "")[0]) == 300


def test_simulated_rounds_of_one_seed_count_once(fresh: Path) -> None:
    for name in DAYS[:4]:
        run = a_run(name, name, source="simulated", randomness="seeded", seed=5)
        land(fresh, landing(run, numbers(10.0, 1.0)), smoother=trends_of)
    assert query(fresh, "from smoothed").empty


def test_a_round_older_than_the_newest_ones_changes_nothing(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpcore.estimation.constants.TREND_ROUNDS", 4)
    values = values_of(6)
    land_rounds(fresh, values, DAYS[1:6])
    before = query(fresh, "from smoothed order by all")
    land_rounds(fresh, values, DAYS[:1])
    pd.testing.assert_frame_equal(query(fresh, "from smoothed order by all"), before)
    assert query(fresh, "select count(*) as n from smoothed where given = ''")["n"].item() == 5


def test_the_charts_of_a_page_show_estimates_and_smoothed_values(fresh: Path) -> None:
    from dpcore.results.pages.query import read_query
    from dpcore.results.pages.trends import trends

    land_rounds(fresh, values_of(12) | {DAYS[11]: 20.0})
    last = a_run(DAYS[11], "x").run_id
    rows = query(fresh, read_query("trends", run_id=last, attribute="income").sql)
    count, charts = trends(rows, "USD")
    chart = charts["mean", ""]
    assert count == 12
    assert chart.points.count("M") == 12
    smoothed = rows.loc[rows["given"] == "", "smoothed"]
    assert f"; smoothed {smoothed.iloc[-1]:.1f} USD" in chart.says
    assert trends(rows.assign(smoothed=None), "USD")[1]["mean", ""].points == ""
