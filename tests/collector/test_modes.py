"""Nobody but its owner can read what holds reports: all that a collector, `privatize` and rounds leave behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from dpcore import wire
from dpcore.collector.store import database, sealing
from dpcore.collector.store.database import Store
from dpcore.collector.store.report_ids import Share
from dpcore.collector.store.sealing import Sealer
from dpcore.collector.store.transfer import Transfer
from dpcore.protocol.scheme import Scheme
from dpcore.rounds.exchange import outgoing_reports
from dpcore.rounds.steps import estimation, landing, preparation, privatization, sequence
from tests.helpers import collectors
from tests.helpers.collectors import COLOUR, SCHEME, collector
from tests.helpers.kept_open import kept_open

FOR_OTHERS = ("warehouse", "figures")  # tables and pictures, of which none holds a report


@pytest.fixture(autouse=True)
def generous() -> Iterator[None]:
    """A process that keeps nothing from anybody by itself."""
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(*places: Path) -> dict[str, str]:
    """All that others can read, write or look into, with its mode; symbolic links have none."""
    found = {place: place.stat().st_mode for place in places}
    found |= {path: path.stat().st_mode for place in places for path in place.rglob("*")}
    return {str(path): oct(mode) for path, mode in found.items() if mode & 0o077}


def test_what_a_collector_keeps_is_its_owners(tmp_path: Path) -> None:
    folder = tmp_path / "data/collected"
    with collector(folder, seconds=0) as sender:
        sender.stream(collectors.stream(20, 1))
        sender.one(collectors.single(3))
        assert {path.name for path in folder.glob("store.*")} > {database.FILE}  # the log and its index, beside it
        assert open_to_others(folder) == {}
    assert list(sealing.landing(folder, SCHEME.digest).glob("*.parquet"))
    assert open_to_others(folder) == {}
    assert folder.parent.stat().st_mode & 0o777 == 0o777  # others' matter


def test_what_is_handed_on_is_its_owners(tmp_path: Path) -> None:
    folder, share = tmp_path / "collected", Share(number=1, count=2)
    rows = wire.read_stream(collectors.stream(20, 1), SCHEME)
    assert Store(folder, [SCHEME], share).take([rows], {})[0].handed.any()
    assert Transfer(folder, [SCHEME], share).send() == 1
    assert list(folder.rglob("*.arrows"))
    assert open_to_others(folder) == {}


def test_a_folder_that_was_there_is_left_as_it_is_and_an_older_store_is_not(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    Store(tmp_path, [SCHEME]).take([], {(SCHEME.digest, "not_json"): 1})
    (tmp_path / database.FILE).chmod(0o644)
    Store(tmp_path, [SCHEME])
    sealer = Sealer(tmp_path, 60)
    sealer.seal(everything=True)
    assert open_to_others(tmp_path) == {str(tmp_path): "0o40750"}
    for sealed in sealing.landing(tmp_path, SCHEME.digest).glob("*.parquet"):
        for made in (sealed, sealed.parent, sealed.parent.parent):
            made.chmod(0o755)
    sealer.mend()
    assert open_to_others(tmp_path) == {str(tmp_path): "0o40750"}


@pytest.mark.parametrize("target", ["out", "new/out.parquet", "new/out.jsonl"])
def test_what_privatize_leaves_is_its_owners(tmp_path: Path, target: str) -> None:
    pd.DataFrame({"colour": ["red", "blue"] * 5, "height": [0.5, 1.5] * 5}).to_csv(tmp_path / "people.csv")
    keeping = (
        outgoing_reports.Keeping(key=tmp_path / "key", person="who")
        if "jsonl" in target
        else outgoing_reports.Keeping()
    )
    if keeping.person:
        pd.read_csv(tmp_path / "people.csv").assign(who=[f"p{n}" for n in range(10)]).to_csv(tmp_path / "people.csv")
    outgoing_reports.send(SCHEME, tmp_path / "people.csv", tmp_path / target, keeping=keeping)
    assert open_to_others((tmp_path / target).parent if "/" in target else tmp_path / target) == {}


def test_a_round_leaves_nothing_open_but_what_is_for_others(tmp_path: Path) -> None:
    """Its run, before and after it lands, and the ids that it has counted; of a category: no density has files of its own."""
    people, data = tmp_path / "people.csv", tmp_path / "data"
    pd.DataFrame({"colour": ["red", "blue", "green"] * 400}).to_csv(people)
    (tmp_path / "colours.toml").write_text(COLOUR, encoding="utf-8")
    outgoing_reports.send(Scheme.from_toml(COLOUR), people, tmp_path / "sent")

    def others() -> dict[str, str]:
        places = [place for place in data.iterdir() if not place.name.startswith((*FOR_OTHERS, ".warehouse"))]
        return open_to_others(*places)

    with kept_open():
        private = preparation.prepare(tmp_path / "colours.toml", round_="r0", data=data, records=people)
        sequence.collect(private, sequence.Here())
        assert others() == {}
        assert not (data / "counted").exists()
        run = preparation.prepare(tmp_path / "colours.toml", round_="r1", data=data, reports=tmp_path / "sent")
        sequence.collect(run, sequence.Here())
        estimation.estimate(run)
        assert others() == {}
        landing.land(run)
        assert others() == {}
        assert (data / "counted").exists()
        run.folder.chmod(0o755)  # as an older ldpflow made it
        preparation.prepare(tmp_path / "colours.toml", round_="r1", data=data, again=True, reports=tmp_path / "sent")
        assert others() == {}


def test_a_runs_own_reports_are_not_in_the_order_of_its_records(tmp_path: Path) -> None:
    """By their random ids, which a rehearsal's have not: its seed is known, and with it all of its noise."""
    people = pd.DataFrame({"colour": ["red"] * 300, "height": [1.0] * 300})
    people.to_csv(tmp_path / "people.csv")
    (tmp_path / "colours.toml").write_text(collectors.TEXT, encoding="utf-8")
    for seed in (None, 7):
        with kept_open():
            run = preparation.prepare(
                tmp_path / "colours.toml", records=tmp_path / "people.csv", data=tmp_path / f"{seed}", seed=seed
            )
            [path] = privatization.privatize_records(run)
        ids = wire.read_reports(path, SCHEME).ids
        assert (ids is None) == (seed is not None)
        if ids is not None:
            names = [row.tobytes() for row in ids]
            assert names == sorted(set(names))
