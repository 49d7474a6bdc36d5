"""Readers and the writer: nobody waits for the other, and nobody sees half a round."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from dpcore.errors import WarehouseError
from dpcore.results import warehouse
from dpcore.results.warehouse import Landing, RunRow, open_for_writing, published, query
from dpcore.results.warehouse.views import transaction
from tests.helpers import warehouses
from tests.helpers.disks import enlarge, small_disk

COUNT = "select count(*) as n from runs"


def run(number: int) -> RunRow:
    moment = datetime(2026, 11, number, tzinfo=UTC)
    return RunRow(
        run_id=f"{number:016x}",
        scheme="small",
        scheme_digest="d" * 64,
        round=f"2026-11-{number:02d}",
        source="simulated",
        randomness="seeded",
        seed=number,
        accepted=10,
        rejected=0,
        started_at=moment,
        finished_at=moment,
        version="0",
    )


def land(path: Path, number: int) -> None:
    warehouse.land(path, Landing(run(number)), patience=2)


@pytest.fixture(scope="module")
def one_round(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a warehouse in which a round has landed, and of its published copy."""
    path = tmp_path_factory.mktemp("published") / "it's a warehouse.duckdb"
    land(warehouses.put(path), 1)
    return path.parent


@pytest.fixture
def path(one_round: Path, tmp_path: Path) -> Path:
    shutil.copytree(one_round, tmp_path, dirs_exist_ok=True)  # with the times that say which file is newer
    return tmp_path / "it's a warehouse.duckdb"


@pytest.mark.slow
def test_a_reader_that_holds_the_copy_open_blocks_no_landing_and_keeps_what_it_saw(path: Path) -> None:
    code = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1], read_only=True); "
        f"print(c.sql({COUNT!r}).fetchall()[0][0], flush=True); sys.stdin.readline(); "
        f"print(c.sql({COUNT!r}).fetchall()[0][0], flush=True)"
    )
    command = [sys.executable, "-c", code, str(published(path))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "1\n"
        land(path, 2)  # the warehouse itself would be locked for longer than the patience of this
        assert query(path, COUNT)["n"][0] == 2
        assert reader.communicate("go on\n", timeout=30)[0] == "1\n"


def test_a_question_while_somebody_writes_is_answered_at_once_from_before(path: Path) -> None:
    code = (
        "import sys; from dpcore.results.warehouse import open_for_writing as writing\n"
        "from dpcore.results.warehouse.views import *\n"
        "with writing(sys.argv[1]) as c, transaction(c):\n"
        "    c.execute('delete from runs'); print('deleted', flush=True); sys.stdin.readline()"
    )
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "deleted\n"
        assert query(path, COUNT, patience=0)["n"][0] == 1
        with pytest.raises(WarehouseError, match="locked by"), warehouse.open_for_reading(path, patience=0):
            pass
        writer.communicate("go on\n", timeout=30)
    assert query(path, COUNT)["n"][0] == 0


def test_what_was_written_without_publishing_is_seen_all_the_same(path: Path) -> None:
    earlier = path.stat().st_mtime_ns - 10**9  # further back than the file system's clock is coarse
    for file in (path, published(path)):
        os.utime(file, ns=(earlier, earlier))
    with open_for_writing(path) as connection, transaction(connection):
        connection.execute("delete from runs")
    assert query(path, COUNT)["n"][0] == 0
    published(path).unlink()
    assert query(path, COUNT)["n"][0] == 0


def test_looking_at_a_warehouse_as_every_round_does_first_leaves_its_copy_the_newest(path: Path) -> None:
    with open_for_writing(path):
        pass
    assert path.stat().st_mtime_ns == published(path).stat().st_mtime_ns


def test_the_copy_is_a_whole_warehouse_that_other_programs_can_open(path: Path) -> None:
    said = "select (select count(comment) from duckdb_columns()), (select count(*) from duckdb_views() where not internal), "
    said += "(select count(*) from duckdb_functions() where not internal), (select count(*) from duckdb_constraints())"
    with (
        duckdb.connect(str(path), read_only=True) as one,
        duckdb.connect(str(published(path)), read_only=True) as other,
    ):
        assert one.sql(said).fetchall() == other.sql(said).fetchall()
        assert other.sql("select tags['storage_version'] from duckdb_databases() where not internal").fetchall() == (
            one.sql("select tags['storage_version'] from duckdb_databases() where not internal").fetchall()
        )


def test_a_copy_that_cannot_be_moved_into_place_is_told_in_one_line_after_the_landing(path: Path) -> None:
    published(path).unlink()
    published(path).mkdir()
    with pytest.raises(WarehouseError, match=r"published\.duckdb: cannot be written"):
        land(path, 2)
    published(path).rmdir()
    assert query(path, COUNT)["n"][0] == 2
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.slow
def test_a_landing_without_room_for_its_copy_stands_and_says_so(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 64) as disk:
        path = disk / "warehouse.duckdb"
        land(warehouses.put(path), 1)
        enlarge(disk, 1 + sum(file.stat().st_size for file in disk.iterdir()) // (1 << 20))
        with pytest.raises(
            WarehouseError, match=r"^\S+: no space left for the published copy, \S+ was written [^\n]*$"
        ):
            land(path, 2)
        assert query(path, COUNT)["n"][0] == 2
        enlarge(disk, 64)
        land(path, 3)
        assert query(published(path), COUNT)["n"][0] == 3
        assert {file.name for file in disk.iterdir()} == {path.name, published(path).name}


def test_who_may_read_the_copy_is_said_once(path: Path) -> None:
    copy = published(path)
    group = 54_321 if os.getuid() == 0 else copy.stat().st_gid
    os.chown(copy, -1, group)
    copy.chmod(0o640)
    land(path, 2)
    assert (copy.stat().st_gid, stat.S_IMODE(copy.stat().st_mode)) == (group, 0o640)
    with duckdb.connect(str(copy), read_only=True) as reader:
        assert reader.execute(COUNT).fetchone() == (2,)


@pytest.mark.skipif(os.getuid() != 0, reason="gives the copy to a group that the landing's user is not of")
def test_where_its_group_cannot_be_kept_no_other_reads_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "not permitted")

    copy = published(path)
    os.chown(copy, -1, 54_321)
    copy.chmod(0o640)
    monkeypatch.setattr(os, "chown", refuse)
    land(path, 2)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
