"""Landing a run: all or nothing, the same twice, refused before the file is touched; and the views on what landed."""

import importlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from functools import cache

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.errors import AlreadyLanded, WarehouseError
from dpcore.results.warehouse import (
    Landing,
    RunRow,
    land,
    land_benchmarks,
    land_failure,
    open_for_reading,
    open_for_writing,
    query,
    reader,
    run_id,
)
from dpcore.results.warehouse.landing.counted_and_charged import counted_files
from dpcore.results.warehouse.views import RESULTS

START = datetime(2026, 11, 20, 6, 30, tzinfo=UTC)


def run(seed=7, **changes):
    given_ = {"scheme": "people", "scheme_digest": "ab" * 32, "round": "2026-11-20"} | changes
    values = {
        "run_id": run_id(given_["scheme_digest"], given_["round"], seed),
        "source": "simulated",
        "randomness": "seeded",
        "seed": seed,
        "clients": 1000,
        "accepted": 998,
        "rejected": 2,
        "started_at": START,
        "finished_at": START + timedelta(seconds=3),
        "version": "0.1.0",
    }
    return RunRow(**(values | given_))


@cache
def tables(shift=0.0):
    """One small frame for every table, with the nulls that are allowed."""
    who = {"attribute": "income", "estimator": "projection", "given": ""}
    return {
        "schemes": pd.DataFrame(
            {
                "description": "",
                "planned_clients": [1000],
                "reporting": "all",
                "stated": "ln 3",
                "epsilon": np.log(3),
                "delta": 0.0,
                "canonical": 'name = "people"\n',
            }
        ),
        "attributes": pd.DataFrame(
            {
                "attribute": ["income", "race"],
                "position": [0, 1],
                "type": ["numeric", "categorical"],
                "unit": ["USD", ""],
                "lower": [0.0, np.nan],
                "upper": [20.0, np.nan],
            }
        ),
        "categories": pd.DataFrame(
            {"attribute": "race", "category": ["white", "black"], "position": [0, 1], "value": [None, 1.0]}
        ),
        "labels": pd.DataFrame(
            {
                "label": "region",
                "category": ["north", "south"],
                "position": [0, 1],
                "reports": [600, None],
                "population": [0.5, None],
            }
        ).astype({"reports": "Int64"}),
        "weights": pd.DataFrame(
            {
                "attribute": ["race"],
                "labels": ["region"],
                "reports": [600],
                "effective_n": [500.5],
                "design_effect": [600 / 500.5],
            }
        ),
        "joint": pd.DataFrame(
            {
                "first": "income",
                "second": "race",
                "first_part": ["0 to 50000", "50000 to 100000"],
                "second_part": "white",
                "first_position": [0, 1],
                "second_position": 0,
                "share": [0.75, 0.25],
                "estimate": [0.7, -0.01],
                "standard_error": 0.1,
                "confidence": 0.95,
                "low": [0.5, 0.0],
                "high": [0.9, 0.25],
            }
        ),
        "regressions": pd.DataFrame(
            {
                "regression": "hours",
                "formula": "income ~ region",
                "quantity": ["coefficient", "fit", "none"],
                "category": "",
                "term": ["region = south", "", ""],
                "kind": ["linear", "linear", None],
                "reference": ["", "", None],
                "reports": pd.array([600, 600, None], dtype="Int64"),
                "estimate": [-3.5, None, None],
                "standard_error": [1.25, None, None],
                "confidence": [0.95, None, None],
                "low": [-6.0, None, None],
                "high": [-1.0, None, None],
                "statistic": [None, 2.5, None],
                "degrees": pd.array([None, 2, None], dtype="Int64"),
                "p_value": [0.005, 0.3, None],
                "reason": [None, None, "too few reports"],
            }
        ),
        "associations": pd.DataFrame(
            {
                "first": "income",
                "second": "race",
                "functional": ["conditional_mean(white)", "equal_means", "independence"],
                "kind": ["distribution_free", "test", "test"],
                "first_part": "",
                "second_part": ["white", "", ""],
                "estimate": [50_000.5, None, None],
                "plug_in": [50_001.5, None, None],
                "standard_error": [10.0, None, None],
                "confidence": [0.95, None, None],
                "low": [49_900.0, None, None],
                "high": [50_100.0, None, None],
                "statistic": [None, 3.5, None],
                "degrees": [None, 2, None],
                "p_value": [None, 0.17, None],
                "reason": [None, None, "too few"],
            }
        ).astype({"degrees": "Int64"}),
        "aggregates": pd.DataFrame(
            {
                "attribute": "race",
                "given": "",
                "statistic": "count",
                "level": 0,
                "cell": [0, 1, 2],
                "value": [600, 300, 2**62],
            }
        ),
        "frequencies": pd.DataFrame(
            {
                **(who | {"attribute": "race", "estimator": "frequency"}),
                "category": ["white", "black"],
                "estimate": [0.7 + shift, 0.3 - shift],
                "standard_error": [0.01, 0.01],
                "confidence": 0.95,
                "low": [0.68 + shift, 0.28 - shift],
                "high": [0.72 + shift, 0.32 - shift],
                "raw": [0.71 + shift, 0.3 - shift],
            }
        ),
        "densities": pd.DataFrame(
            {
                **who,
                "x": [0.0, 10.0, 20.0],
                "density": [0.02, 0.05, 0.03],
                "low": [0.01, 0.04, np.nan],
                "high": [0.03, 0.06, np.nan],
                "cdf": [0.0, 0.5, 1.0],
                "cdf_low": [0.0, 0.4, 1.0],
                "cdf_high": [0.0, 0.6, 1.0],
                "confidence": 0.95,
            }
        ),
        "functionals": pd.DataFrame(
            {
                **who,
                "functional": ["mean", "entropy"],
                "kind": "smooth",
                "estimate": [11.0 + shift, np.nan],
                "plug_in": [11.1, 2.9],
                "standard_error": [0.5, np.nan],
                "confidence": 0.95,
                "low": [10.0 + shift, np.nan],
                "high": [12.0 + shift, np.nan],
                "reason": [None, "too few reports; ten times as many would do"],
            }
        ),
        "sensitivities": pd.DataFrame(
            {
                "attribute": ["income"],
                "estimator": ["projection"],
                "given": [""],
                "number": ["mean"],
                "sensitivity": [2.5],
                "is_exact": [False],
            }
        ),
        "levels": pd.DataFrame(
            {
                "attribute": "income",
                "given": "",
                "level": [3, 4],
                "statistic": [0.1, None],
                "threshold": [0.2, None],
                "selected": [True, False],
            }
        ),
        "budgets": pd.DataFrame(
            {
                "attribute": ["income"],
                "mechanism": ["wavelet_laplace"],
                "stated": ["ln 3"],
                "epsilon": [np.log(3)],
                "delta": [0.0],
                "certificate": ["3/1"],
                "charges": [1],
                "states": [4096],
                "known_charges": [None],
                "known_clients": [None],
                "most_charges": [None],
            }
        ),
        "rejects": pd.DataFrame({"reason": ["another scheme"], "count": [2], "example_position": [17]}),
        "batches": pd.DataFrame({"file": ["e" * 64], "sent_for": ["2026-11-19"], "reports": [1002]}),
        "truths": pd.DataFrame(
            {
                "attribute": ["income", "income", "income", "race"],
                "given": "",
                "quantity": ["mean", "density", "density", "frequency(white)"],
                "x": [None, 0.0, 10.0, None],
                "value": [11.5, 0.02, 0.05, 0.6],
            }
        ),
        "checks": pd.DataFrame(
            {
                "name": ["conservation", "secure_randomness"],
                "passed": [True, False],
                "observed": [1000.0, None],
                "threshold": [1000.0, None],
                "detail": [None, "a seed was given"],
            }
        ),
        "comparisons": pd.DataFrame(
            {
                "other_run_id": ["f" * 16],
                "attribute": ["income"],
                "given": [""],
                "other_given": [""],
                "functional": ["mean"],
                "difference": [0.3],
                "standard_error": [0.7],
                "correlation": [0.0],
                "confidence": [0.95],
                "low": [-1.0],
                "high": [1.6],
                "deviations": [0.45],
                "threshold": [2.6],
                "differs": [False],
                "reason": [None],
            }
        ),
        "experiments": pd.DataFrame(
            {
                "label": "variant",
                "arm": "new",
                "control": "old",
                "attribute": "income",
                "functional": ["mean", "quantile(0.5)"],
                "difference": [1.5, None],
                "standard_error": [0.5, None],
                "low": [0.5, None],
                "high": [2.5, None],
                "confidence": 0.95,
                "p_value": [0.003, None],
                "adjusted_p_value": [0.003, None],
                "outcomes": 1,
                "ratio": [1.125, None],
                "ratio_low": [1.0, None],
                "ratio_high": [1.25, None],
                "reason": [None, "new: too few reports"],
            }
        ),
        "smoothed": pd.DataFrame(
            {
                "attribute": "income",
                "given": "",
                "number": ["mean", "quantile(0.5)"],
                "smoothed": 11.2,
                "smoothed_error": 0.5,
                "smoothed_low": 10.2,
                "smoothed_high": 12.2,
                "filtered": [11.4, None],
                "filtered_low": [10.0, None],
                "filtered_high": [12.8, None],
                "forecast": [11.4, None],
                "forecast_low": [9.0, None],
                "forecast_high": [13.8, None],
                "shift": [0.25, None],
                "shift_error": [0.75, None],
                "shift_p_value": [1.0, None],
                "shifted": pd.array([False, None], dtype="boolean"),
            }
        ),
        "figures": pd.DataFrame({"name": ["income"], "path": ["data/var/figures/income.png"]}),
    }


def some(*names):
    """The frames of these tables."""
    return {name: tables()[name] for name in names}


def content(path):
    """Everything in the warehouse but the ledger: table -> rows, in order."""
    with open_for_reading(path) as connection:
        return {
            table: connection.execute(f"from {table} order by all").fetchall()
            for table in ("runs", "benchmarks", *RESULTS)
        }


@pytest.fixture
def path(fresh):
    return fresh


def test_every_row_lands_with_its_run_and_its_exact_value(path):
    landing = Landing(run(), tables())
    land(path, landing)
    rows = content(path)
    assert {table: len(rows[table]) for table in RESULTS} == {t: len(f) for t, f in landing.tables.items()}
    assert all(row[0] == landing.run.run_id for table in RESULTS for row in rows[table])
    assert rows["aggregates"][2][-1] == 2**62  # beyond what a float can hold
    assert rows["densities"][2][6:8] == (None, None)  # NaN is null, not a number
    (landed,) = rows["runs"]
    assert landed[:6] == (landing.run.run_id, "people", "ab" * 32, "2026-11-20", "simulated", 1000)
    assert landed[10:13] == ("landed", datetime(2026, 11, 20, 6, 30), datetime(2026, 11, 20, 6, 30, 3))


def test_a_column_that_has_a_default_may_be_left_out(path):
    land(path, Landing(run(), drop("densities", "given")))
    assert query(path, "select distinct given from densities")["given"].tolist() == [""]


def test_landing_twice_changes_nothing(path):
    for identity in (run(flow_run_id="first"), run(seed=8)):
        land(path, Landing(identity, tables(), again=True))
    before = content(path)
    for identity in (
        run(flow_run_id="first"),
        run(seed=8),
    ):  # Prefect's retry of what was replaced; what stands, by whomever
        land(path, Landing(identity, tables(), again=identity.flow_run_id is not None))
    assert content(path) == before
    with pytest.raises(AlreadyLanded, match="already landed"):
        land(path, Landing(run(flow_run_id="another"), tables()))


def test_a_file_of_reports_lands_in_one_round_alone(path):
    others = {"source": "reports", "randomness": "secure", "seed": None}
    counting = some("schemes", "budgets", "batches")
    land(path, Landing(run(**others), counting))
    before = content(path)
    with pytest.raises(WarehouseError, match="files already counted: 1 of its files of reports in round 2026-11-20"):
        land(path, Landing(run(round="2026-11-21", **others), counting))
    assert content(path) == before


def test_files_that_a_replaced_run_counted_stay_counted(path):
    own = {"source": "reports", "randomness": "secure", "seed": None}
    records, counting = some("schemes", "budgets"), some("schemes", "budgets", "batches")
    land(path, Landing(run(**own), counting))
    land(path, Landing(run(run_id="8" * 16, **own | {"source": "records"}), records, again=True))
    assert counted_files(path, "ab" * 32) == {"e" * 64: "2026-11-20"}
    with pytest.raises(WarehouseError, match="files already counted: 1 of its files of reports in round 2026-11-20"):
        land(path, Landing(run(round="2026-11-21", **own), counting))


def test_landing_again_replaces_rows_even_of_tables_it_no_longer_has(path):
    land(path, Landing(run(flow_run_id="first"), tables()))
    land(path, Landing(run(seed=8), tables(), again=True))
    land(path, Landing(run(flow_run_id="first"), {"checks": tables()["checks"].iloc[:1]}))
    mine = {table: [row for row in rows if row[0] == run().run_id] for table, rows in content(path).items()}
    others = {table: [row for row in rows if row[0] == run(seed=8).run_id] for table, rows in content(path).items()}
    assert {table for table, rows in mine.items() if rows} == {"runs", "checks"}
    assert len(mine["checks"]) == 1
    assert all(others[table] for table in RESULTS)


def test_an_interruption_in_mid_transaction_leaves_the_file_as_it_was(path, monkeypatch):
    land(path, Landing(run(), tables()))
    before = content(path)
    inserted = []

    def insert(connection, table, rows):
        real(connection, table, rows)
        inserted.append(table)
        if len(inserted) > 12 + 5:  # the rehearsal inserts 12 tables; this is the sixth of the file
            raise KeyboardInterrupt

    module = importlib.import_module("dpcore.results.warehouse.landing.landing")
    real = module._insert
    monkeypatch.setattr(module, "_insert", insert)
    for identity in (run(), run(seed=8)):
        inserted.clear()
        with pytest.raises(KeyboardInterrupt):
            land(path, Landing(identity, tables(shift=0.1), again=True))
    monkeypatch.undo()
    assert content(path) == before


def drop(table, column):
    return {table: tables()[table].drop(columns=column)}


def change(table, **columns):
    return {table: tables()[table].assign(**columns)}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"records": pd.DataFrame({"income": [1]})}, "table 'records': unknown"),
        ({"runs": pd.DataFrame()}, "table 'runs': unknown"),
        (change("checks", colour="red"), "checks: no column colour"),
        (drop("functionals", "reason"), "functionals: missing column reason"),
        (change("densities", density=[0.1, np.nan, 0.1]), "densities.density: must not be null, got 1 nulls"),
        (change("densities", x=["a", "b", "c"]), "densities.x: needs numbers"),
        (change("aggregates", value=[1.5, 2.0, 3.0]), "aggregates.value: needs integers"),
        (change("aggregates", value=[1, 2, 2**63]), "aggregates.value: needs integers"),
        (change("aggregates", value=[True, False, True]), "aggregates.value: needs integers"),
        (change("rejects", reason=[5]), "rejects.reason: needs text"),
        (change("checks", passed=["yes", "no"]), "checks.passed: needs true or false"),
        (change("checks", run_id="0" * 16), "checks: has rows of another run"),
        (change("checks", run_id=[run().run_id, "0" * 16]), "checks: has rows of another run"),
        (change("checks", run_id=None), "checks: has rows of another run"),
        (change("checks", name="twice"), "checks: Constraint Error: .*duplicate key .*, twice"),
        (change("truths", quantity="mean", x=None), "truths: Constraint Error: .*duplicate key .*, mean, None"),
        (change("truths", x=[1.0, 0.0, 10.0, None]), "truths: Constraint Error: CHECK"),
        (change("frequencies", low=0.9), "frequencies: Constraint Error: CHECK"),
        (change("functionals", confidence=95.0), "functionals: Constraint Error: CHECK"),
        (change("functionals", reason=None), "functionals: Constraint Error: CHECK"),
        (change("rejects", count=0), "rejects: Constraint Error: CHECK"),
        ({"checks": pd.concat([tables()["checks"], tables()["checks"][["name"]]], axis=1)}, "column name occurs twice"),
    ],
)
def test_what_does_not_fit_is_refused_before_the_file_is_touched(tmp_path, bad, message):
    path = tmp_path / "warehouse.duckdb"
    with pytest.raises(WarehouseError, match=message) as caught:
        land(path, Landing(run(), bad))
    assert "\n" not in str(caught.value)
    assert not path.exists()


@pytest.mark.parametrize(
    "bad",
    [
        {"source": "records"},  # a seed beside records would give the records away
        {"source": "reports"},
        {"randomness": "secure"},
        {"source": "guesses"},
        {"run_id": "XYZ"},
        {"accepted": None},
        {"finished_at": None},
        {"clients": -1},
        {"clients": "many"},
        {"seed": 2**63},
        {"started_at": datetime(2026, 11, 20)},
        {"finished_at": START - timedelta(seconds=1)},
    ],
)
def test_an_impossible_run_is_refused_before_the_file_is_touched(tmp_path, bad):
    path = tmp_path / "warehouse.duckdb"
    with pytest.raises(WarehouseError) as caught:
        land(path, Landing(replace(run(), **bad)))
    assert "\n" not in str(caught.value)
    assert not path.exists()


def test_times_of_any_zone_land_as_utc(path):
    nepal = timezone(timedelta(hours=5, minutes=45))
    land(path, Landing(replace(run(), started_at=START.astimezone(nepal))))
    assert content(path)["runs"][0][11] == datetime(2026, 11, 20, 6, 30)


def test_a_failure_is_one_row_and_never_hides_what_landed(path):
    failed = replace(run(), accepted=None, rejected=None, finished_at=None)
    land_failure(path, failed)
    land_failure(path, failed)
    assert [row[10] for row in content(path)["runs"]] == ["failed"]
    assert query(path, "from latest_runs").empty

    land(path, Landing(run(), some("checks", "rejects")))
    before = content(path)
    assert [row[10] for row in before["runs"]] == ["landed"]
    land_failure(path, failed)
    assert content(path) == before


@pytest.mark.slow
def test_latest_views_show_the_run_that_stands_of_each_scheme_and_round(path):
    later = {"started_at": START + timedelta(hours=1), "finished_at": START + timedelta(hours=2)}
    land(path, Landing(run(seed=7, flow_run_id="f"), tables()))
    land(path, Landing(run(seed=8, **later), tables(shift=0.01), again=True))
    land(path, Landing(run(seed=7, flow_run_id="f"), tables()))  # a retry, which changes nothing
    land(path, Landing(run(seed=9, round="2026-11-21"), tables()))
    land(path, Landing(run(seed=10, scheme="shops"), tables()))
    land_failure(path, run(seed=11, started_at=START + timedelta(days=1), finished_at=None))
    newest = {
        ("people", "2026-11-20", run(seed=8).run_id),
        ("people", "2026-11-21", run(seed=9, round="2026-11-21").run_id),
        ("shops", "2026-11-20", run(seed=10).run_id),
    }
    landed = tables()
    with reader(path) as ask:
        for view in ("runs", *RESULTS):
            frame = ask(f"from latest_{view}")
            frame = frame[frame["name"] != "clients"] if view == "checks" else frame  # the landing's own
            assert {(row.scheme, row.round, row.run_id) for row in frame.itertuples()} == newest, view
            assert len(frame) == 3 * (1 if view == "runs" else len(landed[view])), view


def test_latest_estimates_puts_every_number_beside_its_truth(path):
    land(path, Landing(run(), some("attributes", "frequencies", "functionals", "truths")))
    frame = query(path, "from latest_estimates").set_index("number")
    assert set(frame.index) == {"mean", "entropy", "frequency(white)", "frequency(black)"}
    assert frame.loc["mean", ["estimate", "truth", "holds_truth"]].tolist() == [11.0, 11.5, True]
    assert frame.loc["frequency(white)", ["estimate", "truth", "holds_truth"]].tolist() == [0.7, 0.6, False]
    assert frame.loc["entropy", ["estimate", "truth", "holds_truth"]].isna().all()
    assert frame.loc["entropy", "reason"].startswith("too few reports")


@pytest.mark.slow
def test_interval_coverage_counts_over_all_landed_simulations(path):
    for seed, shift in enumerate([0.0, 0.4, 5.0, -0.2]):  # the truth 11.5 lies in [10, 12] + shift but for 5.0
        numbers = tables(shift)["functionals"]
        truths = tables()["truths"].replace(
            {"quantity": {"frequency(white)": "entropy"}, "attribute": {"race": "income"}}
        )
        land(path, Landing(run(seed=seed, round=f"r{seed}"), {"functionals": numbers, "truths": truths}))
    land(path, Landing(run(seed=9, round="0-trial", trial=True), {"functionals": numbers, "truths": truths}))
    frame = query(path, "select number, intervals, coverage from interval_coverage")
    assert frame.to_dict("records") == [{"number": "mean", "intervals": 4, "coverage": 0.75}]  # entropy was refused


def test_failed_checks_shows_only_those_of_the_newest_run(path):
    land(path, Landing(run(seed=7), some("checks")))
    later = run(seed=8, finished_at=START + timedelta(hours=1))
    land(path, Landing(later, {"checks": tables()["checks"].assign(passed=[False, True])}, again=True))
    assert query(path, "select run_id, name from failed_checks").values.tolist() == [[later.run_id, "conservation"]]


def benchmarks(**changes):
    values = {
        "study": "accuracy",
        "method": ["wavelet_laplace", "square_wave"],
        "parameters": "",
        "target": "bimodal",
        "clients": 10**6,
        "epsilon": [1.0, np.inf],
        "metric": "integrated squared error",
        "repetitions": 100,
        "value": [0.01, 0.02],
        "low": None,
        "high": None,
        "measured_at": START,
        "version": "0.1.0",
    }
    return pd.DataFrame(values | changes)


def test_benchmarks_land_once_per_measurement_and_the_newest_is_shown(path):
    land_benchmarks(path, benchmarks())
    land_benchmarks(path, benchmarks())
    land_benchmarks(path, benchmarks(measured_at=START + timedelta(days=1), value=[0.03, 0.04]))
    land_benchmarks(path, benchmarks(study="coverage"))
    assert len(query(path, "from benchmarks")) == 6
    newest = query(path, "select study, value from latest_benchmarks order by all").values.tolist()
    assert newest == [["accuracy", 0.03], ["accuracy", 0.04], ["coverage", 0.01], ["coverage", 0.02]]


@pytest.mark.parametrize(
    "bad", [{"measured_at": datetime(2026, 11, 20)}, {"value": None}, {"method": "same", "epsilon": 1.0}]
)
def test_bad_benchmarks_are_refused(tmp_path, bad):
    path = tmp_path / "warehouse.duckdb"
    with pytest.raises(WarehouseError):
        land_benchmarks(path, benchmarks(**bad))
    assert not path.exists()


def test_empty_frames_and_categorical_columns_land(path):
    frames = {table: frame.iloc[:0] for table, frame in tables().items()}
    frames["checks"] = tables()["checks"].astype({"name": "category"})
    land(path, Landing(run(), frames))
    assert query(path, "select name from checks order by name")["name"].tolist() == [
        "conservation",
        "secure_randomness",
    ]


def test_a_run_id_is_stable():
    """Pinned: other people's scripts compute it from its definition."""
    assert run_id("ab" * 32, "2026-11-20", 7) == "08c46f06c2f16878"


@given(st.tuples(st.text(), st.text(), st.text()), st.tuples(st.text(), st.text(), st.text()))
def test_different_parts_never_share_a_run_id(left, right):
    assert (run_id(*left) == run_id(*right)) == (left == right)
    assert len(run_id(*left)) == 16


def test_parts_that_join_to_the_same_text_differ():
    assert run_id("ab", "c", "d") != run_id("a", "bc", "d")
    assert run_id("", "ab", "") != run_id("ab", "", "")


def test_an_outsider_can_read_the_file(path):
    """Any DuckDB client will do; nothing of this package is needed."""
    land(path, Landing(run(), some("functionals")))
    with duckdb.connect(path, read_only=True) as connection:
        assert connection.execute("select estimate from latest_functionals where functional = 'mean'").fetchone() == (
            11.0,
        )


@pytest.mark.slow
def test_landing_many_runs_does_not_swell_the_file(path):
    for _ in range(3):
        land(path, Landing(run(), tables()))
    size = path.stat().st_size
    for _ in range(12):
        land(path, Landing(run(), tables()))
    assert path.stat().st_size < 2 * size


def test_a_table_written_by_hand_is_checked_by_the_file_itself(path):
    with pytest.raises(WarehouseError, match="Constraint Error"), open_for_writing(path) as connection:
        connection.execute("insert into checks values ('0123456789abcdef', 'x', null, null, null, null)")
