"""What past ldpflows wrote is read, brought up to date, or refused in a line; `tests/vectors/past` has their own files."""

from __future__ import annotations

import contextlib
import io
import json
import sqlite3
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from dpcore import cli, wire
from dpcore.collector.store.database import StoreError
from dpcore.collector.store.sealing import landing
from dpcore.errors import BudgetExceeded, DPCoreError, MigrationError
from dpcore.privacy.budget import Budget
from dpcore.privacy.ledger import Charge, Ledger
from dpcore.protocol.scheme import Scheme
from dpcore.results import warehouse
from dpcore.results.warehouse.schema_migration import shipped_migrations
from dpcore.rounds.maintenance import backup
from dpcore.rounds.steps import preparation, sequence
from dpcore.wire.ledger_file import FileStore
from tests.helpers import collectors, undrawn
from tests.vectors.past.freeze import ASKED

PAST = Path(__file__).parents[1] / "vectors" / "past"
AT_NIGHT = pytest.mark.nightly("every case")
COLLECTED = [  # pasts that had a collector and ledgers
    pytest.param("migration_25", marks=pytest.mark.slow),
    "store_1",
    pytest.param("store_2", marks=pytest.mark.slow),
]


@pytest.fixture
def unpacked(tmp_path: Path) -> Callable[[str], Path]:
    def unpack(name: str) -> Path:
        with tarfile.open(PAST / f"{name}.tar.xz") as tar:
            keeping = {"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}  # Python has filters since 3.11.4
            tar.extractall(tmp_path / name, **keeping)  # type: ignore[arg-type]
        return tmp_path / name

    return unpack


def asked(file: Path) -> dict[str, list[dict[str, object]]]:
    return {
        table: json.loads(warehouse.query(file, sql).to_json(orient="records", date_format="iso"))
        for table, sql in ASKED.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["migration_14", *(pytest.param(name, marks=AT_NIGHT) for name in ("migration_19", "migration_25")), "store_2"],
)
def test_a_past_warehouse_says_what_it_said_and_takes_the_next_round(
    unpacked: Callable[[str], Path], name: str
) -> None:
    past = unpacked(name)
    file = past / "data/warehouse.duckdb"
    said = json.loads((past / "said.json").read_text(encoding="utf-8"))
    assert asked(file) == said  # as it is
    warehouse.bring_up_to_date(file)
    assert len(warehouse.query(file, "from migrations")) == len(shipped_migrations())
    assert asked(file) == said
    given = {"data": past / "data", "min_clients": 0}
    run = undrawn.run(past / "question.toml", reports=past / "late", round_="2026-11-21", **given)
    assert run.plan.round == "2026-11-21"
    rounds = warehouse.query(file, "select round, accepted, rejected from latest_runs order by all").values.tolist()
    assert rounds == [["2026-11-20", 60, 0], ["2026-11-21", 60, 0]]
    compared = warehouse.query(file, "select distinct other_round from latest_comparisons where other_round <> ''")
    assert compared.values.tolist() == [["2026-11-20"]]


def test_a_warehouse_of_the_hour_in_which_a_migration_was_edited_is_refused_and_left(
    unpacked: Callable[[str], Path],
) -> None:
    """On 2026-11-22, from 8497cf9 to 53b8d34, migration 26 had another text."""
    past = unpacked("store_1")
    file = past / "data/warehouse.duckdb"
    before = file.read_bytes()
    given = {"reports": past / "late", "round_": "2026-11-21", "data": past / "data", "min_clients": 0}
    for use in (
        lambda: warehouse.query(file, "from runs"),
        lambda: warehouse.bring_up_to_date(file),
        lambda: undrawn.run(past / "question.toml", **given),
    ):
        with pytest.raises(
            MigrationError, match=r"migration 26 \(standing\): its text differs from the one applied"
        ) as told:
            use()
        assert "\n" not in str(told.value)
    assert file.read_bytes() == before


@pytest.mark.parametrize("name", COLLECTED)
def test_a_past_store_knows_what_it_took_and_seals_what_was_in_its_log(
    unpacked: Callable[[str], Path], name: str
) -> None:
    past = unpacked(name)
    scheme = Scheme.from_toml(past / "question.toml")
    into, lines = past / "collected", (past / "sent.jsonl").read_bytes().splitlines()
    assert len(lines) == 60
    with collectors.collector(into, scheme, seconds=0) as sender:
        answer = sender.one(lines[0], "/schemes/commute")
        assert (answer.status, answer.said) == (200, {"answer": "already have it"})
        said = sender.lines(b"\n".join(lines), "/schemes/commute").said
        assert (said["accepted"], said["already_have"]) == (0, 60)
    given = {"reports": landing(into, scheme.digest), "data": past / "new", "min_clients": 0}
    run = preparation.prepare(past / "question.toml", round_="2026-11-21", **given)
    sequence.collect(run, sequence.Here())
    counted = wire.read_aggregate(run.aggregate, scheme)
    assert (counted.n, sum(counted.rejected.values())) == (60, 0)


@pytest.mark.parametrize("name", COLLECTED)
def test_past_ledgers_are_charged_on(unpacked: Callable[[str], Path], name: str) -> None:
    past = unpacked(name)
    one = FileStore(past / "one")
    ledger = Ledger(Budget.parse("2.5"), one)
    assert str(ledger.spent()) == str(Budget.parse("2"))
    with pytest.raises(BudgetExceeded, match=r"epsilon 1 more would go beyond the total of 2.5, with 2 already spent"):
        ledger.charge([Charge(attribute="mode", cost=Budget.parse("1"))])
    ledger.charge([Charge(attribute="mode", cost=Budget.parse("0.5"))])
    assert str(ledger.spent()) == str(Budget.parse("2.5"))
    words = (
        "privatize question.toml five.csv out --key key --person badge --ledger ledgers --round 2026-11-22 --budget 2"
    )

    def privatize() -> tuple[int, str]:
        err = io.StringIO()
        with contextlib.chdir(past), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stop:
            cli.main(words.split())
        return int(stop.value.code or 0), err.getvalue()

    assert privatize() == (0, "")  # the same answers, which are paid for
    rows = (past / "five.csv").read_text().splitlines()
    (past / "five.csv").write_text("\n".join([rows[0], *(row.rpartition(",")[0] + ",50" for row in rows[1:]), ""]))
    (past / "out").rename(past / "before")
    code, said = privatize()
    assert code == 1
    assert "none of 5 respondents has enough budget for another report; nothing was drawn" in said
    assert len(list((past / "ledgers").glob("*.ledger"))) == 5


def test_what_newer_code_wrote_is_said_to_be_newer_and_left_as_it_is(
    unpacked: Callable[[str], Path], tmp_path: Path
) -> None:
    past = unpacked("store_2")
    file, scheme = past / "data/warehouse.duckdb", Scheme.from_toml(past / "question.toml")
    warehouse.bring_up_to_date(file)
    (past / "ldpflow.toml").write_text('scheme = "question.toml"\ndata = "data"\n', encoding="utf-8")
    backup.back_up(tmp_path / "b.tar", past)
    with duckdb.connect(str(file)) as connection:
        connection.execute(
            "insert into migrations select max(version) + 1, 'later', repeat('0', 64), now() from migrations"
        )
    with closing(sqlite3.connect(past / "collected/store.sqlite")) as database:
        database.execute("pragma user_version = 3")
    (past / "one").write_bytes((past / "one").read_bytes().replace(b"ldpflow ledger 2", b"ldpflow ledger 3"))
    archive = (tmp_path / "b.tar").read_bytes()
    assert archive.count(b'"format": 1') == 1
    (tmp_path / "b.tar").write_bytes(archive.replace(b'"format": 1', b'"format": 2'))
    report = (past / "sent.jsonl").read_bytes().splitlines()[0].replace(b'"format":1', b'"format":2')
    before = {path: path.read_bytes() for path in past.rglob("*") if path.is_file()}

    def collect() -> None:
        with collectors.collector(past / "collected", scheme):
            pass

    for look, error in (
        (lambda: warehouse.query(file, "from runs"), MigrationError),
        (lambda: warehouse.bring_up_to_date(file), MigrationError),
        (collect, StoreError),
        (lambda: Ledger(Budget.parse("8"), FileStore(past / "one")).spent(), DPCoreError),
        (lambda: FileStore(past / "one").append("a charge"), DPCoreError),
        (lambda: backup.restore(tmp_path / "b.tar", tmp_path / "new"), DPCoreError),
        (lambda: wire.read_report(report, scheme), DPCoreError),
    ):
        with pytest.raises(error, match=r"(of|by) a newer ldpflow") as told:
            look()
        assert "\n" not in str(told.value)
    changed = {path.name for path, content in before.items() if path.read_bytes() != content}
    assert changed <= {"store.sqlite-shm", "store.sqlite-wal"}
    assert not (tmp_path / "new").exists()
