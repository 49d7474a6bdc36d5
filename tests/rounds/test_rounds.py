"""Rounds that follow each other, on real DuckDB files: late reports, waiting, backfills, repeats, and what is deleted."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer

import dpcore as dp
from dpcore import cli, wire
from dpcore._random import seeded
from dpcore.collector.store import sealing
from dpcore.errors import InvalidReport, NotEstimable, SchemeError, TooFewClients, WarehouseError
from dpcore.pipeline import privatize
from dpcore.protocol.report import ReportBatch, concatenate, with_ids
from dpcore.protocol.scheme import Scheme
from dpcore.results import warehouse
from dpcore.rounds.maintenance.backfill import rounds_of
from dpcore.rounds.maintenance.cleanup import clean, in_words
from dpcore.rounds.run import Run
from dpcore.rounds.steps import aggregation, estimation, landing, preparation, privatization, sequence
from tests.helpers import collectors, landed, undrawn

pytestmark = pytest.mark.slow  # dozens of small rounds
AT_NIGHT = pytest.mark.nightly("every case")

SCHEME = """
name = "consumer_expenditure"
clients = 2000
[attributes.urban_rural]
type = "categorical"
categories = ["urban", "rural"]
epsilon = 2
"""


@pytest.fixture(scope="module")
def scheme_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scheme") / "scheme.toml"
    path.write_text(SCHEME, encoding="utf-8")
    return path


def send(scheme_file: Path, folder: Path, name: str, n: int, sent_for: str = "", seed: int = 1) -> Path:
    """A file of n reports, as clients send it."""
    scheme = Scheme.from_toml(scheme_file)
    people = {"urban_rural": np.where(np.arange(n) % 3 == 0, "rural", "urban")}
    wire.write_reports(folder / f"{name}.parquet", scheme, privatize(scheme, people, seeded(seed)), sent_for)
    return folder / f"{name}.parquet"


def collect(scheme_file: Path, data: Path, round_: str, *, min_clients: int = 0) -> None:
    undrawn.run(scheme_file, reports=data / "inbox", round_=round_, data=data, min_clients=min_clients)


def simulate(scheme_file: Path, data: Path, *rounds: str) -> None:
    for round_ in rounds:
        undrawn.run(scheme_file, round_=round_, data=data)


def ask(data: Path, sql: str) -> list[list[object]]:
    return warehouse.query(data / "warehouse.duckdb", sql).values.tolist()


def tables(data: Path) -> dict[str, pd.DataFrame]:
    """Everything that has landed, but for pictures and what no two goes have in common."""
    found = landed.tables(data / "warehouse.duckdb", data)
    del found["figures"]
    return found


DAYS = ("2026-11-01", "2026-11-02", "2026-11-03")


@pytest.fixture(scope="module")
def in_order(scheme_file: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    """The tables of three rounds, one after the other and undisturbed."""
    data = tmp_path_factory.mktemp("order")
    simulate(scheme_file, data, *DAYS)
    found = tables(data)
    assert len(found["comparisons"]) > 0
    assert found["checks"]["name"].str.startswith("drift(").sum() == 2
    return found


@pytest.mark.parametrize(
    "order",
    [(2, 0, 1), *(pytest.param(each, marks=AT_NIGHT) for each in ((0, 1, 2, 1), (1, 2, 0), (0, 1, 2, 0, 2)))],
    ids=str,
)
def test_rounds_in_another_order_or_run_again_end_in_the_same_tables(
    scheme_file: Path, tmp_path: Path, in_order: dict[str, pd.DataFrame], order: tuple[int, ...]
) -> None:
    simulate(scheme_file, tmp_path, *(DAYS[day] for day in order))
    landed.same(in_order, tables(tmp_path))


def test_rounds_in_another_order_end_with_the_same_pictures(scheme_file: Path, tmp_path: Path) -> None:
    found = []
    for name, order in (("in order", DAYS), ("else", (DAYS[2], DAYS[0], DAYS[1]))):
        for round_ in order:
            cli.run(scheme_file, round_=round_, data=tmp_path / name)
        rows = ask(tmp_path / name, "select run_id, name, path from figures order by all")
        found.append({(run, picture): Path(str(path)).read_bytes() for run, picture, path in rows})
    assert sum(picture == "urban_rural_changes" for _, picture in found[0]) == 2
    assert found[0] == found[1]


def test_a_backfill_runs_what_is_missing_and_ends_in_the_same_tables(
    scheme_file: Path, tmp_path: Path, in_order: dict[str, pd.DataFrame], capsys: pytest.CaptureFixture[str]
) -> None:
    simulate(scheme_file, tmp_path, DAYS[1])
    days = [datetime.fromisoformat(DAYS[0]), datetime.fromisoformat(DAYS[2])]
    cli.backfill(*days, scheme_file, data=tmp_path, dry_run=True)
    assert capsys.readouterr().out == f"{DAYS[0]}\n{DAYS[2]}\n2 of 3 rounds would be run\n"
    cli.backfill(*days, scheme_file, data=tmp_path)
    said = capsys.readouterr().out
    assert "round 2026-11-02" not in said
    assert "2 of 2 rounds have landed" in said
    landed.same(in_order, tables(tmp_path))
    cli.backfill(*days, scheme_file, data=tmp_path, dry_run=True)
    assert capsys.readouterr().out == "0 of 3 rounds would be run\n"


def test_a_backfill_goes_on_after_a_round_that_fails(
    scheme_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = estimation.estimate

    def refuse(run: Run) -> Path:
        if run.plan.round == DAYS[1]:
            raise NotEstimable("not today")
        return real(run)

    monkeypatch.setattr(estimation, "estimate", refuse)
    with pytest.raises(typer.Exit) as caught:
        cli.backfill(*(datetime.fromisoformat(day) for day in (DAYS[0], DAYS[2])), scheme_file, data=tmp_path)
    assert caught.value.exit_code == 1
    assert capsys.readouterr().err == f"ldpflow: round {DAYS[1]}: not today\n"
    assert ask(tmp_path, "select round, state from runs order by round") == [
        [DAYS[0], "landed"],
        [DAYS[1], "failed"],
        [DAYS[2], "landed"],
    ]


def test_a_backfill_is_of_days(scheme_file: Path, tmp_path: Path) -> None:
    scheme = Scheme.from_toml(scheme_file)
    assert rounds_of(scheme, tmp_path / "none.duckdb", date(2026, 2, 27), date(2026, 3, 1)) == [
        "2026-02-27",
        "2026-02-28",
        "2026-03-01",
    ]
    with pytest.raises(SchemeError, match="the first day first"):
        rounds_of(scheme, tmp_path / "none.duckdb", date(2026, 3, 1), date(2026, 2, 27))


@pytest.mark.parametrize(
    ("module", "step"),
    [(aggregation, "aggregate_file"), (aggregation, "merge"), (estimation, "estimate"), (landing, "land")],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_round_that_was_stopped_and_goes_on_ends_in_the_same_tables(
    scheme_file: Path,
    tmp_path: Path,
    in_order: dict[str, pd.DataFrame],
    monkeypatch: pytest.MonkeyPatch,
    module: Any,
    step: str,
) -> None:
    simulate(scheme_file, tmp_path, *DAYS[:2])
    with monkeypatch.context() as patch:
        patch.setattr(module, step, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            simulate(scheme_file, tmp_path, DAYS[2])
    assert ask(tmp_path, "select count(*) from latest_runs") == [[2]]
    simulate(scheme_file, tmp_path, DAYS[2])
    landed.same(in_order, tables(tmp_path))


def test_a_round_that_fails_when_it_is_run_again_stays_landed(
    scheme_file: Path, tmp_path: Path, in_order: dict[str, pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    simulate(scheme_file, tmp_path, *DAYS)
    monkeypatch.setattr(aggregation, "merge", lambda *_: (_ for _ in ()).throw(NotEstimable("no")))
    with pytest.raises(NotEstimable):
        simulate(scheme_file, tmp_path, DAYS[1])
    landed.same(in_order, tables(tmp_path))


@AT_NIGHT  # by day `test_turns` has two processes with one round, and with two
def test_two_at_the_same_moment_end_in_the_same_tables(
    scheme_file: Path, tmp_path: Path, in_order: dict[str, pd.DataFrame]
) -> None:
    """Each round twice at once, and all rounds at once; a go that trips over the other's files may be refused, and says so."""
    code = (
        "import sys; from dpcore import cli; from dpcore.rounds.steps import landing; landing.draw = lambda run, compared: []\n"
        "cli.main(['run', *sys.argv[1:]])"
    )
    words = [sys.executable, "-c", code, str(scheme_file), "--data", str(tmp_path), "--round"]
    going = [
        subprocess.Popen([*words, day], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for day in DAYS
        for _ in range(2)
    ]
    for process in going:
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0 or said.startswith("ldpflow: "), said
    landed.same(in_order, tables(tmp_path))


def test_a_go_that_began_later_does_not_spoil_the_landing_of_an_earlier_one(scheme_file: Path, tmp_path: Path) -> None:
    first = preparation.prepare(scheme_file, round_="r", data=tmp_path, flow_run_id="first")
    sequence.collect(first, sequence.Here())
    estimation.estimate(first)
    second = preparation.prepare(scheme_file, round_="r", data=tmp_path, flow_run_id="second")
    assert second.folder == first.folder
    landing.land(first)
    assert ask(tmp_path, "select state, flow_run_id from runs") == [["landed", "first"]]
    landing.land_failure(second)
    assert ask(tmp_path, "select state, flow_run_id from runs") == [["landed", "first"]]


def test_late_reports_go_to_the_next_round_and_are_counted_as_late(scheme_file: Path, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    send(scheme_file, inbox, "a", 600, DAYS[0], seed=1)
    collect(scheme_file, tmp_path, DAYS[0])
    send(scheme_file, inbox, "late", 50, DAYS[0], seed=2)
    send(scheme_file, inbox, "b", 500, DAYS[1], seed=3)
    send(scheme_file, inbox, "any", 30, seed=4)
    send(scheme_file, inbox, "early", 70, DAYS[2], seed=5)
    collect(scheme_file, tmp_path, DAYS[1])
    counted = "select round, accepted, late from latest_runs order by round"
    assert ask(tmp_path, counted) == [[DAYS[0], 600, 0], [DAYS[1], 580, 50]]
    before = tables(tmp_path)
    for day in DAYS[:2]:  # a landed round is closed
        collect(scheme_file, tmp_path, day)
    landed.same(before, tables(tmp_path))
    collect(scheme_file, tmp_path, DAYS[2])
    assert ask(tmp_path, counted)[2] == [DAYS[2], 70, 0]
    assert ask(tmp_path, "select count(*), count(distinct file), sum(reports) from latest_batches") == [[5, 5, 1250]]
    with pytest.raises(TooFewClients, match="other rounds have counted 5, and 0 are for later rounds"):
        collect(scheme_file, tmp_path, "2026-11-04")


def test_a_renamed_file_is_counted_once_and_a_copy_is_refused(scheme_file: Path, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    path = send(scheme_file, inbox, "a", 600)
    collect(scheme_file, tmp_path, DAYS[0])
    path.rename(inbox / "b.parquet")
    with pytest.raises(TooFewClients, match="holds no reports for round"):
        collect(scheme_file, tmp_path, DAYS[1])
    (inbox / "c.parquet").write_bytes((inbox / "b.parquet").read_bytes())
    with pytest.raises(InvalidReport, match=r"is a copy of b\.parquet"):
        collect(scheme_file, tmp_path, DAYS[1])


def test_a_report_is_counted_once_whichever_way_it_came(scheme_file: Path, tmp_path: Path) -> None:
    """Posted, dropped by hand in the same round, and again when a round has counted it and its file is gone."""
    scheme = Scheme.from_toml(scheme_file)
    inbox = sealing.landing(tmp_path, scheme.digest)
    people = {"urban_rural": ["urban", "rural", "urban"] * 100}
    posted, other, third, last = (with_ids(privatize(scheme, people, seeded(k)), seeded((k, 1))) for k in range(4))
    with collectors.collector(tmp_path, scheme) as sender:
        assert sender.stream(wire.write_stream(posted, scheme), f"/schemes/{scheme.name}").said["accepted"] == 300

    def counted(round_: str, **dropped: ReportBatch) -> tuple[list[list[object]], list[list[object]]]:
        for name, batch in dropped.items():
            wire.write_reports(inbox / f"{name}.parquet", scheme, batch)
        undrawn.run(scheme_file, reports=inbox, round_=round_, data=tmp_path)
        return (
            ask(tmp_path, f"select accepted, rejected from latest_runs where round = '{round_}'"),
            ask(tmp_path, f"select reason, count from latest_rejects where round = '{round_}'"),
        )

    first = [[600, 300]], [["already_counted", 300]]
    assert counted(DAYS[0], by_hand=concatenate([posted, other])) == first
    sums = ask(tmp_path, "select value from latest_aggregates where statistic = 'count' order by cell")
    assert [value for (value,) in sums] == dp.aggregate(scheme, posted, other).statistics["urban_rural"].tolist()
    assert counted(DAYS[1], again=concatenate([third, posted])) == ([[300, 300]], [["already_counted", 300]])
    assert counted(DAYS[0]) == first  # closed, whatever came since
    for file in inbox.glob("*.parquet"):
        file.unlink()
    gone = concatenate([third, last, other, posted])
    assert counted(DAYS[2], gone=gone) == ([[300, 900]], [["already_counted", 900]])


def up_to_landing(scheme_file: Path, reports: Path, day: str, data: Path) -> Run:
    """Estimate a round, and return its run, which is to be landed."""
    run = preparation.prepare(scheme_file, reports=reports, round_=day, data=data)
    sequence.collect(run, sequence.Here())
    estimation.estimate(run)
    return run


def test_two_rounds_that_took_the_same_report_do_not_both_land(scheme_file: Path, tmp_path: Path) -> None:
    """Of two folders, as two collectors have them; run again, the one that was overtaken leaves it out."""
    scheme, runs = Scheme.from_toml(scheme_file), []
    people = {"urban_rural": ["urban", "rural", "urban"] * 100}
    first, second = (with_ids(privatize(scheme, people, seeded(k)), seeded((k, 1))) for k in range(2))
    for day, there, batch in ((DAYS[0], "here", concatenate([first, second])), (DAYS[1], "elsewhere", first)):
        wire.write_reports(tmp_path / there / "a.parquet", scheme, batch)
        runs.append(up_to_landing(scheme_file, tmp_path / there, day, tmp_path))
    landing.land(runs[1])
    with pytest.raises(InvalidReport, match="another round has landed in the meantime and counted 300 of its reports"):
        landing.land(runs[0])
    undrawn.run(scheme_file, reports=tmp_path / "here", round_=DAYS[0], data=tmp_path)
    assert ask(tmp_path, "select accepted, rejected from latest_runs order by round") == [[300, 300], [300, 0]]


def test_two_rounds_that_took_the_same_file_do_not_both_land(scheme_file: Path, tmp_path: Path) -> None:
    send(scheme_file, tmp_path / "inbox", "a", 600)
    runs = [up_to_landing(scheme_file, tmp_path / "inbox", day, tmp_path) for day in DAYS[:2]]
    landing.land(runs[1])
    with pytest.raises(
        WarehouseError,
        match="files already counted: 1 of its files of reports in round 2026-11-02; run this round again",
    ):
        landing.land(runs[0])
    assert ask(tmp_path, "select round, state from runs") == [[DAYS[1], "landed"]]


def test_a_round_whose_owner_deleted_its_files_may_be_run_again(scheme_file: Path, tmp_path: Path) -> None:
    path = send(scheme_file, tmp_path / "inbox", "a", 600)
    send(scheme_file, tmp_path / "inbox", "b", 500, DAYS[1])
    collect(scheme_file, tmp_path, DAYS[0])
    before = tables(tmp_path)
    path.unlink()
    collect(scheme_file, tmp_path, DAYS[0])
    landed.same(before, tables(tmp_path))


def test_a_round_with_too_few_clients_waits_and_its_reports_are_kept(
    scheme_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inbox = tmp_path / "inbox"
    send(scheme_file, inbox, "a", 300, DAYS[0], seed=1)
    for _ in range(2):
        with pytest.raises(TooFewClients, match="held back with 300 clients, 500 are needed; nothing has landed"):
            collect(scheme_file, tmp_path, DAYS[0], min_clients=500)
    state = "select round, state, clients, accepted from runs order by round"
    assert [row[:3] for row in ask(tmp_path, state)] == [[DAYS[0], "waiting", 300]]
    assert all(len(frame) == 0 for table, frame in tables(tmp_path).items() if table != "runs")
    send(scheme_file, inbox, "b", 250, DAYS[0], seed=2)
    collect(scheme_file, tmp_path, DAYS[0], min_clients=500)  # the next attempt
    assert ask(tmp_path, state) == [[DAYS[0], "landed", 550, 550]]

    send(scheme_file, inbox, "c", 100, DAYS[1], seed=3)
    with pytest.raises(TooFewClients):
        collect(scheme_file, tmp_path, DAYS[1], min_clients=500)
    send(scheme_file, inbox, "d", 450, DAYS[2], seed=4)
    collect(scheme_file, tmp_path, DAYS[2], min_clients=500)  # the next round takes what waited, as late
    assert ask(tmp_path, "select round, accepted, late from latest_runs order by round") == [
        [DAYS[0], 550, 0],
        [DAYS[2], 550, 100],
    ]
    assert inbox.exists()


def test_nobody_is_privatized_for_a_round_that_waits(scheme_file: Path, tmp_path: Path) -> None:
    pd.DataFrame({"urban_rural": ["urban", "rural"] * 20}).to_parquet(tmp_path / "people.parquet")
    with pytest.raises(TooFewClients, match="held back with 40 clients, 100 are needed"):
        undrawn.run(scheme_file, records=tmp_path / "people.parquet", round_="r", data=tmp_path, min_clients=100)
    assert not list(tmp_path.glob("runs/*/reports"))
    undrawn.run(scheme_file, records=tmp_path / "people.parquet", round_="r", data=tmp_path, min_clients=40)
    assert ask(tmp_path, "select state, accepted from runs") == [["landed", 40]]


def test_another_scheme_of_the_same_name_starts_a_new_line(scheme_file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(SCHEME.replace("epsilon = 2", "epsilon = 3"), encoding="utf-8")
    simulate(scheme_file, tmp_path, *DAYS[:2])
    simulate(other, tmp_path, DAYS[2])
    name = "frequency(urban)"
    assert ask(tmp_path, f"select round from latest_estimates where number = '{name}' order by round") == [
        [day] for day in DAYS
    ]
    pooled = f"select rounds, last_round from pooled_estimates where number = '{name}' order by all"
    assert ask(tmp_path, pooled) == [[1, DAYS[2]], [2, DAYS[1]]]
    assert ask(tmp_path, f"select count(*) from latest_comparisons where round = '{DAYS[2]}'") == [[0]]


def later(days: int) -> datetime:
    return datetime.now(UTC) + timedelta(days=days)


def test_cleanup_deletes_what_landed_long_ago_and_never_what_has_not(scheme_file: Path, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    send(scheme_file, inbox, "a", 600, DAYS[0], seed=1)
    undrawn.run(scheme_file, round_=DAYS[0], data=tmp_path, keep_reports=True)
    collect(scheme_file, tmp_path, DAYS[0])
    waiting = send(scheme_file, inbox, "b", 20, DAYS[1], seed=2)
    with pytest.raises(TooFewClients):
        collect(scheme_file, tmp_path, DAYS[1], min_clients=500)
    begun = preparation.prepare(scheme_file, round_=DAYS[2], data=tmp_path)
    privatization.privatize_shard(begun, 0)
    before = tables(tmp_path)

    assert clean(tmp_path, keep_days=30, reports=inbox, now=later(29)) == []
    planned = clean(tmp_path, keep_days=30, reports=inbox, now=later(31), dry_run=True)
    assert all(removal.path.exists() for removal in planned)
    deleted = clean(tmp_path, keep_days=30, reports=inbox, now=later(31))
    assert deleted == planned
    assert sorted(removal.kind for removal in deleted) == ["reports", "run", "run"]
    assert not any(removal.path.exists() for removal in deleted)
    assert "2 runs' folders, 1 files of counted reports" in in_words(deleted, False)
    assert waiting.exists()
    assert begun.reports(0).exists()
    assert len(list((tmp_path / "runs").iterdir())) == 2
    landed.same(before, tables(tmp_path))
    assert clean(tmp_path, keep_days=30, reports=inbox, now=later(31)) == []

    collect(scheme_file, tmp_path, DAYS[1])  # what was kept lands
    assert ask(tmp_path, f"select accepted from latest_runs where round = '{DAYS[1]}'") == [[20]]


def test_cleanup_without_a_folder_of_reports_leaves_them_to_their_owner(scheme_file: Path, tmp_path: Path) -> None:
    path = send(scheme_file, tmp_path / "inbox", "a", 600)
    collect(scheme_file, tmp_path, DAYS[0])
    assert [removal.kind for removal in clean(tmp_path, keep_days=0, now=later(1))] == ["run"]
    assert path.exists()


def test_cleanup_forgets_the_pictures_it_deletes_and_takes_what_was_left_behind(
    scheme_file: Path, tmp_path: Path
) -> None:
    simulate(scheme_file, tmp_path, *DAYS[:2])
    for folder in (tmp_path / "runs").iterdir():
        plan = Run.at(folder).plan
        picture = tmp_path / "figures" / plan.run_id / "urban_rural.png"
        picture.parent.mkdir(parents=True)
        picture.write_bytes(b"a picture")
        row = {"run_id": [plan.run_id], "name": ["urban_rural"], "path": [str(picture)]}
        warehouse.add_figures(plan.warehouse, pd.DataFrame(row))
    assert ask(tmp_path, "select count(*) from figures where name = 'urban_rural'") == [[2]]
    half = tmp_path / "runs" / ".leaving-1234"
    half.mkdir()
    (tmp_path / "bundles").mkdir()
    partial = tmp_path / "bundles" / ".table.npy.99.partial"
    partial.write_bytes(b"half")
    found = clean(tmp_path, keep_days=30, now=later(31))
    assert sorted(removal.kind for removal in found) == ["leftover", "leftover", "pictures", "pictures", "run", "run"]
    assert ask(tmp_path, "select count(*) from figures") == [[0]]
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} == {".duckdb"}
    with pytest.raises(SchemeError, match="keep_days"):
        clean(tmp_path, keep_days=-1)


def test_the_command_says_what_it_would_delete(
    scheme_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    simulate(scheme_file, tmp_path, DAYS[0])
    capsys.readouterr()
    cli.cleanup(keep_days=0, data=tmp_path, dry_run=True)
    said = capsys.readouterr().out
    assert said.splitlines()[-1].startswith("would be deleted: 1 runs' folders")
    assert list((tmp_path / "runs").iterdir())
    cli.cleanup(keep_days=30, data=tmp_path)
    assert capsys.readouterr().out == "nothing is old enough to be deleted\n"
