"""A round is forgotten on purpose: its numbers go, and what it cost, and what it counted, stays."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest

import dpcore as dp
from dpcore import wire
from dpcore.errors import AlreadyLanded, WarehouseError
from dpcore.results import warehouse
from dpcore.results.warehouse.views import RESULTS
from dpcore.rounds.maintenance import cleanup
from tests.helpers import collectors, undrawn
from tests.helpers.kept_open import kept_open

pytestmark = pytest.mark.usefixtures("light_warehouses")

TEXT = f'{collectors.COLOUR}values = [0, 1, 2.5]\nfunctionals = ["mean"]\n'
SCHEME = dp.Scheme.from_toml(TEXT)
DAYS = ("2026-11-18", "2026-11-19", "2026-11-20")
KEPT = {"schemes", "attributes", "categories", "budgets", "batches"}


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three landed rounds of reports."""
    folder = tmp_path_factory.mktemp("forgotten")
    (folder / "scheme.toml").write_text(TEXT, encoding="utf-8")
    with kept_open():
        for number, day in enumerate(DAYS):
            wire.write_reports(folder / "in" / f"{day}.parquet", SCHEME, collectors.reports(60, number, SCHEME), day)
            go(folder, day)
    return folder


@pytest.fixture
def here(landed: Path, moved: Callable[[Path], Path]) -> Path:
    """The same in a folder of the test's own."""
    return moved(landed)


def go(here: Path, day: str) -> None:
    undrawn.run(here / "scheme.toml", reports=here / "in", round_=day, data=here / "data", min_clients=0)


def results(here: Path, run: object) -> dict[str, list[list[object]]]:
    """What every table has of a run."""
    with warehouse.reader(here / "data" / "warehouse.duckdb") as ask:
        return {table: plain(ask(f"from {table} where run_id = '{run}'")) for table in RESULTS}


def rows(here: Path, sql: str) -> list[list[object]]:
    return plain(warehouse.query(here / "data" / "warehouse.duckdb", sql))


def plain(frame: pd.DataFrame) -> list[list[object]]:
    return frame.astype(object).where(frame.notna(), None).values.tolist()


SPENT = "select * exclude (run_id, source, known_clients, known_most) from composed_budgets order by all"


def test_numbers_go_and_what_was_spent_and_counted_stays(here: Path) -> None:
    spent, [[run]] = rows(here, SPENT), rows(here, f"select run_id from runs where round = '{DAYS[1]}'")
    before = results(here, run)
    assert all(before[table] for table in ("functionals", "frequencies"))
    assert rows(here, f"from comparisons where other_run_id = '{run}' and run_id <> '{run}'")
    planned = cleanup.forget(here / "data", DAYS[1], dry_run=True)
    assert {removal.kind for removal in planned} == {"run", "numbers"}
    assert rows(here, SPENT) == spent
    assert len(rows(here, "from latest_runs")) == 3
    assert cleanup.forget(here / "data", DAYS[1]) == planned
    assert results(here, run) == {table: found if table in KEPT else [] for table, found in before.items()}
    assert not rows(here, f"from comparisons where other_run_id = '{run}'")
    assert not (here / "data" / "runs" / str(run)).exists()
    assert rows(here, SPENT) == spent
    assert rows(here, "select round from latest_runs order by all") == [[DAYS[0]], [DAYS[2]]]
    assert rows(here, f"select accepted, forgotten_at is not null from runs where run_id = '{run}'") == [[60, True]]


def test_a_forgotten_round_is_over_and_its_reports_count_in_no_other(here: Path) -> None:
    cleanup.forget(here / "data", DAYS[1])
    with pytest.raises(AlreadyLanded, match="its results were deleted"):
        go(here, DAYS[1])
    again = collectors.reports(60, 1, SCHEME)  # of the round that is forgotten, in another file
    wire.write_reports(here / "in" / "again.parquet", SCHEME, again, "2026-11-21")
    wire.write_reports(here / "in" / "new.parquet", SCHEME, collectors.reports(70, 9, SCHEME), "2026-11-21")
    go(here, "2026-11-21")
    assert rows(here, "select accepted, rejected from runs where round = '2026-11-21'") == [[70, 60]]
    compared = rows(here, "select distinct other_round from latest_comparisons where round = '2026-11-21'")
    assert compared == [[DAYS[2]]]


def test_what_is_not_there_is_not_forgotten(here: Path) -> None:
    data = here / "data"
    for round_, scheme in (("2026-11-30", None), (DAYS[0], "others")):
        with pytest.raises(WarehouseError, match=f"no landed round {round_}"):
            cleanup.forget(data, round_, scheme=scheme)
    with pytest.raises(WarehouseError, match="not landed, so there is nothing"):
        warehouse.forget_round(data / "warehouse.duckdb", "colours", "2026-11-30", datetime.now(UTC))
    assert len(rows(here, "from latest_runs")) == 3


def test_numbers_are_kept_for_as_many_days_as_somebody_says(here: Path) -> None:
    data, later = here / "data", datetime.now(UTC) + timedelta(days=100)
    assert not [one for one in cleanup.clean(data, now=later, keep_days=200) if one.kind == "numbers"]
    assert not [one for one in cleanup.clean(data, now=later, keep_days=200, tables_days=101) if one.kind == "numbers"]
    gone = cleanup.clean(data, now=later, keep_days=200, tables_days=99)
    assert [(one.kind, one.round) for one in gone] == [("numbers", day) for day in DAYS]
    assert cleanup.in_words(gone, dry_run=False).startswith("deleted: 3 rounds' results")
    assert (rows(here, "from latest_runs"), rows(here, "from functionals")) == ([], [])
    assert not cleanup.clean(data, now=later, keep_days=200, tables_days=99)
