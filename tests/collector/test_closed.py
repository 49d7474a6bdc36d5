"""Rounds that have landed: a collector that is told to refuse what comes for them, and to forget the ids of what came."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import pytest

from dpcore import wire
from dpcore.collector import backend
from dpcore.collector.store import database as store
from dpcore.collector.store.database import Store
from dpcore.collector.store.intake import Intake, Upload
from dpcore.collector.store.sealing import Sealer, landing
from dpcore.rounds.steps import landing as landing_step
from dpcore.wire import inbox
from tests.helpers import collectors, undrawn
from tests.helpers.collectors import SCHEME, Sender, collector


def on_disk(folder: Path) -> int:
    with sqlite3.connect(folder / store.FILE) as database:
        (size,) = database.execute("select coalesce(sum(length(ids)), 0) from ids").fetchone()
    return size // 16


def upload(seed: int, sent_for: str, *, is_handed: bool = False) -> Upload:
    content = collectors.stream(20, seed, sent_for)
    return Upload(scheme=SCHEME, kind="stream", content=content, is_handed=is_handed)


def test_ids_of_a_closed_round_leave_memory_and_disk_and_others_stay(tmp_path: Path) -> None:
    """Sealed and not yet sealed, after a restart, too; nothing that was taken is lost."""
    kept = Store(tmp_path, [SCHEME])
    way = Intake(kept)
    for seed, sent_for in ((1, "r1"), (2, "r2"), (3, "")):
        assert way.bring(upload(seed, sent_for)).accepted == 20
    token = collectors.of_token(8, 0, "r1")
    assert way.bring(Upload(scheme=SCHEME, kind="one", content=token)).accepted == 1
    sealer = Sealer(tmp_path, 0)
    sealer.seal(everything=True)
    assert way.bring(upload(4, "r1")).accepted == 20  # in no file yet
    assert (len(kept), on_disk(tmp_path)) == (101 - 20, 101 - 20)
    way.close(frozenset({(SCHEME.digest, "r1")}))
    late = way.bring(upload(1, "r1"))
    assert (late.accepted, late.replayed, late.refused) == (0, 0, {inbox.LATE: 20})
    assert len(kept) == 40
    assert way.bring(upload(5, "r1")).refused == {inbox.LATE: 20}  # by its round: its id was never seen
    assert [way.bring(upload(seed, sent_for)).replayed for seed, sent_for in ((2, "r2"), (3, ""))] == [20, 20]
    assert way.bring(upload(6, "r2")).accepted == 20
    sealer.seal(everything=True)
    assert on_disk(tmp_path) == len(kept) == len(Store(tmp_path, [SCHEME])) == 60
    with sqlite3.connect(tmp_path / store.FILE) as database:
        assert database.execute("select count(*) from heard").fetchone() == (0,)
    batches = inbox.batches_of(landing(tmp_path, SCHEME.digest), SCHEME)
    assert sorted((batch.sent_for, batch.reports) for batch in batches) == [
        ("", 20),
        ("r1", 20),
        ("r1", 21),
        ("r2", 20),
        ("r2", 20),
    ]


def test_what_was_handed_on_is_taken_whatever_was_closed_since(tmp_path: Path) -> None:
    """Its sender was told `accepted`, at another door."""
    way = Intake(Store(tmp_path, [SCHEME]))
    way.close(frozenset({(SCHEME.digest, "r1")}))
    assert way.bring(upload(1, "r1", is_handed=True)).accepted == 20
    assert way.bring(upload(2, "r1")).accepted == 0


def test_only_the_folder_of_a_collector_is_told(tmp_path: Path) -> None:
    place = landing(tmp_path, SCHEME.digest)
    place.mkdir(parents=True)
    inbox.close(place, "r1")
    assert (inbox.closed_rounds(place), list(place.iterdir())) == ([], [])
    Store(tmp_path, [SCHEME])
    for name in ("r2", "r1", "r1", "2026-11-20"):
        inbox.close(place, name)
    assert inbox.closed_rounds(place) == ["2026-11-20", "r1", "r2"]
    assert {path.stat().st_mode & 0o77 for path in (place / inbox.CLOSED).iterdir()} == {0}


def _answered(sender: Sender, content: bytes, wanted: dict[str, int]) -> bool:
    return bool(sender.stream(content).said["refused"] == wanted)


@pytest.mark.slow
@pytest.mark.parametrize("refuses", [False, True])
def test_a_round_that_lands_is_closed_where_that_was_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: bool
) -> None:
    monkeypatch.setattr(backend, "_TICK_SECONDS", 0.1)
    scheme = tmp_path / "colours.toml"
    scheme.write_text(collectors.TEXT, encoding="utf-8")
    folder = tmp_path / "collected"
    with collector(folder, seconds=0, refuse_late=refuses) as sender:
        assert sender.stream(collectors.stream(400, 1, "r1")).said["accepted"] == 400
        place = landing(folder, SCHEME.digest)
        until = time.monotonic() + 20
        while not list(place.glob("*.parquet")) and time.monotonic() < until:
            time.sleep(0.05)
        run = undrawn.run(scheme, round_="r1", reports=place, data=tmp_path / "data")
        landing_step.land(run)  # again: nothing is told twice
        late, wanted = collectors.stream(30, 2, "r1"), {inbox.LATE: 30} if refuses else {}
        while not _answered(sender, late, wanted) and time.monotonic() < until:
            time.sleep(0.05)
        answer = sender.stream(late).said
        assert (answer["refused"], answer["already_have"]) == (wanted, 0 if refuses else 30)
        single = sender.one(collectors.single(9, "r1"))
        assert single.status == (422 if refuses else 201)
        assert sender.one(collectors.single(10, "r2")).status == 201
    reports = sum(batch.reports for batch in inbox.batches_of(place, SCHEME))
    refused = sum(wire.read_refused(path, SCHEME).get(inbox.LATE, 0) for path in place.glob("*.parquet"))
    assert (reports, refused > 30) == ((401, True) if refuses else (432, False))
