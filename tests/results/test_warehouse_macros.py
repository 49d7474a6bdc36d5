"""Shares and densities asked of the landed curve, and rounds pooled."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy

from dpcore.errors import WarehouseError
from dpcore.results.warehouse import Landing, RunRow, land, query, run_id
from tests.helpers import warehouses

START = datetime(2026, 11, 20, 6, 30, tzinfo=UTC)


def a_run(round_: str, salt: str, **changes: object) -> RunRow:
    values: dict[str, object] = {
        "run_id": run_id("ab", round_, salt),
        "scheme": "people",
        "scheme_digest": "ab",
        "round": round_,
        "source": "records",
        "randomness": "secure",
        "accepted": 10,
        "rejected": 0,
        "started_at": START,
        "finished_at": START + timedelta(seconds=90),
        "version": "0.1.0",
    }
    return RunRow(**values | changes)  # type: ignore[arg-type]


def landing(run: RunRow, tables: dict[str, pd.DataFrame]) -> Landing:
    """What a run lands, with what its people spent, without which real ones do not."""
    promise = {"stated": "1", "epsilon": [1.0], "delta": 0.0}
    scheme = {"description": "", "planned_clients": 1, "reporting": "all", "canonical": ""}
    unknown = {"states": None, "known_charges": None, "known_clients": None, "most_charges": None}
    budget = {"attribute": "income", "mechanism": "m", "certificate": "c", "charges": 1}
    return Landing(
        run, {"schemes": pd.DataFrame(scheme | promise), "budgets": pd.DataFrame(budget | promise | unknown)} | tables
    )


CURVE = pd.DataFrame(  # a triangle on 0 to 20 over an atom of 0.2 at 0
    {
        "attribute": "income",
        "estimator": "log_spline",
        "given": "",
        "x": [0.0, 10.0, 20.0],
        "density": [0.0, 0.08, 0.0],
        "low": [0.0, 0.06, 0.0],
        "high": [0.02, 0.1, 0.01],
        "cdf": [0.2, 0.6, 1.0],
        "cdf_low": [0.1, 0.5, 0.9],
        "cdf_high": [0.3, 0.7, 1.0],
        "confidence": 0.95,
    }
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = warehouses.put(tmp_path_factory.mktemp("macros") / "w.duckdb")
    both = pd.concat([CURVE, CURVE.assign(given="sex=f"), CURVE.assign(attribute="age", x=[0.0, 1.0, 2.0])])
    for round_ in ("r1", "r2"):
        land(file, landing(a_run(round_, "x"), {"densities": both}))
    return file


@pytest.mark.parametrize(
    ("x", "expected"),
    [(0, (0.0, 0.0, 0.02)), (5, (0.04, 0.03, 0.06)), (10, (0.08, 0.06, 0.1)), (17.5, (0.02, 0.015, 0.0325))],
)
def test_a_density_lies_on_the_line_between_grid_points(path: Path, x: float, expected: tuple[float, ...]) -> None:
    frame = query(path, f"from density_at('income', {x})")
    assert frame[["scheme", "round", "given"]].to_numpy().tolist() == [
        ["people", round_, given] for round_ in ("r1", "r2") for given in ("", "sex=f")
    ]
    assert frame[["density", "low", "high"]].to_numpy() == pytest.approx(np.array([expected] * 4))
    assert set(frame["confidence"]) == {0.95}


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (5, 10, (0.2, 0.0, 0.4, 0.9)),  # 0.6 - 0.4; 0.5 - 0.5 to 0.7 - 0.3; two pointwise intervals
        (0, 5, (0.4, 0.3, 0.5, 0.95)),  # the atom at the bound is in it, and one end is exact
        (-100, 0, (0.2, 0.1, 0.3, 0.95)),  # nothing but the atom
        (5, 20, (0.6, 0.5, 0.7, 0.95)),
        (5, 1e9, (0.6, 0.5, 0.7, 0.95)),
        (0, 20, (1, 1, 1, 0.95)),
        (10, 10, (0, 0, 0.2, 0.9)),
    ],
)
def test_a_share_counts_the_atoms_and_never_says_too_much(
    path: Path, a: float, b: float, expected: tuple[float, ...]
) -> None:
    frame = query(
        path, f"from share_between(attribute := 'income', a := {a}, b := {b}) where given = '' and round = 'r1'"
    )
    assert frame[["share", "low", "high", "confidence"]].to_numpy() == pytest.approx(np.array([expected]))


def test_what_lies_outside_the_bounds_has_no_row(path: Path) -> None:
    for sql in ("density_at('income', 21)", "density_at('income', -1)", "share_between('income', 20, 30)"):
        assert query(path, f"from {sql}").empty
    assert query(path, "from share_between('nothing', 0, 1)").empty


def test_bounds_in_the_wrong_order_are_one_line(path: Path) -> None:
    with pytest.raises(WarehouseError, match=r"share_between\(attribute, a, b\) needs a <= b") as caught:
        query(path, "from share_between('income', 2, 1)")
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_macros_agree_with_what_landed(landed: Path) -> None:
    share = query(landed, "from share_between('income', 100000, 250000) where given = ''")
    number = query(
        landed, "from latest_functionals where functional = 'probability(100000, 250000)' and given = '' order by round"
    )
    assert share["share"].to_numpy() == pytest.approx(number["plug_in"].to_numpy(), abs=2e-3)
    truth = query(
        landed,
        "select avg(value) as v from truths where quantity = 'density' and attribute = 'expenditure' and x = 10000",
    )["v"][0]
    found = query(landed, "from density_at('expenditure', 10000)")
    assert ((found["density"] - truth).abs() < 1.5 * (found["high"] - found["low"])).all()


def numbers(estimate: float, error: float, **changes: object) -> dict[str, pd.DataFrame]:
    row = {
        "attribute": "income",
        "estimator": "log_spline",
        "given": "",
        "functional": "mean",
        "kind": "linear",
        "estimate": estimate,
        "plug_in": estimate,
        "standard_error": error,
        "confidence": 0.95,
        "low": estimate - scipy.stats.norm.ppf(0.975) * error,
        "high": estimate + scipy.stats.norm.ppf(0.975) * error,
        "reason": None,
    }
    return {"functionals": pd.DataFrame([row | changes])}


POOLED = "from pooled_estimates where number = 'mean' order by scheme_digest, source"


def test_rounds_are_pooled_by_inverse_variance(fresh: Path) -> None:
    for round_, estimate, error in (("r1", 10.0, 1.0), ("r2", 12.0, 2.0), ("r3", 11.0, 0.5)):
        land(fresh, landing(a_run(round_, "x"), numbers(estimate, error)))
    land(fresh, landing(a_run("r4", "x", scheme_digest="cd"), numbers(99.0, 1.0)))
    land(fresh, landing(a_run("r5", "x", source="reports"), numbers(55.0, 1.0)))
    land(fresh, landing(a_run("r6", "x"), numbers(1.0, 1.0, standard_error=None)))
    pooled, other, changed = query(fresh, POOLED).to_dict("records")
    weights = np.array([1, 1 / 4, 4])
    estimates = np.array([10.0, 12.0, 11.0])
    mean, error = np.average(estimates, weights=weights), 1 / np.sqrt(weights.sum())
    assert (pooled["rounds"], pooled["first_round"], pooled["last_round"]) == (3, "r1", "r3")
    assert pooled["estimate"] == pytest.approx(mean)
    assert pooled["standard_error"] == pytest.approx(error)
    assert pooled["low"] == pytest.approx(mean - scipy.stats.norm.ppf(0.975) * error, abs=5e-4 * error)
    assert pooled["high"] == pytest.approx(mean + scipy.stats.norm.ppf(0.975) * error, abs=5e-4 * error)
    assert pooled["disagreement"] == pytest.approx((weights * (estimates - mean) ** 2).sum() / 2)
    assert (other["rounds"], other["estimate"], changed["rounds"], changed["estimate"]) == (1, 55.0, 1, 99.0)
    assert other["disagreement"] is None or np.isnan(other["disagreement"])


@pytest.mark.parametrize(
    "confidence", [0.5, *(pytest.param(each, marks=pytest.mark.slow) for each in (0.8, 0.9, 0.95, 0.99)), 0.999]
)
def test_the_normal_quantile_is_right_at_any_confidence(fresh: Path, confidence: float) -> None:
    z = scipy.stats.norm.ppf((1 + confidence) / 2)
    for round_ in ("r1", "r2"):
        land(
            fresh,
            landing(a_run(round_, "x"), numbers(10.0, 1.0, confidence=confidence, low=10 - z, high=10 + z)),
        )
    (row,) = query(fresh, POOLED).to_dict("records")
    assert row["high"] - row["estimate"] == pytest.approx(z / np.sqrt(2), abs=1e-3)


@pytest.mark.slow
def test_what_intervals_allow_for_bias_does_not_shrink(fresh: Path) -> None:
    for round_ in ("r1", "r2", "r3", "r4"):
        land(fresh, landing(a_run(round_, "x"), numbers(10.0, 1.0, low=5.0)))
    (row,) = query(fresh, POOLED).to_dict("records")
    z = scipy.stats.norm.ppf(0.975)
    assert row["low"] == pytest.approx(10 - z / 2 - (5 - z), abs=1e-3)
    assert row["high"] == pytest.approx(10 + z / 2, abs=1e-3)


@pytest.mark.slow
def test_a_pooled_share_stays_one(fresh: Path) -> None:
    for round_ in ("r1", "r2"):
        land(fresh, landing(a_run(round_, "x"), numbers(0.001, 0.01, low=0.0)))
    (row,) = query(fresh, POOLED).to_dict("records")
    assert row["low"] == 0


@pytest.mark.slow
def test_simulated_rounds_of_one_seed_count_once(fresh: Path) -> None:
    for round_, seed in (("r1", 7), ("r2", 7), ("r3", 8)):
        made = a_run(round_, str(seed), source="simulated", randomness="seeded", seed=seed)
        land(fresh, landing(made, numbers(10.0 + seed, 1.0)))
    (row,) = query(fresh, POOLED).to_dict("records")
    assert (row["rounds"], row["estimate"]) == (2, 17.5)


def test_any_client_reads_the_macros_from_the_file(path: Path, tmp_path: Path) -> None:
    """Nothing of this package is needed to ask them."""
    import duckdb

    with duckdb.connect(shutil.copy(path, tmp_path / "w.duckdb"), read_only=True) as connection:
        (count,) = connection.execute("select count(*) from density_at('income', 5)").fetchall()[0]
    assert count == 4


@pytest.mark.slow
def test_shares_are_pooled_before_they_are_projected(fresh: Path) -> None:
    for round_, raw in (("r1", -0.01), ("r2", 0.03)):
        row = {"attribute": "race", "estimator": "frequency", "given": "", "category": "a", "estimate": max(raw, 0.0)}
        row |= {"standard_error": 0.02, "confidence": 0.95, "low": 0.0, "high": raw + 0.04, "raw": raw}
        land(fresh, landing(a_run(round_, "x"), {"frequencies": pd.DataFrame([row])}))
    (found,) = query(fresh, "from pooled_estimates where number = 'frequency(a)'").to_dict("records")
    assert found["estimate"] == pytest.approx(0.01)
    assert (found["low"], found["rounds"]) == (0.0, 2)
