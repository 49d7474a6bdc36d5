"""What happens to rounds afterwards, each thing once: missing days, cleanup, and who comes too late; `test_rounds` has all."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from dpcore import wire
from dpcore._random import seeded
from dpcore.errors import SchemeError, WarehouseError
from dpcore.pipeline import privatize
from dpcore.protocol.scheme import Scheme
from dpcore.results import warehouse
from dpcore.rounds.maintenance import backfill
from dpcore.rounds.maintenance.backfill import rounds_of
from dpcore.rounds.maintenance.cleanup import clean, clean_folder, in_words
from dpcore.rounds.run import Run
from dpcore.rounds.steps import estimation, landing, preparation, sequence
from tests.helpers import undrawn
from tests.helpers.kept_open import kept_open
from tests.helpers.schemes import QUESTION

pytestmark = pytest.mark.usefixtures("light_warehouses")

DAYS = [date(2026, 11, day) for day in (1, 2, 3, 4)]
LANDED = datetime(2026, 11, 5, 12, tzinfo=UTC)


def sent(folder: Path, name: str, scheme: Path, sent_for: str = "") -> Path:
    """A file of 60 reports."""
    parsed = Scheme.from_toml(scheme)
    people = {"urban_rural": np.where(np.arange(60) % 3 == 0, "rural", "urban")}
    batch = privatize(parsed, people, seeded(list(name.encode())))
    wire.write_reports(folder / f"{name}.parquet", parsed, batch, sent_for)
    return folder / f"{name}.parquet"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Round 2026-11-02 of simulated people, and 2026-11-03 of reports, which have landed; 2026-11-04 is about to.

    It took the file that 2026-11-03 has counted.  A second file waits.
    """
    folder = tmp_path_factory.mktemp("afterwards")
    scheme = folder / "question.toml"
    scheme.write_text(QUESTION, encoding="utf-8")
    with kept_open():
        undrawn.run(scheme, round_="2026-11-02", data=folder)
        sent(folder / "inbox", "a", scheme)
        late = preparation.prepare(scheme, reports=folder / "inbox", round_="2026-11-04", data=folder, min_clients=0)
        sequence.collect(late, sequence.Here())
        estimation.estimate(late)
        undrawn.run(scheme, reports=folder / "inbox", round_="2026-11-03", data=folder, min_clients=0)
        sent(folder / "inbox", "b", scheme, "2026-11-05")
        with warehouse.open_for_writing(folder / "warehouse.duckdb") as connection:
            landed = LANDED.replace(tzinfo=None)  # the columns are in UTC; DuckDB would turn a zone into its own
            connection.execute("update runs set started_at = ?, finished_at = ?", [landed - timedelta(hours=1), landed])
    for plan in (folder / "runs").glob("*/plan.json"):
        told = json.loads(plan.read_text(encoding="utf-8"))
        plan.write_text(json.dumps(told | {"started_at": "2026-11-05T11:00:00+00:00"}), encoding="utf-8")
    return folder


@pytest.fixture
def copy(world: Path, moved: Callable[[Path], Path]) -> Path:
    """The same in a folder that may be spoiled."""
    return moved(world)


def test_a_backfill_finds_what_is_missing_of_its_kind(world: Path) -> None:
    scheme = Scheme.from_toml(world / "question.toml")
    file = world / "warehouse.duckdb"
    for source, again, missing in (
        ("simulated", False, [1, 4]),
        ("simulated", True, [1, 2, 4]),  # real people's round is never run with simulated ones
        ("reports", False, [1, 2, 4]),
        ("reports", True, [1, 2, 3, 4]),
    ):
        found = rounds_of(scheme, file, DAYS[0], DAYS[3], source=source, again=again)
        assert found == [f"2026-11-0{day}" for day in missing], (source, again)
    assert rounds_of(scheme, world / "none.duckdb", DAYS[0], DAYS[0]) == ["2026-11-01"]
    last = DAYS[0] + timedelta(days=backfill.MOST - 1)
    assert len(rounds_of(scheme, world / "none.duckdb", DAYS[0], last)) == backfill.MOST == 3660
    for wrong in (last + timedelta(days=1), DAYS[0] - timedelta(days=1)):
        with pytest.raises(SchemeError, match="needs 1 to 3660 days"):
            rounds_of(scheme, file, DAYS[0], wrong)


def test_a_file_that_another_round_has_counted_since_does_not_land_twice(copy: Path) -> None:
    (late,) = (run for run in map(Run.at, (copy / "runs").iterdir()) if run.plan.round == "2026-11-04")
    with pytest.raises(
        WarehouseError,
        match="files already counted: 1 of its files of reports in round 2026-11-03; run this round again",
    ):
        landing.land(late)
    landed = warehouse.query(copy / "warehouse.duckdb", 'select "round" from runs order by all')
    assert landed["round"].tolist() == ["2026-11-02", "2026-11-03"]
    assert landing.row_of(late).clients == 60
    shutil.rmtree(late.folder / "tables")
    assert landing.row_of(late).clients is None
    assert landing.row_of(late, clients=7).clients == 7


def test_a_cleanup_takes_what_landed_long_ago_and_nothing_else(copy: Path) -> None:
    now = LANDED + timedelta(days=30)
    told = {"reports": copy / "inbox", "keep_days": 30}
    (copy / "figures").mkdir(exist_ok=True)
    (drawn,) = (run for run in map(Run.at, (copy / "runs").iterdir()) if run.plan.round == "2026-11-02")
    Path(drawn.plan.figures).mkdir(parents=True)
    (Path(drawn.plan.figures) / "p.png").write_bytes(b"12345")
    with warehouse.open_for_writing(copy / "warehouse.duckdb") as connection:
        connection.execute(
            "insert into figures by name select ? as run_id, 'p' as name, 'p' as path", [drawn.plan.run_id]
        )
    partial = copy / "inbox" / ".x.9.partial"
    partial.write_bytes(b"123")
    os.utime(partial, (now.timestamp(), (now - timedelta(hours=23)).timestamp()))
    assert clean(copy, now=now, **told) == []  # of this very moment, kept so long
    now += timedelta(hours=2)
    planned = clean(copy, now=now, dry_run=True, **told)
    assert all(removal.path.exists() for removal in planned)
    assert clean(copy, now=now, **told) == planned
    assert sorted((removal.kind, removal.round) for removal in planned) == [
        ("leftover", ""),
        ("pictures", "2026-11-02"),
        ("reports", ""),
        ("run", "2026-11-02"),
        ("run", "2026-11-03"),
    ]
    sizes = {removal.kind: removal.size for removal in planned}
    assert (sizes["leftover"], sizes["pictures"]) == (3, 5)
    assert sizes["run"] > 100
    assert in_words(planned, False).startswith(
        "deleted: 2 runs' folders, 1 folders of pictures, 1 files of counted reports"
    )
    assert in_words([], True) == "nothing is old enough to be deleted"
    assert not any(removal.path.exists() for removal in planned)
    assert [path.name for path in (copy / "inbox").iterdir()] == ["b.parquet"]
    assert [Run.at(folder).plan.round for folder in (copy / "runs").iterdir()] == ["2026-11-04"]
    assert warehouse.query(copy / "warehouse.duckdb", "from figures").empty
    assert len(warehouse.query(copy / "warehouse.duckdb", "from runs")) == 2


def test_a_draft_goes_when_who_wrote_it_is_gone(copy: Path, tmp_path: Path) -> None:
    """What a landing leaves that was killed while it published, here and beside a warehouse that is elsewhere."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    for number in (ended.pid, os.getpid()):
        (copy / f".warehouse.published.duckdb.{number}.tmp").write_bytes(b"half")
        (copy / f".warehouse.published.duckdb.{number}.tmp.wal").write_bytes(b"half")
        (elsewhere / f".other.published.duckdb.{number}.tmp").write_bytes(b"half")
    mine = [copy / ".notes.tmp", elsewhere / f".notes.{ended.pid}.tmp"]
    for path in mine:
        path.write_bytes(b"mine")
    before = {*copy.rglob("*"), *elsewhere.iterdir()}
    told = {"warehouse": elsewhere / "other.duckdb", "keep_days": 3650}
    assert clean(copy, now=datetime.now(UTC) + timedelta(hours=23), **told) == []
    clean(copy, now=datetime.now(UTC) + timedelta(hours=25), **told)
    gone = before - {*copy.rglob("*"), *elsewhere.iterdir()}
    assert sorted(path.name for path in gone) == [
        f".other.published.duckdb.{ended.pid}.tmp",
        f".warehouse.published.duckdb.{ended.pid}.tmp",
        f".warehouse.published.duckdb.{ended.pid}.tmp.wal",
    ]


def test_a_folder_is_cleaned_of_what_nobody_has_written_for_so_long(tmp_path: Path) -> None:
    now = datetime(2026, 11, 20, tzinfo=UTC)
    for name, days in (("old", 9), ("kept", 8), ("new", 0)):
        path = tmp_path / "deep" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"1234")
        os.utime(path, (0, (now - timedelta(days=days)).timestamp()))
    told = {"keep_days": 8, "now": now}
    (old,) = clean_folder(tmp_path, dry_run=True, **told)  # type: ignore[arg-type]
    assert (old.kind, old.path.name, old.size, old.path.exists()) == ("result", "old", 4, True)
    assert clean_folder(tmp_path, **told) == [old]  # type: ignore[arg-type]
    assert not old.path.exists()
    assert clean_folder(tmp_path / "none", keep_days=0) == []
