"""Collectors that share a folder: whatever door a report comes to, its owner takes it, once."""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcore import wire
from dpcore.collector import backend
from dpcore.collector.store import database as store_module
from dpcore.collector.store import transfer as handing_module
from dpcore.collector.store.database import Store
from dpcore.collector.store.intake import Intake
from dpcore.collector.store.report_ids import MOST, WHOLE, Share
from dpcore.collector.store.sealing import Sealer, landing
from dpcore.collector.store.transfer import Transfer
from dpcore.errors import SchemeError, StoreError
from dpcore.wire import inbox
from tests.helpers import collectors
from tests.helpers.collectors import SCHEME, collector

THREE = [Share(number=k, count=3) for k in (1, 2, 3)]


def rows(seed: int, count: int = 60, sent_for: str = "") -> wire.Rows:
    return wire.read_stream(collectors.stream(count, seed, sent_for), SCHEME)


def sealed_ids(folder: Path) -> list[bytes]:
    return [
        row.tobytes()
        for path in sorted(landing(folder, SCHEME.digest).glob("*.parquet"))
        for row in wire.read_reports(path, SCHEME).ids
    ]


def sent_ids(*seeds: int, count: int = 60) -> list[bytes]:
    return sorted(row.tobytes() for seed in seeds for row in collectors.reports(count, seed).ids)


def deleted(path: Path) -> None:
    path.unlink()


def carry(folder: Path, share: Share, *, seal: bool = True) -> int:
    """One beat of a collector that has just started, and its end; how many reports it took that were handed on to it."""
    store, transfer, sealer = (
        Store(folder, [SCHEME], share),
        Transfer(folder, [SCHEME], share),
        Sealer(folder, 60, share),
    )
    transfer.send()
    accepted = 0
    for path, upload in transfer.received():
        accepted += Intake(store).bring(upload).accepted
        deleted(path)
    sealer.mend()
    if seal:
        sealer.seal(everything=True)
    for part in (store, transfer, sealer):
        part.close()
    return accepted


def test_every_id_has_one_owner_and_all_own_alike(subtests: pytest.Subtests) -> None:
    """Beside the rule said once more, in whole numbers."""
    for of in [1, 2, 3, 7, MOST]:
        with subtests.test(of=of):
            ids = np.random.default_rng(of).integers(0, 256, (20_000, 16), dtype=np.uint8)
            ids[:2] = [[0] * 16, [255] * 16]
            owners = Share(count=of).owners(ids)
            assert owners.tolist() == [1 + int.from_bytes(name[:2].tobytes(), "big") * of // 65536 for name in ids]
            assert (owners[0], owners[1]) == (1, of)
            counts = np.bincount(owners, minlength=of + 1)[1:]
            assert np.all(np.abs(counts - 20_000 / of) < 6 * np.sqrt(20_000 / of))


def test_a_share_is_read_or_refused_in_one_line() -> None:
    assert (Share.parse("2/4"), Share.parse("1/1")) == (Share(number=2, count=4), WHOLE)
    for text in ("0/4", "5/4", "4", "1/65", "a/b", "-1/4", "1/4/4", " 1/4", "01/4"):
        with pytest.raises(SchemeError, match="--share must be K/N") as refused:
            Share.parse(text)
        assert "\n" not in str(refused.value)


def test_whatever_door_a_report_comes_to_it_is_kept_once_by_its_owner(tmp_path: Path) -> None:
    """To its owner's, to another's, to all of them, and again when all have it."""
    for turn in range(2):
        for share in THREE:
            store = Store(tmp_path, [SCHEME], share)
            sent = [rows(share.number), rows(9), rows(5, sent_for="r1")]
            for arrival, fate in zip(sent, store.take(sent, {}), strict=True):
                own = share.owners(arrival.ids) == share.number
                assert fate.handed.tolist() == (~own).tolist()
                assert fate.new.tolist() == ([False] * 60 if turn else own.tolist())
        taken = [carry(tmp_path, share, seal=beat > 0) for beat in range(2) for share in THREE]
        assert (sum(taken) > 0) == (turn == 0)
        assert sorted(sealed_ids(tmp_path)) == sent_ids(1, 2, 3, 5, 9)
    for share in THREE:  # each remembers its own alone
        assert len(Store(tmp_path, [SCHEME], share)) == sum(
            int(share.owners(np.frombuffer(name, dtype=np.uint8)[None])[0]) == share.number
            for name in sent_ids(1, 2, 3, 5, 9)
        )
    batches = inbox.batches_of(landing(tmp_path, SCHEME.digest), SCHEME)
    assert {batch.sent_for for batch in batches} == {"", "r1"}
    ids = [name for batch in batches for name in sealed_ids_of(Path(batch.path))]
    assert all(own == sorted(own) for own in map(sealed_ids_of, (Path(batch.path) for batch in batches)))
    assert len(ids) == len(set(ids)) == 300


def sealed_ids_of(path: Path) -> list[bytes]:
    return [row.tobytes() for row in wire.read_reports(path, SCHEME).ids]


def test_what_is_handed_on_is_sorted_and_forgotten(tmp_path: Path) -> None:
    one, other = Share(number=1, count=2), Share(number=2, count=2)
    store = Store(tmp_path, [SCHEME], one)
    for seed in (3, 1, 2):
        store.take([rows(seed)], {})
    transfer = Transfer(tmp_path, [SCHEME], one)
    waiting = transfer.waiting()
    assert transfer.send() == 1
    assert (transfer.send(), transfer.waiting()) == (0, 0)
    [(_, upload)] = Transfer(tmp_path, [SCHEME], other).received()
    assert upload.is_handed
    ids = [row.tobytes() for row in wire.read_stream(upload.content, SCHEME).ids]
    assert (len(ids), ids) == (waiting, sorted(ids))
    Sealer(tmp_path, 0, one).seal(everything=True)
    Sealer(tmp_path, 0, one).checkpoint()
    left = b"".join(path.read_bytes() for path in one.place(tmp_path).glob(f"{store_module.FILE}*"))
    assert not any(name in left for name in ids)


class Killed(BaseException):
    """In place of kill -9: nobody catches it."""


@pytest.mark.parametrize("after", [False, pytest.param(True, marks=pytest.mark.slow)])  # as before the next, all but
def test_a_kill_at_any_step_of_handing_on_counts_each_report_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    died, last = True, 0
    while died:
        last += 1
        folder, calls = tmp_path / str(last), 0
        Store(folder, [SCHEME], THREE[0]).take([rows(1, 12)], {})

        def dying(real: Any, last: int = last) -> Any:
            def call(*given: Any) -> Any:
                nonlocal calls
                calls += 1
                if calls == last and not after:
                    raise Killed
                done = real(*given)
                if calls == last:
                    raise Killed
                return done

            return call

        with monkeypatch.context() as patched:
            for name in ("write_durably", "sync_folder", "delete_in_turns"):
                patched.setattr(handing_module, name, dying(getattr(handing_module, name)))
            patched.setattr(handing_module.os, "replace", dying(handing_module.os.replace))
            patched.setattr(sys.modules[__name__], "deleted", dying(deleted))
            try:
                for share in THREE:
                    carry(folder, share, seal=False)
                died = False
            except Killed:
                pass
        for share in THREE * 2:
            carry(folder, share)
        assert sorted(sealed_ids(folder)) == sent_ids(1, count=12), last
    assert last > 8


def test_a_folder_stays_with_those_who_share_it(tmp_path: Path) -> None:
    Store(tmp_path / "one", [SCHEME])
    for share in THREE[:2]:
        Store(tmp_path / "three", [SCHEME], share)
    for folder, share, why in (
        ("one", THREE[0], "belongs to a single collector"),
        ("three", WHOLE, "is shared by 3 collectors; use --share K/3"),
        ("three", Share(number=1, count=4), "is shared by 3 collectors"),
    ):
        with pytest.raises(StoreError, match=why) as refused:
            Store(tmp_path / folder, [SCHEME], share)
        assert "\n" not in str(refused.value)
    assert len(list((tmp_path / "three" / inbox.SHARES).iterdir())) == 2
    assert len(Store(tmp_path / "three", [SCHEME], THREE[2])) == 0


def test_what_has_changed_on_the_way_is_not_taken_and_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one, other = Share(number=1, count=2), Share(number=2, count=2)
    Store(tmp_path, [SCHEME], one).take([rows(1), rows(2, sent_for="r1")], {})
    with sqlite3.connect(one.place(tmp_path) / store_module.FILE) as database:
        (body,) = database.execute("select body from handing where sent_for = ''").fetchone()
        database.execute("update handing set body = ? where sent_for = ''", (body[:-9] + b"x" + body[-8:],))
    transfer, sealer = Transfer(tmp_path, [SCHEME], one), Sealer(tmp_path, 0, one)
    assert (transfer.send(), transfer.waiting()) == (1, 0)
    assert sealer.set_aside() > 0
    [file] = (other.place(tmp_path) / "handed").glob("*.arrows")
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    owner = Transfer(tmp_path, [SCHEME], other)
    assert [list(owner.received()) for _ in range(2)] == [[], []]
    assert [record.getMessage().rpartition(": ")[2] for record in caplog.records][1:] == ["it is damaged"]
    file.write_bytes(whole)
    assert len(list(owner.received())) == 1


def test_over_http_any_door_answers_and_who_ends_last_leaves_nothing_unsealed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second collector is started, and ended, before the first ends; the third is never there."""
    monkeypatch.setattr(backend, "_TICK_SECONDS", 0.1)
    monkeypatch.setattr(backend, "_HANDOVER_SECONDS", 0.3)
    single = collectors.single(7)
    report_id = wire.read_report(single, SCHEME).id
    with collector(tmp_path, share=THREE[0]) as first:
        with collector(tmp_path, share=THREE[1]) as second:
            for sender in (first, second, first):
                answer = sender.stream(collectors.stream(60, 1))
                assert answer.status == 200
                assert sum((answer.said["accepted"], answer.said["already_have"])) == 60
                assert sender.one(single).status in (200, 201)
        assert first.stream(collectors.stream(60, 2)).status == 200
        said = first.get("/metrics").content.decode()
        assert 'outcome="handed_on"' in said
    assert not list(tmp_path.rglob("*.arrows"))
    named = json.loads(single)["report"]
    assert named == report_id
    found = sealed_ids(tmp_path)
    assert len(found) == len(set(found)) == 121
