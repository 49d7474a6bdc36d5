"""Tables in a PostgreSQL of somebody's own: what was exported is there, and what is not ours is left alone."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import asyncpg
import duckdb
import numpy as np
import pyarrow as pa
import pytest

from dpcore.errors import WarehouseError
from dpcore.results import warehouse
from dpcore.results.warehouse.postgresql import export_to_postgresql
from dpcore.results.warehouse.queries import whole_table
from tests.flows import postgresql

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster() -> Iterator[postgresql.Cluster]:
    with postgresql.cluster() as cluster:
        yield cluster


@pytest.fixture
def url(cluster: postgresql.Cluster) -> str:
    return cluster.new_database().replace("+asyncpg", "")


def ask(url: str, sql: str) -> list[tuple[Any, ...]]:
    async def rows() -> list[Any]:
        connection = await asyncpg.connect(url)
        try:
            return [tuple(row) for row in await connection.fetch(sql)]
        finally:
            await connection.close()

    return asyncio.run(rows())


def tell(url: str, sql: str) -> None:
    ask(url, sql)


def types(url: str, table: str) -> dict[str, str]:
    return dict(ask(url, f"select column_name, data_type from information_schema.columns where table_name = '{table}'"))


def as_postgresql_has_it(content: pa.Table) -> list[tuple[Any, ...]]:
    """The rows, times in UTC, in an order that nothing depends on."""
    columns = [column.to_pylist() for column in content.columns]
    columns = [[v.replace(tzinfo=UTC) if hasattr(v, "tzinfo") else v for v in column] for column in columns]
    return sorted(zip(*columns, strict=True), key=repr)


def test_every_table_and_view_is_there_value_by_value(landed: Path, url: str) -> None:
    names = warehouse.query(landed, "show tables")["name"]
    for name in names:
        content = whole_table(landed, name)
        rows, database = export_to_postgresql(landed, name, url)
        assert (rows, database) == (content.num_rows, url.partition("?")[0].rpartition("/")[2])
        columns = ", ".join(f'"{column}"' for column in content.column_names)
        assert sorted(ask(url, f'select {columns} from "{name}"'), key=repr) == as_postgresql_has_it(content), name
    assert types(url, "latest_runs")["started_at"] == "timestamp with time zone"
    assert types(url, "latest_aggregates")["value"] == "bigint"
    assert types(url, "latest_estimates")["estimate"] == "double precision"
    assert types(url, "study_sums")["repetitions"] == "numeric"


@pytest.fixture
def odd(landed: Path, tmp_path: Path) -> Path:
    """A warehouse with a table of values that are easily lost."""
    file = tmp_path / "w.duckdb"
    file.write_bytes(landed.read_bytes())
    with duckdb.connect(str(file)) as connection:
        connection.execute(
            """create table "odd One" as select * from (values
                (9007199254740993, 'x'::text, timestamp '2026-03-29 02:30:00.123456', 'nan'::double, true, 1::hugeint << 100),
                (null, '', null, '-inf'::double, null, null),
                (-1, 'a	b\\N "', timestamp '1969-12-31 23:59:59', 4.9e-324, false, 0::hugeint)
            ) t("Big", "text", "at", "real", yes, huge)"""
        )
    return file


def test_no_digit_time_or_null_is_lost(odd: Path, url: str) -> None:
    url += "&timezone=America/New_York"
    assert export_to_postgresql(odd, "odd One", url)[0] == 3
    rows = ask(url, 'select * from "odd One"')
    expected = as_postgresql_has_it(whole_table(odd, "odd One"))
    assert sorted(map(repr, rows)) == sorted(map(repr, expected))
    ((at,),) = ask(url, """select "at" from "odd One" where "Big" > 1""")
    assert at.astimezone(UTC).isoformat() == "2026-03-29T02:30:00.123456+00:00"
    assert sum(np.isnan(row[3]) for row in rows) == 1


def test_an_export_replaces_the_last_and_keeps_views_and_rights(landed: Path, url: str) -> None:
    export_to_postgresql(landed, "runs", url)
    tell(url, "create view mine as select count(*) as n from runs")
    tell(url, "create role analyst_1")
    tell(url, "grant select on runs to analyst_1")
    export_to_postgresql(landed, "runs", url)
    assert ask(url, "select n from mine") == [(whole_table(landed, "runs").num_rows,)]
    assert ask(url, "select has_table_privilege('analyst_1', 'runs', 'select')") == [(True,)]
    tell(url, "drop view mine")
    tell(url, "alter table runs add column more integer")  # as a newer ldpflow's table would differ
    export_to_postgresql(landed, "runs", url)
    assert "more" not in types(url, "runs")


def test_what_fails_leaves_what_was_there(landed: Path, url: str) -> None:
    export_to_postgresql(landed, "runs", url)
    tell(url, "update runs set scheme = 'before'")
    tell(url, "alter table runs add constraint refuses check (scheme = 'before')")
    with pytest.raises(
        WarehouseError, match=r'^PostgreSQL: rejected the export, nothing was changed: .*"refuses"[^\n]*$'
    ):
        export_to_postgresql(landed, "runs", url)
    assert {scheme for (scheme,) in ask(url, "select scheme from runs")} == {"before"}


@pytest.mark.parametrize("what", ["create table runs (x integer)", "create view runs as select 1 as x"])
def test_what_no_export_made_is_left_alone(landed: Path, url: str, what: str) -> None:
    tell(url, what)
    with pytest.raises(WarehouseError, match=r'^"public"\."runs": exists and is not from an export; rename it'):
        export_to_postgresql(landed, "runs", url)
    tell(url, "create schema analytics")
    export_to_postgresql(landed, "runs", f"{url}&search_path=analytics")
    assert ask(url, "select count(*) from analytics.runs")[0][0] == whole_table(landed, "runs").num_rows


def test_exports_at_once_leave_one_of_them(landed: Path, url: str) -> None:
    words = [sys.executable, "-m", "dpcore.cli", "export", "runs", url, "--warehouse", str(landed)]
    children = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    rows = whole_table(landed, "runs").num_rows
    for child in children:
        assert child.communicate()[0].startswith(f"wrote {rows} rows of runs into PostgreSQL's prefect_")
        assert child.returncode == 0
    assert ask(url, "select count(*) from runs") == [(rows,)]


SECRET = "hunter2"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (f"postgresql://me:{SECRET}@127.0.0.1:1/db", "no connection .*; check the host and port of the URL"),
        (
            f"postgresql://me:{SECRET}@nowhere.invalid/db",
            "no connection .unknown host name.; check the host and port of the URL",
        ),
        (f"postgresql://me:{SECRET}/1@127.0.0.1/db", "not a valid URL; use postgresql://USER@HOST"),
        (
            f"postgresql+psycopg://me:{SECRET}@127.0.0.1/db",
            "not a valid URL; use postgresql://USER@HOST",
        ),
        (f"mysql://me:{SECRET}@127.0.0.1/db", "not a valid URL; use postgresql://USER@HOST"),
    ],
)
def test_a_url_that_leads_nowhere_is_refused_without_its_password(landed: Path, wrong: str, words: str) -> None:
    command = [sys.executable, "-m", "dpcore.cli", "export", "runs", wrong, "--warehouse", str(landed)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert SECRET not in done.stdout + done.stderr
    with pytest.raises(WarehouseError, match=words):
        export_to_postgresql(landed, "runs", wrong)


def test_who_may_not_enter_or_write_is_told(landed: Path, cluster: postgresql.Cluster, url: str) -> None:
    tell(url, f"create role guest login password '{SECRET}'")
    theirs = url.replace("prefect@", f"guest:{SECRET}@")
    with pytest.raises(
        WarehouseError, match=r"^PostgreSQL: rejected the export, nothing was changed: permission denied"
    ):
        export_to_postgresql(landed, "runs", theirs)
    with pytest.raises(WarehouseError, match="does not exist") as error:
        export_to_postgresql(landed, "runs", theirs.replace("guest", "nobody"))
    assert SECRET not in str(error.value)
