"""A backup holds what is there, whole, whatever is being written meanwhile; what is made of it goes on where that was."""

from __future__ import annotations

import errno
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from io import BytesIO
from pathlib import Path

import duckdb
import pandas as pd
import pytest

import dpcore as dp
from dpcore import wire
from dpcore.collector.store.sealing import landing
from dpcore.errors import AlreadyLanded, DPCoreError, InvalidReport, TooFewClients
from dpcore.results import plots, warehouse
from dpcore.results.warehouse.views import RESULTS
from dpcore.rounds.maintenance import backup
from dpcore.rounds.run import Run, newest
from dpcore.rounds.steps import sequence
from dpcore.wire.ledger_file import FileStore
from tests.helpers import collectors, undrawn
from tests.helpers.disks import small_disk
from tests.helpers.kept_open import kept_open

SCHEME = dp.Scheme.from_toml(collectors.COLOUR)
DAYS = [f"2026-11-{day:02d}" for day in range(1, 21)]
PLACES = {"figures": ["path"]}  # what may differ between a folder and another one that was made of it
TIMES = {"runs": ["started_at", "finished_at", "run_id"]}


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a landed round, a file of reports that no round has counted, a ledger, and Prefect's databases."""
    root = tmp_path_factory.mktemp("backup") / "own"
    for folder in ("data", "in", ".prefect", ".git"):
        (root / folder).mkdir(parents=True)
    (root / "ldpflow.toml").write_text('scheme = "scheme.toml"\ndata = "data"\nreports = "in"\n', encoding="utf-8")
    (root / "scheme.toml").write_text(collectors.COLOUR, encoding="utf-8")
    (root / ".git" / "config").write_text("of git")
    (root / ".prefect" / "server.log").write_text("a log")
    (root / "linked").symlink_to(root.parent)
    for name in (".prefect/prefect.db", ".prefect/messages.db", "data/other.sqlite"):
        with closing(sqlite3.connect(root / name)) as database, database:
            database.execute("create table said (text)")
            database.execute("insert into said values (?)", (name,))
    FileStore(root / "ledgers" / "one.ledger").path.parent.mkdir()
    FileStore(root / "ledgers" / "one.ledger").append("a charge")
    send(root, "a", 60, 1)
    with kept_open():
        go(root, "2026-11-20")
    warehouse.publish_copy(root / "data/warehouse.duckdb")
    send(root, "b", 70, 2)
    return root


@pytest.fixture
def project(made_once: Path, moved: Callable[[Path], Path]) -> Path:
    """The same in a folder of the test's own."""
    return moved(made_once)


def send(root: Path, name: str, count: int, seed: int, sent_for: str = "") -> None:
    wire.write_reports(root / "in" / f"{name}.parquet", SCHEME, collectors.reports(count, seed, SCHEME), sent_for)


def go(root: Path, round_: str, reports: Path | None = None) -> Run:
    return undrawn.run(
        root / "scheme.toml", reports=reports or root / "in", round_=round_, data=root / "data", min_clients=0
    )


def tables(root: Path) -> dict[str, pd.DataFrame]:
    """Every table that a run lands in, without what names folders."""
    file = root / "data" / "warehouse.duckdb"
    with warehouse.reader(file) as ask:
        found = {name: ask(f"from {name} order by all") for name in ("runs", "drawings", *RESULTS)}
    return {name: frame.drop(columns=PLACES.get(name, [])) for name, frame in found.items()}


def assert_equal(left: dict[str, pd.DataFrame], right: dict[str, pd.DataFrame]) -> None:
    assert left.keys() == right.keys()
    for name, frame in left.items():
        pd.testing.assert_frame_equal(frame, right[name], check_exact=True, obj=name)


def tree(root: Path) -> dict[str, tuple[int, bytes]]:
    """Every file and folder with its mode, and a file's bytes."""
    return {
        str(path.relative_to(root)): (stat.S_IMODE(path.stat().st_mode), path.read_bytes() if path.is_file() else b"")
        for path in sorted(root.rglob("*"))
        if not path.is_symlink()
    }


def test_what_is_restored_is_what_was_there_and_counts_no_report_twice(project: Path, tmp_path: Path) -> None:
    file, other = tmp_path / "b.tar", tmp_path / "other"
    made = backup.back_up(file, project)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = tree(project)
    done = backup.restore(file, other)
    assert (done.files, done.size, done.made_at) == (made.files, made.size, made.made_at)
    assert_equal(tables(project), tables(other))
    after = tree(other)
    passing = {".git", ".git/config", ".prefect/server.log"} | {name for name in before if name.endswith(".lock")}
    assert before.keys() - passing == after.keys()
    moved = {"warehouse.duckdb", "warehouse.published.duckdb", "plan.json", "batches.json"}
    for name in after:
        assert before[name][0] == after[name][0], name
        if Path(name).name not in moved and not name.endswith((".db", ".sqlite")):
            assert before[name] == after[name], name
    for name in (".prefect/prefect.db", ".prefect/messages.db", "data/other.sqlite"):
        with closing(sqlite3.connect(other / name)) as database:
            assert database.execute("select text from said").fetchall() == [(name,)]
    assert str(project) not in "".join(path.read_text() for path in other.rglob("*.json"))
    assert FileStore(other / "ledgers" / "one.ledger").lines() == ["a charge"]
    send(other, "again", 60, 1, "2026-11-21")  # the same reports in another file
    with kept_open():
        landed = go(other, "2026-11-21")
    assert landed.folder.is_relative_to(other)
    rows = warehouse.query(other / "data/warehouse.duckdb", "select round, accepted, rejected from runs order by all")
    assert rows.values.tolist() == [["2026-11-20", 60, 0], ["2026-11-21", 70, 60]]


def test_a_round_is_estimated_again_where_it_was_restored(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plots, "attribute_pictures", lambda *_, **_options: {"colour": b"a picture"})
    backup.back_up(tmp_path / "b.tar", project)
    untouched = tree(project)
    backup.restore(tmp_path / "b.tar", tmp_path / "other")
    run = newest(SCHEME, "2026-11-20", tmp_path / "other" / "data")
    with kept_open():
        sequence.estimate(run, sequence.Here())
    assert tree(project) == untouched
    named = warehouse.query(tmp_path / "other" / "data/warehouse.duckdb", "select path from figures")["path"]
    assert len(named) == 1
    assert Path(named[0]).is_relative_to(tmp_path / "other")


def test_what_is_being_written_is_taken_whole(project: Path, tmp_path: Path) -> None:
    """A database with a log that is not yet in it, a warehouse that somebody writes, a ledger that is held."""
    with closing(sqlite3.connect(project / "data/other.sqlite")) as writer:
        writer.execute("pragma journal_mode = wal")
        with writer:
            writer.execute("insert into said values ('committed')")
        writer.execute("insert into said values ('not yet')")
        with warehouse.open_for_writing(project / "data/warehouse.duckdb") as connection:
            connection.execute("begin")
            connection.execute("delete from runs")
            backup.back_up(tmp_path / "b.tar", project)
            connection.execute("rollback")
    backup.restore(tmp_path / "b.tar", tmp_path / "other")
    with closing(sqlite3.connect(tmp_path / "other/data/other.sqlite")) as database:
        assert database.execute("select text from said").fetchall() == [("data/other.sqlite",), ("committed",)]
    assert_equal(tables(project), tables(tmp_path / "other"))


def test_what_is_not_in_it_is_said(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with open(project / "ldpflow.toml", "a") as file:
        file.write(f'folders = ["{elsewhere}", "in", "s3://bucket/x"]\n')
    with duckdb.connect(project / "mine.duckdb") as own:
        own.execute("create table t (x integer)")
    monkeypatch.setenv("PREFECT_HOME", str(elsewhere))
    monkeypatch.setenv("PREFECT_SERVER_DATABASE_CONNECTION_URL", "postgresql+asyncpg://me:secret@there/prefect")
    made = backup.back_up(tmp_path / "b.tar", project)
    assert sorted(made.elsewhere) == sorted(
        [str(elsewhere), "s3://bucket/x", str(project / "mine.duckdb"), str(elsewhere)]
        + ["Prefect's database (PostgreSQL: pg_dump)"]
    )
    with tarfile.open(tmp_path / "b.tar") as tar:
        assert not any("mine" in name for name in tar.getnames())


def test_a_folder_without_a_project_is_its_data_and_prefects(project: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    (bare / "data").mkdir(parents=True)
    (bare / "notes.txt").write_text("mine")
    (project / "data").rename(bare / "data" / "var")
    (project / ".prefect").rename(bare / ".prefect")
    backup.back_up(tmp_path / "b.tar", bare)
    backup.restore(tmp_path / "b.tar", tmp_path / "other")
    assert {path.name for path in (tmp_path / "other").iterdir()} == {"data", ".prefect"}
    assert len(warehouse.query(tmp_path / "other/data/var/warehouse.duckdb", "from latest_runs")) == 1


def test_what_cannot_be_backed_up_leaves_nothing(project: Path, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("something")
    (tmp_path / "bare/.prefect").mkdir(
        parents=True
    )  # empty, as whoever asks for a status in the wrong folder leaves it
    before = tree(tmp_path)
    for target, words in (
        (tmp_path / "there", "already exists; name another file"),
        (project / "b.tar", "inside the folder of the backup"),
        (project / "data" / "b.tar", "inside the folder of the backup"),
        (tmp_path / "linked" / "b.tar", "inside the folder of the backup"),
    ):
        if target.parent.name == "linked":
            target.parent.symlink_to(project)
        with pytest.raises(DPCoreError, match=words):
            backup.back_up(target, project)
    with pytest.raises(DPCoreError, match="no files of ldpflow; change to a project's folder"):
        backup.back_up(tmp_path / "b.tar", tmp_path / "bare")
    assert tree(tmp_path) == before


def rewritten(source: Path, target: Path, change: Callable[[tarfile.TarInfo, bytes], tuple[str, bytes]]) -> None:
    with tarfile.open(source) as tar, tarfile.open(target, "w") as other:
        for member in tar:
            content = tar.extractfile(member)
            member.name, data = change(member, content.read() if content else b"")
            member.size = len(data)
            other.addfile(member, BytesIO(data))


@pytest.fixture
def wrong(project: Path, tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """Files that are no backups, each with what is said of it."""
    whole = tmp_path / "b.tar"
    backup.back_up(whole, project)
    content = whole.read_bytes()

    def cases() -> Iterator[tuple[Path, str]]:
        file = tmp_path / "wrong.tar"
        for at in range(0, len(content) - 11_000, max(len(content) // 25, 1)):
            file.write_bytes(content[:at])
            yield file, "not a backup of ldpflow, or truncated"
        for changes, words in (
            (
                lambda m, data: (m.name, data.replace(b"colours", b"colors!")),
                "damaged, .* differs from its digest",
            ),
            (lambda m, data: (f"../{m.name}", data), "not a backup of ldpflow, it has '../"),
            (lambda m, data: (f"/{m.name}", data), "not a backup of ldpflow, it has '/"),
            (
                lambda m, data: (m.name, data.replace(b'"format": 1', b'"format": 2')),
                "format 2, this one reads 1",
            ),
        ):
            rewritten(whole, file, changes)
            yield file, words
        file.write_text("no tar")
        yield file, "not a backup of ldpflow"
        yield tmp_path / "none.tar", "no such backup"

    return cases()


def test_what_is_no_backup_is_refused_and_leaves_nothing(wrong: Iterator[tuple[Path, str]], tmp_path: Path) -> None:
    target = tmp_path / "new" / "other"
    target.parent.mkdir()
    for file, words in wrong:
        with pytest.raises(DPCoreError, match=words):
            backup.restore(file, target)
        assert not list(target.parent.iterdir())


def test_a_folder_that_holds_something_is_left_as_it_is(project: Path, tmp_path: Path) -> None:
    backup.back_up(tmp_path / "b.tar", project)
    before = tree(project)
    for folder in (project, project / "ldpflow.toml", project / "linked"):
        with pytest.raises(DPCoreError, match="not empty; name a new folder"):
            backup.restore(tmp_path / "b.tar", folder)
    assert tree(project) == before
    (tmp_path / "empty").mkdir()
    backup.restore(tmp_path / "b.tar", tmp_path / "empty")
    assert_equal(tables(project), tables(tmp_path / "empty"))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk that holds less than a backup."""
    with small_disk(tmp_path / "disk", 3) as place:
        yield place


@pytest.mark.slow
def test_a_full_disk_leaves_nothing(project: Path, disk: Path, tmp_path: Path) -> None:
    backup.back_up(tmp_path / "b.tar", project)
    assert (tmp_path / "b.tar").stat().st_size > 3 << 20
    for work in (
        lambda: backup.back_up(disk / "b.tar", project),
        lambda: backup.restore(tmp_path / "b.tar", disk / "new"),
    ):
        with pytest.raises(OSError, match="No space left on device") as error:
            work()
        assert error.value.errno == errno.ENOSPC
        assert not list(disk.iterdir())


CARRY_OUT = """
import sys
from pathlib import Path
from dpcore.errors import AlreadyLanded
from tests.helpers import undrawn
root, reports, *days = map(Path, sys.argv[1:])
print("begun", flush=True)
for day in days:
    try:
        undrawn.run(root / "scheme.toml", reports=reports, round_=day.name, data=root / "data", min_clients=0)
    except AlreadyLanded:
        pass
"""


@pytest.mark.nightly("waits")
def test_of_backups_during_rounds_under_kills_each_is_whole(tmp_path: Path) -> None:
    """Twenty rounds of what a collector took; whoever carries them out is killed again and again, and begins again."""
    chance, root = random.Random(5), tmp_path / "own"
    root.mkdir()
    (root / "ldpflow.toml").write_text('scheme = "scheme.toml"\ndata = "data"\n[collector]\ninto = "data/collected"\n')
    (root / "scheme.toml").write_text(collectors.TEXT, encoding="utf-8")
    into, taken, made, kills = root / "data/collected", [], 0, 0
    reports = landing(into, collectors.SCHEME.digest)

    def landed(where: Path) -> list[str]:
        if not (where / "data/warehouse.duckdb").exists():
            return []
        return list(warehouse.query(where / "data/warehouse.duckdb", "select round from latest_runs")["round"])

    with collectors.collector(into, seconds=0.2) as sender:
        for number, day in enumerate(DAYS):
            answer = sender.stream(collectors.stream(60 + number, number, day))
            assert answer.said["accepted"] == 60 + number
            if number % 2:  # some rounds wait in the store while a backup is taken
                continue
            tries = 0
            while day not in landed(root):
                tries += 1  # on a busy machine nothing would land within a fixed time
                left = [day for day in DAYS[: number + 1] if day not in landed(root)]
                words = [sys.executable, "-c", CARRY_OUT, str(root), str(reports), *left]
                with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
                    assert child.stdout is not None
                    child.stdout.readline()
                    end = time.monotonic() + 1.5**tries * chance.uniform(0.5, 3.0)
                    while child.poll() is None and time.monotonic() < end:
                        made += 1
                        taken.append(tmp_path / f"{made}.tar")
                        backup.back_up(taken[-1], root)
                        if len(taken) > 60:  # a disk is not filled by a slow machine
                            taken.pop(chance.randrange(60)).unlink()
                        time.sleep(0.7)  # each keeps the landing waiting for a moment
                    kills += child.poll() is None
                    child.send_signal(signal.SIGKILL)
        while set(landed(root)) != set(DAYS):
            time.sleep(0.3)
            for day in DAYS:
                with suppress(AlreadyLanded, InvalidReport, TooFewClients):
                    go(root, day, reports)
    assert kills >= 5
    assert made >= 12
    expected = sums(root)
    assert expected.drop_duplicates("round")["reports"].sum() == sum(60 + number for number in range(20))
    begun = set()
    for file in chance.sample(taken, 10):
        other = tmp_path / file.stem
        backup.restore(file, other)
        begun.add(len(landed(other)))
        with collectors.collector(other / "data/collected", seconds=0) as sender:
            for number, day in enumerate(DAYS):  # everybody sends again
                said = sender.stream(collectors.stream(60 + number, number, day)).said
                assert said["accepted"] + said["already_have"] == 60 + number
        for day in sorted(set(DAYS) - set(landed(other))):
            go(other, day, landing(other / "data/collected", collectors.SCHEME.digest))
        pd.testing.assert_frame_equal(sums(other), expected)
    assert len(begun) > 3


def sums(root: Path) -> pd.DataFrame:
    """The exact sums of every round, and how many reports it counted and left out."""
    return warehouse.query(
        root / "data/warehouse.duckdb",
        "select round, accepted as reports, rejected, attribute, statistic, level, cell, value "
        "from latest_runs join latest_aggregates using (run_id, scheme, round) order by all",
    )
