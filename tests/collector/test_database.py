"""The store and its sealing, without HTTP: each report once, whatever ends a process, a disk or a file."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore import wire
from dpcore.collector.store import database as store
from dpcore.collector.store import report_ids as known_module
from dpcore.collector.store import sealing
from dpcore.collector.store.database import Store
from dpcore.collector.store.report_ids import KnownIds
from dpcore.collector.store.sealing import Sealer, landing
from dpcore.errors import InvalidReport, StoreError
from dpcore.protocol.tokens import are_there
from dpcore.wire import inbox
from tests.helpers import collectors
from tests.helpers.collectors import SCHEME, collector
from tests.helpers.disks import enlarge, small_disk


def rows(seed: int, count: int = 20, sent_for: str = "") -> wire.Rows:
    return wire.read_stream(collectors.stream(count, seed, sent_for), SCHEME)


def files(folder: Path) -> list[Path]:
    return sorted(landing(folder, SCHEME.digest).glob("*.parquet"))


def ids_in(paths: Sequence[Path]) -> list[bytes]:
    """The ids of all reports in some files, which are whole."""
    found = []
    for path in paths:
        ids = wire.read_reports(path, SCHEME).ids
        assert ids is not None
        found += [row.tobytes() for row in ids]
    return found


@settings(max_examples=60)
@given(st.lists(st.lists(st.integers(0, 60), max_size=30), max_size=12))
def test_known_ids_are_a_set(groups: list[list[int]]) -> None:
    """Ids that share their first or last half, too, and ids chosen to share their images, whatever the multipliers."""
    known, there = KnownIds(), set()
    for group in groups:
        ids = np.array([[n % 8] * 8 + [n // 8 % 4] * 8 for n in group], dtype=np.uint8).reshape(-1, 16)
        ids[:, [7, 15]] ^= np.array([128 * (n // 32) for n in group], dtype=np.uint8)[:, None]
        seen = known.seen(ids)
        fresh = []
        for n, was in zip(group, seen, strict=True):
            assert was == (n in there or n in fresh)
            fresh += [] if was else [n]
        known.add(ids[~seen])
        there.update(fresh)
        assert len(known) == len(there)


def test_a_name_is_there_if_any_of_its_bytes_is() -> None:
    names = np.vstack([np.zeros((1, 16), dtype=np.uint8), np.eye(16, dtype=np.uint8)])
    assert are_there(names).tolist() == [False] + [True] * 16
    assert are_there(names[::2]).tolist() == [False] + [True] * 8


def test_of_many_ids_that_are_the_same_the_first_is_new() -> None:
    ids = np.random.default_rng(3).integers(0, 256, (5000, 16), dtype=np.uint8)
    ids[1::7] = ids[::7][: len(ids[1::7])]
    known = KnownIds()
    assert np.array_equal(np.flatnonzero(known.seen(ids)), np.arange(1, 5000, 7))
    known.add(ids[~known.seen(ids)])
    assert known.seen(ids).all()


def test_runs_that_are_long_are_merged_no_more_and_hold_what_they_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_module, "LONG", 64)
    ids, known, sizes = np.random.default_rng(5).integers(0, 256, (1000, 16), dtype=np.uint8), KnownIds(), []
    for start in range(0, 1000, 20):
        known.add(ids[start : start + 20])
        sizes.append(max(len(keys) for keys, _ in known._runs))
    assert max(sizes) < 2 * 64 + 20
    assert known.seen(ids).all()
    assert not known.seen(ids[::-1] ^ 1).any()
    assert len(known) == 1000


def test_a_report_is_taken_once_whoever_asks(tmp_path: Path) -> None:
    """Twice in a batch, in two requests of a group, after a restart, by two collectors on one folder."""
    first, second = Store(tmp_path, [SCHEME]), Store(tmp_path, [SCHEME])
    one = rows(1)
    twice = wire.Rows(SCHEME, "", one.columns.take(list(range(20)) + [3, 3]))
    assert [int(of.new.sum()) for of in first.take([twice, one], {})] == [20, 0]
    assert [int(of.new.sum()) for of in second.take([one, rows(2)], {})] == [0, 20]
    assert not first.take([rows(2)], {})[0].new.any()
    assert second.take([rows(3)], {})[0].new.all()
    assert not first.take([rows(3)], {})[0].new.any()
    assert not Store(tmp_path, [SCHEME]).take([one], {})[0].new.any()
    assert len(first) == len(second) == 60
    assert Sealer(tmp_path, 60).waiting() == 60


def named(*contents: bytes) -> wire.Rows:
    return wire.rows_of([wire.read_report(content, SCHEME) for content in contents], SCHEME)


def test_every_commit_is_synced(tmp_path: Path) -> None:
    """What is answered with `accepted` outlives a power cut, which no kill shows."""
    Store(tmp_path, [SCHEME])
    database = store.connect(tmp_path)
    asked = [database.execute(f"pragma {name}").fetchone()[0] for name in ("synchronous", "journal_mode")]
    database.close()
    assert asked == [2, "wal"]


def test_a_token_is_heard_once_a_round_whoever_asks(tmp_path: Path) -> None:
    first, again, other = (collectors.of_token(seed, person, "r1") for seed, person in ((1, 0), (2, 0), (3, 1)))
    kept = Store(tmp_path, [SCHEME])
    (found,) = kept.take([named(first, again, other, first)], {})
    assert (found.new.tolist(), found.second.tolist()) == ([True, False, True, False], [False, True, False, False])
    for later in (kept, Store(tmp_path, [SCHEME])):
        (found,) = later.take([named(first, again)], {(SCHEME.digest, "not_json"): 1})
        assert (found.new.any(), found.second.tolist()) == (False, [False, True])
    anytime = [named(collectors.of_token(seed, 0, sent_for)) for seed, sent_for in ((4, "r2"), (5, ""), (6, ""))]
    assert all(of.new.all() for of in kept.take(anytime, {}))
    with sqlite3.connect(tmp_path / store.FILE) as database:
        assert dict(database.execute("select reason, count from refused")) == {inbox.SECOND: 3, "not_json": 2}
        marks = b"".join(of for (of,) in database.execute("select marks from heard"))
    assert len(marks) == 3 * 16  # of r1 and r2, and of nothing that is for any round
    assert store.names_of(named(first).columns.column("_client_token")).tobytes() not in marks


def test_segments_are_sealed_by_round_and_carry_what_was_refused(tmp_path: Path) -> None:
    kept = Store(tmp_path, [SCHEME])
    kept.take([rows(1), rows(2, sent_for="2026-11-20"), rows(3)], {(SCHEME.digest, "not_json"): 2})
    kept.take([rows(4, sent_for="2026-11-20")], {(SCHEME.digest, "not_json"): 1, (SCHEME.digest, "too_large"): 1})
    sealer = Sealer(tmp_path, 3600)
    assert sealer.seal() == 0
    assert (sealer.seal(everything=True), sealer.waiting()) == (2, 0)
    batches = inbox.batches_of(landing(tmp_path, SCHEME.digest), SCHEME)
    assert sorted((batch.sent_for, batch.reports) for batch in batches) == [("", 40), ("2026-11-20", 40)]
    refused = [wire.read_refused(path, SCHEME) for path in files(tmp_path)]
    assert sorted(refused, key=len) == [{}, {"not_json": 3, "too_large": 1}]
    assert sealer.seal(everything=True) == 0
    waits = Sealer(tmp_path, 0)
    kept.take([rows(5)], {})
    assert waits.seal() == 1


def test_what_comes_while_another_collector_has_all_but_ended_sealing_is_sealed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the end one takes and seals for another what that one has not taken, which may seal for the last time."""
    kept, one, other = Store(tmp_path, [SCHEME]), Sealer(tmp_path, 0), Sealer(tmp_path, 0)
    kept.take([rows(1)], {})
    has_looked, ends = threading.Event(), threading.Event()

    def linger() -> None:
        has_looked.set()
        ends.wait(30)

    monkeypatch.setattr(one, "_forget", linger)
    first = threading.Thread(target=one.seal, args=(True,))
    first.start()
    assert has_looked.wait(30)
    kept.take([rows(2)], {})
    threading.Timer(0.2, ends.set).start()
    assert (other.seal(everything=True), other.waiting()) == (1, 0)
    first.join()
    assert len(ids_in(files(tmp_path))) == 40


def test_the_rounds_of_many_reports_are_sealed_first_and_no_longer_than_allowed(tmp_path: Path) -> None:
    """Who names many rounds keeps nobody waiting; and counts of refusals make no file of their own beside others."""
    kept = Store(tmp_path, [SCHEME])
    kept.take(
        [rows(k, 1, f"0{k:02d}") for k in range(8)] + [rows(9, 5, "2026-11-20")], {(SCHEME.digest, "not_json"): 2}
    )
    sealer = Sealer(tmp_path, 0)
    assert (sealer.seal(seconds=0), sealer.waiting()) == (1, 8)
    [batch] = inbox.batches_of(landing(tmp_path, SCHEME.digest), SCHEME)
    assert (batch.sent_for, batch.reports) == ("2026-11-20", 5)
    assert (sealer.seal(), sealer.waiting(), len(files(tmp_path))) == (8, 0, 9)


def test_what_was_refused_alone_is_sealed_at_the_end(tmp_path: Path) -> None:
    Store(tmp_path, [SCHEME]).take([], {(SCHEME.digest, "not_json"): 7})
    sealer = Sealer(tmp_path, 60)
    assert (sealer.seal(), sealer.seal(everything=True)) == (0, 1)
    [file] = files(tmp_path)
    assert (wire.read_stamp(file, SCHEME), wire.read_refused(file, SCHEME)) == (("", 0), {"not_json": 7})
    assert dp.aggregate(SCHEME, wire.read_reports(file, SCHEME)).is_empty


def test_refusals_alone_are_another_file_each_time(tmp_path: Path) -> None:
    """Anyone can send one bad report, and later another: two files of the same bytes would stop the round as copies."""
    kept, sealer = Store(tmp_path, [SCHEME]), Sealer(tmp_path, 60)
    for _ in range(2):
        kept.take([], {(SCHEME.digest, "not_json"): 1})
        sealer.seal(everything=True)
    assert len(inbox.batches_of(landing(tmp_path, SCHEME.digest), SCHEME)) == 2


class Killed(BaseException):
    """In place of kill -9: nobody catches it."""


class Dying:
    """Calls of a module's functions, of which one, before or after it is done, is the process's last."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, last: int, after: bool) -> None:
        self.calls, self.last, self.after = 0, last, after
        for module, name in [(sealing, "write_durably"), (sealing.os, "replace"), (sealing, "sync_folder")]:
            monkeypatch.setattr(module, name, self._dying(getattr(module, name)))
        for module, name in [(sealing.Sealer, "_mark"), (sealing.Sealer, "_open"), (sealing.Sealer, "_forget")]:
            monkeypatch.setattr(module, name, self._dying(getattr(module, name)))
        monkeypatch.setattr(sealing, "transaction", self._dying(sealing.transaction))

    def _dying(self, real: Any) -> Any:
        def call(*given: Any) -> Any:
            self.calls += 1
            is_last = self.calls == self.last
            if is_last and not self.after:
                raise Killed
            done = real(*given)
            if is_last:
                raise Killed
            return done

        return call


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("taken_away", [False, True])
def test_a_kill_at_any_step_of_sealing_leaves_each_report_in_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: bool, taken_away: bool
) -> None:
    """Every step in turn; taken_away: a round counts what it finds after the kill, and its files are deleted."""
    step, died = 0, True
    while died:
        step += 1
        folder = tmp_path / str(step)
        kept = Store(folder, [SCHEME])
        kept.take([rows(1, 5), rows(2, 5, "r")], {(SCHEME.digest, "not_json"): 1})
        with monkeypatch.context() as patched:
            Dying(patched, step, after)
            try:
                Sealer(folder, 60).seal(everything=True)
                died = False
            except Killed:
                pass
        counted = ids_in(files(folder))
        refused = [wire.read_refused(path, SCHEME) for path in files(folder)]
        if taken_away:
            for path in files(folder):
                path.unlink()
        else:
            counted, refused = [], []
        sealer = Sealer(folder, 60)
        sealer.mend()
        sealer.seal(everything=True)
        counted += ids_in(files(folder))
        refused += [wire.read_refused(path, SCHEME) for path in files(folder)]
        assert sorted(counted) == sorted(row.tobytes() for seed in (1, 2) for row in collectors.reports(5, seed).ids), (
            step
        )
        assert sorted(refused, key=len) == [{}, {"not_json": 1}]
        assert sealer.waiting() == 0
    assert step > 12


def test_sealing_forgets_the_order_of_arrival(tmp_path: Path) -> None:
    """Beside a proxy's log it would say whose each report is: in the file, and in the store to its last byte."""
    kept, other = Store(tmp_path, [SCHEME]), Store(tmp_path, [SCHEME])
    came = [rows(seed) for seed in (3, 1, 2)]
    kept.take(came[:1], {})
    assert not other.take(came[:1], {})[0].new.any()  # and knows half of the segment
    kept.take(came[1:] + [named(*(collectors.of_token(seed, seed, "r1") for seed in range(9)))], {})
    sealer = Sealer(tmp_path, 60)
    with sqlite3.connect(tmp_path / store.FILE) as database:
        bodies = [body for (body,) in database.execute("select body from bodies")]
    sealer.seal(everything=True)
    sealer.checkpoint()
    in_files = [ids_in([file]) for file in files(tmp_path)]
    assert sorted(map(len, in_files)) == [9, 60]
    assert all(ids == sorted(ids) for ids in in_files)
    with sqlite3.connect(tmp_path / store.FILE) as database:
        of_segments = [text for (text,) in database.execute("select ids from ids order by length(ids)")]
        [(marks,)] = database.execute("select marks from heard")
    assert [len(text) for text in of_segments] == [9 * 16, 60 * 16]
    for text in (*of_segments, marks):
        names = [text[at : at + 16] for at in range(0, len(text), 16)]
        assert names == sorted(names)
    left = b"".join(path.read_bytes() for path in tmp_path.glob(f"{store.FILE}*"))
    pieces = [body[at : at + 64] for body in bodies for at in range(0, len(body), 64)]
    telling = [
        piece for piece in pieces if len(set(piece)) > 30
    ]  # the ids in their order, not what Arrow fills up with
    assert len(telling) > 10
    assert not any(piece in left for piece in telling)
    for known in (kept, other, Store(tmp_path, [SCHEME])):
        found = known.take([*came, named(collectors.of_token(99, 5, "r1"))], {})
        assert not any(of.new.any() for of in found)
        assert found[-1].second.all()
        assert len(known) == 69


def test_while_many_come_bodies_of_few_segments_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "_HURRY", 10)
    monkeypatch.setattr(sealing, "_MOST_TO_DROP", 1)
    kept, sealer, left = Store(tmp_path, [SCHEME]), Sealer(tmp_path, 0), []
    with sqlite3.connect(tmp_path / store.FILE) as database:
        for seed in (1, 2, 0):
            kept.take([rows(seed)] if seed else [], {})
            sealer.seal()
            left.append(database.execute("select count(*) from bodies").fetchone()[0])
    assert (left, len(files(tmp_path))) == ([1, 1, 0], 2)


def sealed_by_format_1(folder: Path) -> Path:
    """A store as it was: a file in the order of arrival, and what it was made of kept as it came."""
    kept = Store(folder, [SCHEME])
    for seed in (3, 1, 2):
        kept.take([rows(seed)], {})
    with sqlite3.connect(folder / store.FILE) as database:
        bodies = [body for (body,) in database.execute("select body from bodies order by number")]
        content = wire.write_segment(SCHEME, "", bodies, {}, as_they_came=True)
        name = inbox.sealed_name(1, content)
        database.execute("insert into segments values (1, ?, '', '{}', ?, 'sealed')", (SCHEME.digest, name))
        database.execute("update arrivals set segment = 1")
        database.execute("pragma user_version = 1")
    kept.close()
    place = landing(folder, SCHEME.digest)
    place.mkdir(parents=True)
    (place / name).write_bytes(content)
    return place / name


@pytest.mark.parametrize("damaged", [False, True])
def test_what_an_older_ldpflow_sealed_stands_and_its_order_is_forgotten(tmp_path: Path, damaged: bool) -> None:
    file = sealed_by_format_1(tmp_path)
    whole = file.read_bytes()
    if damaged:
        file.write_bytes(whole[:-100])
    kept = Store(tmp_path, [SCHEME])
    Sealer(tmp_path, 60).mend()
    with sqlite3.connect(tmp_path / store.FILE) as database:
        [(ids,)] = database.execute("select ids from ids")
        assert database.execute("select count(*) from bodies").fetchone() == (0,)
        assert database.execute("pragma user_version").fetchone() == (store.FORMAT,)
    assert sorted(ids_in([file])) == [ids[at : at + 16] for at in range(0, len(ids), 16)]
    file.write_bytes(b"damaged later")
    Sealer(tmp_path, 60).mend()
    assert file.read_bytes() == whole
    assert not kept.take([rows(seed) for seed in (1, 2, 3)], {})[0].new.any()


def test_a_file_that_an_older_ldpflow_did_not_move_to_its_place_is_sealed(tmp_path: Path) -> None:
    file = sealed_by_format_1(tmp_path)
    with sqlite3.connect(tmp_path / store.FILE) as database:
        database.execute("update segments set state = 'open'")
    file.rename(file.parent / ".00000001.partial")
    Store(tmp_path, [SCHEME])
    Sealer(tmp_path, 60).mend()
    [sealed] = files(tmp_path)
    assert (ids_in([sealed]), len(ids_in([sealed]))) == (sorted(ids_in([sealed])), 60)


def test_a_damaged_file_is_refused_by_rounds_and_written_anew_byte_for_byte(tmp_path: Path) -> None:
    Store(tmp_path, [SCHEME]).take([rows(1)], {})
    sealer = Sealer(tmp_path, 60)
    sealer.seal(everything=True)
    [file] = files(tmp_path)
    whole = file.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 4
    for damaged in (whole[:-100], b"", bytes(flipped)):
        file.write_bytes(damaged)
        with pytest.raises(InvalidReport, match="is damaged: its bytes are not those"):
            inbox.batches_of(file.parent, SCHEME)
        sealer.mend()
        assert file.read_bytes() == whole
    assert len(inbox.batches_of(file.parent, SCHEME)) == 1


def test_what_rounds_have_taken_away_is_forgotten_but_for_its_ids(tmp_path: Path) -> None:
    kept = Store(tmp_path, [SCHEME])
    kept.take([rows(1)], {})
    sealer = Sealer(tmp_path, 60)
    sealer.seal(everything=True)
    [file] = files(tmp_path)
    file.unlink()
    sealer.seal()
    sealer.mend()
    assert files(tmp_path) == []
    with sqlite3.connect(tmp_path / store.FILE) as database:
        assert database.execute("select count(*) from bodies").fetchone() == (0,)
    assert not Store(tmp_path, [SCHEME]).take([rows(1)], {})[0].new.any()


def test_a_report_that_has_changed_in_the_store_is_set_aside(tmp_path: Path) -> None:
    kept = Store(tmp_path, [SCHEME])
    kept.take([rows(1)], {})
    kept.take([rows(2)], {})
    with sqlite3.connect(tmp_path / store.FILE) as database:
        (body,) = database.execute("select body from bodies where number = 1").fetchone()
        database.execute("update bodies set body = ? where number = 1", (body[:-9] + b"x" + body[-8:],))
    sealer = Sealer(tmp_path, 60)
    sealer.seal(everything=True)
    assert sorted(ids_in(files(tmp_path))) == sorted(row.tobytes() for row in collectors.reports(20, 2).ids)
    assert sealer.set_aside() == 20


@pytest.mark.parametrize("content", [b"not a database, but long enough to be read as one" * 100, b""])
def test_a_file_that_is_no_store_is_told_in_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / store.FILE).write_bytes(content)
    if content:
        with pytest.raises(StoreError, match="cannot be used") as refused:
            Store(tmp_path, [SCHEME])
        assert "\n" not in str(refused.value)
    else:
        assert len(Store(tmp_path, [SCHEME])) == 0
    (tmp_path / "other").mkdir()
    with sqlite3.connect(tmp_path / "other" / store.FILE) as database:
        database.execute("pragma user_version = 99")
    with pytest.raises(StoreError, match="format 99"):
        Store(tmp_path / "other", [SCHEME])


def test_no_clock_that_can_be_set_is_read(root: Path) -> None:
    """So that one that goes back changes nothing; `time.monotonic` cannot be set."""
    for path in set((root / "dpcore/collector").rglob("*.py")) - {
        root / "dpcore/laboratory/collector_load.py"
    }:  # a benchmark
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"time\.(time|time_ns|localtime|gmtime)\b|datetime|st_[mca]time", text), path


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of four megabytes."""
    with small_disk(tmp_path / "disk", 4) as place:
        yield place


@pytest.mark.slow
def test_a_full_disk_takes_nothing_and_loses_nothing(disk: Path) -> None:
    """Batches until there is no room; then room; all that was accepted, and nothing twice."""
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(5 << 19))  # of 4 MiB; without it there is room for the log and for what moves out of it
    contents = {seed: collectors.stream(500, seed) for seed in range(1, 121)}
    accepted, failed = set(), []
    with collector(disk / "into", seconds=3600) as sender:
        for seed, content in contents.items():
            answer = sender.stream(content)
            if answer.status == 200:
                accepted.add(seed)
                assert answer.said["accepted"] == 500
                continue
            assert (answer.status, answer.said["reason"]) == (503, "the store cannot be written")
            assert int(answer.headers["retry-after"]) >= 1
            failed.append(seed)
            if len(failed) == 3:
                break
        assert len(failed) == 3
        assert accepted
        assert sender.get("/health").status == 503
        ballast.unlink()
        for seed in (*accepted, *failed[:1]):
            answer = sender.stream(contents[seed])
            assert answer.status == 200, answer.content
            assert answer.said["already_have"] == (500 if seed in accepted else 0)
        assert sender.get("/health").status == 200
    expected = sorted(row.tobytes() for seed in (*accepted, failed[0]) for row in collectors.reports(500, seed).ids)
    enlarge(disk, 64)
    sealer = Sealer(disk / "into", 60)
    sealer.mend()
    sealer.seal(everything=True)
    assert sorted(ids_in(files(disk / "into"))) == expected


@pytest.mark.slow
def test_a_read_only_disk_is_told_and_loses_nothing(disk: Path) -> None:
    """All of it, when a collector starts; the landing folder alone, while one runs."""
    folder = disk / "into"
    place = folder / "reports"
    place.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,size=1m", "ldpflow-test", str(place)], check=True)
    try:
        with collector(folder, seconds=0) as sender:
            assert sender.stream(collectors.stream(20, 1)).status == 200
            until = time.monotonic() + 30
            while sender.get("/health").status != 503:
                assert time.monotonic() < until
                time.sleep(0.1)
            assert sender.stream(collectors.stream(20, 2)).status == 200
    finally:
        subprocess.run(["umount", str(place)], check=True)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with pytest.raises(StoreError, match="cannot be used"):
        Store(folder, [SCHEME])
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    Sealer(folder, 60).seal(everything=True)
    expected = [row.tobytes() for seed in (1, 2) for row in collectors.reports(20, seed).ids]
    assert sorted(ids_in(files(folder))) == sorted(expected)
