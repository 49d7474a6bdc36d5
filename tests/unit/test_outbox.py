"""`ldpflow privatize`: what it writes, what a client keeps between rounds, and that nothing is half-written."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pytest

import dpcore as dp
from dpcore import cli, outbox, tokens, wire
from dpcore.errors import DPCoreError
from dpcore.privacy.budget import Budget
from dpcore.privacy.ledger import Ledger
from dpcore.report import Report
from dpcore.scheme import Scheme

PEOPLE = [
    {"side": "left", "colour": "red", "height": 1.2, "who": "ann"},
    {"side": "right", "colour": "green", "height": 0.4, "who": "bo"},
    {"side": "left", "colour": "green", "height": 1.9, "who": "cy"},
]


@pytest.fixture
def here(tmp_path: Path, small: Scheme) -> Path:
    (tmp_path / "small.toml").write_text(small.canonical, encoding="utf-8")
    records(tmp_path, "one", PEOPLE[:1])
    records(tmp_path, "people", PEOPLE)
    return tmp_path


def records(folder: Path, name: str, rows: list[dict[str, object]]) -> None:
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def privatize(*arguments: str, at: Path) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(at), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main(["privatize", "small.toml", *arguments])
        except SystemExit as stop:
            return int(stop.code or 0), out.getvalue(), err.getvalue()
    raise AssertionError("a command ends by exiting")


def sent(file: Path, scheme: Scheme) -> list[Report]:
    return [wire.read_report(line, scheme) for line in file.read_bytes().splitlines()]


def answers(reports: Iterable[Report]) -> list[object]:
    return [report.answers for report in reports]


@pytest.mark.parametrize("source", ["people.jsonl", "people.csv", "people.parquet"])
@pytest.mark.parametrize("target", ["out.jsonl", "out.parquet", "out"])
def test_records_in_three_forms_become_reports_in_three(here: Path, small: Scheme, source: str, target: str) -> None:
    pd.DataFrame(PEOPLE).to_csv(here / "people.csv", index=False)
    pd.DataFrame(PEOPLE).to_parquet(here / "people.parquet")
    code, out, err = privatize(source, target, "--round", "2026-11-21", at=here)
    assert (code, err) == (0, "")
    assert out == f"3 reports in {target}; nothing else left the records\n"
    if target == "out.jsonl":
        reports = sent(here / target, small)
        assert len({report.id for report in reports}) == 3
        assert {(report.token, report.sent_for) for report in reports} == {(None, "2026-11-21")}
        return
    file = here / target if target.endswith(".parquet") else here / "out/00000.parquet"
    assert dp.aggregate(small, wire.read_reports(file, small)).n == 3
    assert wire.read_stamp(file, small) == ("2026-11-21", 3)


def test_lines_and_tables_hold_the_same_reports(tmp_path: Path, small_text: str) -> None:
    for text in (small_text, f'reporting = "one"\n{small_text}'):
        scheme = Scheme.from_toml(text)
        batch = dp.privatize(scheme, pd.DataFrame(PEOPLE * 20), random=dp.seeded(1))
        batch = outbox.with_ids(batch, dp.seeded(2))
        assert wire.write_lines(tmp_path / "r.jsonl", scheme, [batch]) == 60
        wire.write_reports(tmp_path / "r.parquet", scheme, batch)
        lines = dp.aggregate(scheme, outbox.batch_of(sent(tmp_path / "r.jsonl", scheme)))
        assert lines.fingerprint == dp.aggregate(scheme, wire.read_reports(tmp_path / "r.parquet", scheme)).fingerprint


def test_a_key_makes_answers_that_last_and_tokens_of_one_survey(here: Path, small: Scheme) -> None:
    for number in range(3):
        assert privatize("one.jsonl", f"{number}.jsonl", "--key", "key", "--tokens", at=here)[0] == 0
    first, *others = (sent(here / f"{number}.jsonl", small)[0] for number in range(3))
    assert all(other.answers == first.answers for other in others)
    assert len({first.id, *(other.id for other in others)}) == 3
    assert first.token == tokens.token_of(outbox.read_key(here / "key"), small.digest)
    assert (here / "key").stat().st_mode & 0o077 == 0
    assert privatize("one.jsonl", "untold.jsonl", "--key", "key", at=here)[0] == 0
    (untold,) = sent(here / "untold.jsonl", small)
    assert (untold.token, untold.answers) == (None, first.answers)
    (here / "small.toml").write_text(small.canonical.replace('"small"', '"other"'), encoding="utf-8")
    other = Scheme.from_toml(here / "small.toml")
    assert privatize("one.jsonl", "other.jsonl", "--key", "key", "--tokens", at=here)[0] == 0
    assert sent(here / "other.jsonl", other)[0].token != first.token


def test_a_ledger_refuses_the_overdraft_and_the_same_answer_is_free(here: Path, small: Scheme) -> None:
    kept = ("--key", "key", "--ledger", "ledger", "--budget", "3.5")
    for number in range(3):
        code, out, _ = privatize("one.jsonl", f"{number}.jsonl", *kept, at=here)
        assert code == 0
        assert "spent so far: epsilon = 1.5 + ln 3 of 3.5" in out
    records(here, "one", [PEOPLE[0] | {"colour": "green"}])
    assert "epsilon = 2 + ln 3 of 3.5" in privatize("one.jsonl", "3.jsonl", *kept, at=here)[1]
    records(here, "one", [PEOPLE[1]])
    code, _, err = privatize("one.jsonl", "4.jsonl", *kept, at=here)
    assert code == 1
    assert "would go beyond the total of 3.5" in err
    assert not (here / "4.jsonl").exists()
    assert Ledger(Budget.parse("3.5"), wire.FileStore(here / "ledger")).spent() == Budget.parse("2 + ln 3")
    code, _, err = privatize("one.jsonl", "5.jsonl", "--delta", "1e-6", at=here)
    assert code == 1
    assert "--ledger FILE and --budget EPSILON with --delta" in err


def test_people_of_one_file_have_keys_and_ledgers_of_their_own(here: Path, small: Scheme) -> None:
    kept = ("--key", "key", "--person", "who", "--tokens", "--ledger", "ledgers", "--budget", "3")
    assert privatize("people.jsonl", "1.jsonl", *kept, at=here)[0] == 0
    first = sent(here / "1.jsonl", small)
    assert len({report.token for report in first}) == len(list((here / "ledgers").glob("[!.]*"))) == 3
    moved = [PEOPLE[0], PEOPLE[1] | {"side": "left", "height": 1.7}, PEOPLE[2]]
    records(here, "people", moved)
    code, out, _ = privatize("people.jsonl", "2.jsonl", *kept, at=here)
    assert code == 0
    assert "2 reports in 2.jsonl" in out
    assert "1 people were left out" in out
    assert answers(sent(here / "2.jsonl", small)) == [first[0].answers, first[2].answers]
    records(here, "people", [moved[1]])
    code, _, err = privatize("people.jsonl", "3.jsonl", *kept, at=here)
    assert (code, err) == (1, "ldpflow: none of 1 people has enough left for another report; nothing was drawn\n")
    assert not any("ann" in file.read_text() for file in (here / "ledgers").iterdir())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["one.jsonl", "out.csv"], "a .parquet or a .jsonl file, or to a folder, got 'out.csv'"),
        (["one.jsonl", "one.jsonl"], "already there"),
        (["none.jsonl", "out.jsonl"], "no file of records"),
        (["bad.jsonl", "out.jsonl"], "column 'colour' is not one of"),
        (["bad.jsonl", "out.jsonl", "--key", "key"], "column 'colour' is not one of"),
        (["cut.jsonl", "out"], "may be cut short"),
        (["people.jsonl", "out.jsonl", "--key", "key"], "3 records; keep one, or say with --person"),
        (["people.jsonl", "out.jsonl", "--key", "key", "--person", "whose"], "no key 'whose'"),
        (["nobody.jsonl", "out.jsonl", "--key", "key", "--person", "who"], "for every record whose it is"),
        (["numbered.jsonl", "out.jsonl", "--key", "key", "--person", "who"], "whole numbers without a point"),
        (["numbered.parquet", "out.jsonl", "--key", "key", "--person", "who"], "whole numbers without a point"),
        (["one.jsonl", "out.jsonl", "--tokens"], "--key FILE"),
        (["one.jsonl", "out.jsonl", "--ledger", "l"], "--budget EPSILON"),
        (["one.jsonl", "out.jsonl", "--ledger", "l", "--budget", "much"], "much"),
        (["one.jsonl", "out.jsonl", "--key", "small.toml"], "small.toml holds no key"),
        (["one.jsonl", "out.jsonl", "--key", "open"], "can be read by others"),
        (["one.jsonl", "small.toml/out.jsonl"], "cannot be written to small.toml"),
        (["one.jsonl", "out", "--round", "a round"], "a round is at most 63"),
    ],
)
def test_what_cannot_be_sent_is_one_line_and_nothing_is_written(here: Path, arguments: list[str], said: str) -> None:
    records(here, "bad", [*PEOPLE[:1], PEOPLE[1] | {"colour": "a secret"}])
    records(here, "nobody", [PEOPLE[0] | {"who": None}])
    records(here, "numbered", [PEOPLE[0] | {"who": 7}, PEOPLE[1] | {"who": 8.0}])
    pd.DataFrame(PEOPLE).assign(who=[7.0, 8.0, 9.5]).to_parquet(here / "numbered.parquet")
    (here / "cut.jsonl").write_text('{"side": "left"', encoding="utf-8")
    (here / "open").write_text(tokens.to_text(bytes(range(32))), encoding="utf-8")
    (here / "open").chmod(0o644)
    before = sorted(path.name for path in here.rglob("*"))
    code, out, err = privatize(*arguments, at=here)
    assert (code, out) == (1, "")
    assert err.startswith("ldpflow: ")
    assert err.count("\n") == 1
    assert said in err
    assert "a secret" not in err
    after = {path.name for path in here.rglob("*") if not path.is_dir()} - set(before)
    assert after <= {"key"}


def test_a_key_is_made_once(tmp_path: Path) -> None:
    key = outbox.read_key(tmp_path / "a/key")
    assert len(key) == 32
    assert outbox.read_key(tmp_path / "a/key") == key
    assert [file.name for file in (tmp_path / "a").iterdir()] == ["key"]
    assert outbox.person_key(key, "ann") != outbox.person_key(key, "bo")
    with pytest.raises(DPCoreError, match="cannot be read or made"):
        outbox.read_key(tmp_path / "a")


DIES = """
import os, signal, sys
from dpcore import cli, outbox
from dpcore._random import Source

class Dies(Source):
    def words(self, count):
        os.kill(os.getpid(), signal.SIGKILL)
    generator = spawn = None

outbox.secure = Dies
cli.main(sys.argv[1:])
"""


@pytest.mark.slow
def test_killed_between_charge_and_send_it_costs_nothing_more(here: Path, small: Scheme) -> None:
    kept = ["--key", "key", "--ledger", "ledger", "--budget", "3"]
    command = ["privatize", "small.toml", "one.jsonl", "out.jsonl", *kept]
    for _ in range(2):
        died = subprocess.run([sys.executable, "-c", DIES, *command], cwd=here, capture_output=True, check=False)
        assert died.returncode == -9
        assert not (here / "out.jsonl").exists()
        assert Ledger(Budget.parse("3"), wire.FileStore(here / "ledger")).spent() == small.budget
    code, out, _ = privatize("one.jsonl", "out.jsonl", *kept, at=here)
    assert code == 0
    assert "epsilon = 1.5 + ln 3 of 3" in out
    assert len(sent(here / "out.jsonl", small)) == 1


@pytest.mark.slow
def test_processes_that_share_a_ledger_share_its_budget(here: Path) -> None:
    """Without a key every report is charged; the ledger covers two of the four that are tried at once."""
    command = [sys.executable, "-m", "dpcore.cli", "privatize", "small.toml", "one.jsonl"]
    kept = ["--ledger", "ledger", "--budget", "6"]
    all_at_once = [
        subprocess.Popen([*command, f"{i}.jsonl", *kept], cwd=here, stderr=subprocess.PIPE, text=True) for i in range(4)
    ]
    said = [process.communicate()[1] for process in all_at_once]
    assert sorted(process.returncode for process in all_at_once) == [0, 0, 1, 1]
    assert sum("would go beyond the total" in text for text in said) == 2
    assert len(list(here.glob("[0-9].jsonl"))) == 2
