"""Asking the warehouse: what a query accepts, what its frame looks like, and exports."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pyarrow.parquet
import pytest

from dpcore.errors import WarehouseError
from dpcore.results.warehouse import Landing, RunRow, export, land, query, run_id
from dpcore.results.warehouse.landing.counted_and_charged import counted_since
from dpcore.results.warehouse.queries import counting
from tests.results.test_warehouse_macros import a_run, landing

START = datetime(2026, 11, 20, 6, 30, tzinfo=UTC)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    warehouse = tmp_path_factory.mktemp("queries") / "warehouse.duckdb"
    run = RunRow(
        run_id=run_id("ab", "2026-11-20", 7),
        scheme="people",
        scheme_digest="ab",
        round="2026-11-20",
        source="simulated",
        randomness="seeded",
        seed=7,
        accepted=10,
        rejected=0,
        started_at=START,
        finished_at=START + timedelta(seconds=90),
        version="0.1.0",
    )
    counts = pd.DataFrame(
        {
            "attribute": "race",
            "given": "",
            "statistic": "count",
            "level": 0,
            "cell": range(3),
            "value": [3, 2, 2**53 + 1],
        }
    )
    land(warehouse, Landing(run, {"aggregates": counts}))
    return warehouse


@pytest.mark.parametrize(
    "sql",
    [
        "select 1 as a",
        "SELECT 1 AS a;",
        "-- a remark\nselect 1 as a -- another",
        "from runs",
        "with a as (select 1) from a",
        "values (1)",
        "table runs",
        "(select 1)",
        "describe runs",
        "show tables",
        "summarize runs",
        "explain select 1",
        "pivot aggregates on cell using sum(value)",
        "select 1 union all select 2",
    ],
)
def test_statements_that_read_are_answered(path, sql):
    assert len(query(path, sql)) >= 1


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("", "one statement, got 0"),
        ("-- nothing", "one statement, got 0"),
        ("select 1; select 2", "one statement, got 2"),
        ("select 1; drop table runs", "one statement, got 2"),
        ("drop table runs", "needs a read-only statement .* got DROP"),
        ("delete from runs", "got DELETE"),
        ("insert into runs select * from runs", "got INSERT"),
        ("with a as (select 1) delete from runs", "got DELETE"),
        ("copy runs to 'runs.csv'", "got COPY"),
        ("attach 'other.duckdb'", "got ATTACH"),
        ("set threads = 1", "got SET"),
        ("call pragma_version()", "got CALL"),
        ("selec 1", "syntax error"),
        ("select nothing from runs", "Binder Error"),
        ("from nowhere", "Catalog Error"),
        ("select 'x'::integer", "Conversion Error"),
        ("from read_text('/etc/hostname')", "Permission Error"),
        ("from '/etc/hostname'", "Error"),
    ],
)
def test_everything_else_is_refused_in_one_line(path, sql, message):
    with pytest.raises(WarehouseError, match=message) as caught:
        query(path, sql)
    assert "\n" not in str(caught.value)
    assert len(query(path, "from runs")) == 1


def test_sums_of_integers_stay_exact_integers(path):
    frame = query(path, "select sum(value) as total, count(*) as cells from aggregates")
    assert frame.to_dict("records") == [{"total": 2**53 + 6, "cells": 3}]
    assert frame.dtypes.tolist() == ["int64", "int64"]


def test_an_integer_beyond_64_bits_is_still_exact(path):
    assert query(path, "select 9223372036854775808::hugeint as a")["a"][0] == 2**63


def test_times_are_utc_and_differences_are_timedeltas(path):
    frame = query(path, "select started_at, finished_at - started_at as took, null::interval as none from runs")
    assert frame["started_at"][0] == pd.Timestamp("2026-11-20 06:30:00")
    assert frame["took"][0] == pd.Timedelta(seconds=90)
    assert frame["none"].isna().all()


def test_an_empty_answer_keeps_its_columns(path):
    frame = query(path, "select run_id, clients from runs where false")
    assert list(frame.columns) == ["run_id", "clients"]
    assert frame.empty


def test_a_query_of_a_missing_warehouse_says_what_to_do(tmp_path):
    with pytest.raises(WarehouseError, match="run `ldpflow run` first"):
        query(tmp_path / "none.duckdb", "from runs")


def test_exports_hold_the_table_in_order_and_are_the_same_twice(path, tmp_path):
    for name in ("aggregates", "latest_aggregates"):
        export(path, name, tmp_path / "a.parquet")
        table = pyarrow.parquet.read_table(tmp_path / "a.parquet")
        assert table.column("value").to_pylist() == [3, 2, 2**53 + 1]
        first = (tmp_path / "a.parquet").read_bytes()
        export(path, name, tmp_path / "a.parquet")
        assert (tmp_path / "a.parquet").read_bytes() == first
    export(path, "runs", tmp_path / "runs.csv")
    frame = pd.read_csv(tmp_path / "runs.csv")
    assert frame.loc[0, ["scheme", "seed", "state"]].tolist() == ["people", 7, "landed"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.parquet", "runs.csv"]


@pytest.mark.parametrize(
    ("table", "file", "message"),
    [
        ("runs", "runs.xlsx", r"needs a \.parquet or \.csv file"),
        ("runs", "runs", r"needs a \.parquet or \.csv file"),
        ("nothing", "a.csv", "no table 'nothing'; it has accuracy_cells"),
        ('runs"; drop table runs; --', "a.csv", "no table"),
        ("runs", "host=db password=hunter2", r"postgresql:// URL$"),
        ("runs", "no/such/folder/a.csv", "cannot be written"),
        ("runs", "no/such/folder/a.parquet", "cannot be written"),
    ],
)
def test_impossible_exports_are_refused(path, tmp_path, table, file, message):
    with pytest.raises(WarehouseError, match=message):
        export(path, table, tmp_path / file)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_export_leaves_the_old_file(path, tmp_path, monkeypatch):
    (tmp_path / "runs.csv").write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyarrow.csv.write_csv", fail)
    with pytest.raises(WarehouseError, match="No space left"):
        export(path, "runs", tmp_path / "runs.csv")
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]


def test_when_files_were_counted_is_told_in_utc(fresh):
    batches = pd.DataFrame({"file": ["e" * 64], "sent_for": "", "reports": 10})
    land(fresh, landing(a_run("r1", "x", source="reports"), {"batches": batches}))
    times = counted_since(fresh)
    assert times == {"e" * 64: START + timedelta(seconds=90)}
    assert {time.tzinfo for time in times.values()} == {UTC}


def test_groups_of_a_files_rows_are_counted_by_the_first_of_a_list(tmp_path: Path) -> None:
    rows = {"cell": [1, 1, 2, 2], "noise_values": [[5, 1], [5, 2], [5, 3], [6, 3]]}
    pd.DataFrame(rows).to_parquet(tmp_path / "rows.parquet")
    with counting() as count_by:
        assert count_by(tmp_path / "rows.parquet", ["cell"]) == 2
        assert count_by(tmp_path / "rows.parquet", ["cell", "noise_values"]) == 3
