"""`ldpflow privatize`: what it writes, what a client keeps between rounds, and that nothing is half-written."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import dpcore as dp
from dpcore import cli, wire
from dpcore.errors import DPCoreError
from dpcore.privacy.budget import Budget
from dpcore.privacy.ledger import Ledger
from dpcore.protocol import tokens
from dpcore.protocol.report import Report
from dpcore.protocol.scheme import Scheme
from dpcore.rounds.exchange import outgoing_reports

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
        batch = outgoing_reports.with_ids(batch, dp.seeded(2))
        assert wire.write_lines(tmp_path / "r.jsonl", scheme, [batch]) == 60
        wire.write_reports(tmp_path / "r.parquet", scheme, batch)
        lines = dp.aggregate(scheme, outgoing_reports.batch_of(sent(tmp_path / "r.jsonl", scheme)))
        assert lines.fingerprint == dp.aggregate(scheme, wire.read_reports(tmp_path / "r.parquet", scheme)).fingerprint


@pytest.mark.parametrize("target", ["out.jsonl", "out.parquet", "out"])
def test_reports_are_written_by_their_ids_and_for_their_owner_alone(here: Path, small: Scheme, target: str) -> None:
    """In the order of the records, a row tells whose it is."""
    records(here, "people", PEOPLE * 30)
    assert privatize("people.jsonl", f"new/{target}", at=here)[0] == 0
    file = here / "new" / target if target != "out" else here / "new/out/00000.parquet"
    if target == "out.jsonl":
        ids = [tokens.from_text(report.id) for report in sent(file, small)]
    else:
        names = wire.read_reports(file, small).ids
        assert names is not None
        ids = [row.tobytes() for row in names]
    assert ids == sorted(set(ids), key=lambda own: own or b"")
    assert len(ids) == 90
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_a_key_makes_answers_that_last_and_tokens_of_one_survey(here: Path, small: Scheme) -> None:
    for number in range(3):
        assert privatize("one.jsonl", f"{number}.jsonl", "--key", "key", "--tokens", at=here)[0] == 0
    first, *others = (sent(here / f"{number}.jsonl", small)[0] for number in range(3))
    assert all(other.answers == first.answers for other in others)
    assert len({first.id, *(other.id for other in others)}) == 3
    assert first.token == tokens.token_of(outgoing_reports.read_key(here / "key"), small.digest)
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
    assert "add --ledger FILE and --budget EPSILON" in err


def test_people_of_one_file_have_keys_and_ledgers_of_their_own(here: Path, small: Scheme) -> None:
    kept = ("--key", "key", "--person", "who", "--tokens", "--ledger", "ledgers", "--budget", "3")
    assert privatize("people.jsonl", "1.jsonl", *kept, at=here)[0] == 0
    first = {report.token: report for report in sent(here / "1.jsonl", small)}
    assert len(first) == len(list((here / "ledgers").glob("[!.]*"))) == 3
    moved = [PEOPLE[0], PEOPLE[1] | {"side": "left", "height": 1.7}, PEOPLE[2]]
    records(here, "people", moved)
    code, out, _ = privatize("people.jsonl", "2.jsonl", *kept, at=here)
    assert code == 0
    assert "2 reports in 2.jsonl" in out
    assert "1 respondents were skipped" in out
    again = {report.token: report.answers for report in sent(here / "2.jsonl", small)}
    left_out = tokens.token_of(outgoing_reports.person_key(outgoing_reports.read_key(here / "key"), "bo"), small.digest)
    assert again.keys() == first.keys() - {left_out}
    assert all(first[token].answers == answered for token, answered in again.items())
    records(here, "people", [moved[1]])
    code, _, err = privatize("people.jsonl", "3.jsonl", *kept, at=here)
    assert (code, err) == (
        1,
        "ldpflow: ledger: none of 1 respondents has enough budget for another report; nothing was drawn\n",
    )
    assert not any("ann" in file.read_text() for file in (here / "ledgers").iterdir())


FOLDER = ("--key", "key", "--person", "who", "--tokens", "--ledger", "ledgers", "--budget", "3")


def older_ledger(here: Path, person: str, name: str, key: str = "key") -> Path:
    """What ldpflow wrote for a person until 2026-11-22: 1.5 + ln 3 is spent, and the name is made of key and spelling."""
    secret = hmac.new(
        outgoing_reports.read_key(here / key), b"ldpflow person\0" + person.encode(), hashlib.sha256
    ).digest()
    file = here / "ledgers" / tokens.token_of(secret, "ledger")
    file.parent.mkdir(exist_ok=True)
    text = json.dumps([["side", "ln 3", f"{name}1"], ["colour", "1/2", f"{name}2"], ["height", "1", f"{name}3"]])
    file.write_text(f"{hashlib.sha256(text.encode()).hexdigest()[:8]} {text}\n")
    return file


def names_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.glob("[!.]*"))


def test_a_ledger_outlives_the_key(here: Path) -> None:
    """A rotated key is fresh noise, to be paid for from what is left, not a new budget."""
    assert privatize("people.jsonl", "1.jsonl", *FOLDER, at=here)[0] == 0
    before = names_in(here / "ledgers")
    (here / "key").unlink()
    code, _, err = privatize("people.jsonl", "2.jsonl", *FOLDER, at=here)
    assert (code, err) == (
        1,
        "ldpflow: ledger: none of 3 respondents has enough budget for another report; nothing was drawn\n",
    )
    code, out, _ = privatize("people.jsonl", "2.jsonl", *FOLDER[:-1], "6", at=here)
    assert (code, out) == (0, "3 reports in 2.jsonl; nothing else left the records\n")
    assert names_in(here / "ledgers") == before
    spent = {Ledger(Budget.parse("9"), wire.FileStore(here / "ledgers" / name)).spent() for name in before}
    assert spent == {Budget.parse("3 + ln 9")}


def test_the_names_of_ledgers_do_not_tell_who_has_one(here: Path, tmp_path: Path) -> None:
    """Whoever knows every badge cannot try them on a copy of the names: the hash has a key, the folder's own."""
    for folder in ("ledgers", "others"):
        arguments = [folder if word == "ledgers" else word for word in FOLDER]
        assert privatize("people.jsonl", f"{folder}.jsonl", *arguments, at=here)[0] == 0
        assert (here / folder).stat().st_mode & 0o077 == 0
        assert all(file.stat().st_mode & 0o077 == 0 for file in (here / folder).iterdir())
    assert not set(names_in(here / "ledgers")) & set(names_in(here / "others"))


def test_one_person_has_one_ledger_however_spelled(here: Path, small: Scheme) -> None:
    spellings = ["A7", "A7 ", " A7", "A7\t", "\u00a0A7", "\uff21\uff17", "A\uff17 "]
    for number, person in enumerate(spellings):
        records(here, "people", [PEOPLE[0] | {"who": person}])
        assert privatize("people.jsonl", f"{number}.jsonl", *FOLDER, at=here)[0] == 0, person
    [first], *others = (sent(here / f"{number}.jsonl", small) for number in range(len(spellings)))
    assert all((report.answers, report.token) == (first.answers, first.token) for [report] in others)
    records(here, "people", [PEOPLE[0] | {"who": "A7"}, PEOPLE[1] | {"who": "A\uff17 "}, PEOPLE[1] | {"who": "a7"}])
    code, out, _ = privatize("people.jsonl", "mixed.jsonl", *FOLDER, at=here)
    assert code == 0
    assert "1 respondents were skipped" in out
    third, other = sorted(sent(here / "mixed.jsonl", small), key=lambda report: report.token != first.token)
    assert first.answers == third.answers
    assert first.token == third.token != other.token
    assert len(names_in(here / "ledgers")) == 2


def test_a_spelling_that_was_one_already_keeps_its_answers() -> None:
    key = bytes(range(32))
    for person in ("ann", "7", "A7", "a 7", "Zoë", "李", "x" * 500):
        assert outgoing_reports.person_key(key, person) == hmac.digest(
            key, b"ldpflow person\0" + person.encode(), "sha256"
        )
    assert outgoing_reports.person_key(key, " Zoe\u0308\n") == outgoing_reports.person_key(key, "Zoë")
    assert outgoing_reports.one_spelling(outgoing_reports.one_spelling(" \u00a8x ")) == outgoing_reports.one_spelling(
        " \u00a8x "
    )


def test_a_person_without_a_visible_spelling_is_refused(here: Path) -> None:
    for spelling in ("", "  ", "\u00a0", "A\u00007", "A\n7", "A\u200b7", "\ufeffA7", "A\u202e7", "A\ue0007"):
        records(here, "people", [PEOPLE[0], PEOPLE[1] | {"who": spelling}])
        code, _, err = privatize("people.jsonl", "out.jsonl", *FOLDER, at=here)
        assert code == 1, repr(spelling)
        why = "record 2 has invisible characters (1 in all)" if spelling.strip() else "every record needs an identifier"
        assert why in err
        assert err.count("\n") == 1
        assert not (here / "ledgers").exists()


def test_older_ledgers_are_found_by_their_key_and_keep_what_was_spent(here: Path) -> None:
    for person in ("ann", "bo", "dan"):
        older_ledger(here, person, person)
    code, out, err = privatize("people.jsonl", "1.jsonl", *FOLDER, at=here)
    assert (code, err) == (0, "")
    assert "1 report in" in out  # ann and bo have not enough for other states; cy is new
    assert "2 respondents were skipped" in out
    assert len(names_in(here / "ledgers")) == 4
    assert sum(name.endswith(".ledger") for name in names_in(here / "ledgers")) == 3  # all but dan, who was not asked
    (here / "key").rename(here / "first")
    code, _, err = privatize("people.jsonl", "2.jsonl", *FOLDER[:-1], "9", at=here)
    assert code == 1
    assert "holds 1 ledgers that an older ldpflow named by a key" in err
    assert err.count("\n") == 1
    arguments = ["first" if word == "key" else word for word in FOLDER]
    records(here, "people", [PEOPLE[0] | {"who": "eve"}])
    assert privatize("people.jsonl", "3.jsonl", *arguments, at=here)[0] == 0  # who is new is new by this key
    records(here, "people", [PEOPLE[0] | {"who": "dan"}])
    assert privatize("people.jsonl", "4.jsonl", *arguments, at=here)[0] == 1
    records(here, "people", PEOPLE)
    assert privatize("people.jsonl", "5.jsonl", *FOLDER[:-1], "9", at=here)[0] == 0  # all are carried over
    assert len(names_in(here / "ledgers")) == 5


def test_a_folder_of_others_ledgers_is_refused(here: Path) -> None:
    """By another key, or without what names them, everybody in it would start anew."""
    file = older_ledger(here, "ann", "a")
    before = file.read_bytes()
    (here / "key").unlink()
    code, _, err = privatize("people.jsonl", "1.jsonl", *FOLDER, at=here)
    assert code == 1
    assert "use the key that they were made with" in err
    assert err.count("\n") == 1
    assert [file.read_bytes() for file in (here / "ledgers").iterdir()] == [before]
    file.unlink()
    assert privatize("people.jsonl", "1.jsonl", *FOLDER, at=here)[0] == 0
    salt = here / "ledgers" / ".salt"
    text = salt.read_text()
    drawn = tokens.from_text(text.strip())
    assert drawn is not None
    assert len({drawn[at : at + 2] for at in range(0, len(drawn), 2)}) > 8  # of sixteen pairs of bytes
    for broken, said in ((None, "holds 3 ledgers and no .salt"), ("much\n", "is damaged"), (text, "chmod 600")):
        salt.unlink()
        if broken is not None:
            salt.write_text(broken)
            salt.chmod(0o644 if broken == text else 0o600)
        code, _, err = privatize("people.jsonl", "2.jsonl", *FOLDER, at=here)
        assert code == 1
        assert said in err
        assert err.count("\n") == 1
        salt.touch()
    salt.chmod(0o600)
    assert privatize("people.jsonl", "2.jsonl", *FOLDER, at=here)[0] == 0
    code, _, err = privatize("people.jsonl", "3.jsonl", *FOLDER[:6], "small.toml", "--budget", "3", at=here)
    assert code == 1
    assert "the folder of ledgers small.toml cannot be used" in err


@pytest.mark.parametrize(("delta", "code"), [("0", 1), ("1e-6", 0), ("5e-7", 1)])
def test_a_persons_ledger_ends_where_its_delta_does(here: Path, delta: str, code: int) -> None:
    (here / "small.toml").write_text(
        'name = "s"\n[attributes.height]\ntype = "numeric"\nlower = 0\nupper = 2\nepsilon = 1\nfinest_level = 2\n'
        'degree = 1\nnoise = "discrete_gaussian"\ndelta = 1e-6\n',
        encoding="utf-8",
    )
    records(here, "people", [PEOPLE[0] | {"who": "A7"}])
    found, _, said = privatize("people.jsonl", "1.jsonl", *FOLDER, "--delta", delta, at=here)
    assert found == code
    assert ("none of 1 respondents has enough budget" in said) == bool(code)


def test_two_older_ledgers_of_one_person_become_one(here: Path) -> None:
    older_ledger(here, "A7", "a")
    older_ledger(here, "A7 ", "b")
    records(here, "people", [PEOPLE[0] | {"who": "A7"}, PEOPLE[0] | {"who": "A7 "}])
    assert privatize("people.jsonl", "1.jsonl", *FOLDER[:-1], "20", at=here)[0] == 0
    (name,) = names_in(here / "ledgers")
    spent = Ledger(Budget.parse("20"), wire.FileStore(here / "ledgers" / name)).spent()
    assert spent == Budget.parse("4.5 + ln 27")


def test_two_that_carry_over_at_once_lose_nothing(here: Path) -> None:
    older = [older_ledger(here, person, person).name for person in ("ann", "bo")]
    key = outgoing_reports.read_key(here / "key")
    both = [wire.LedgerFolder(here / "ledgers", key, lambda: older) for _ in range(2)]
    for name, person in zip(older, ("ann", "bo"), strict=True):
        stores = [folder.store(person, lambda name=name: [name]) for folder in both]
        assert stores[0].path == stores[1].path
        assert len(stores[1].lines()) == 1
    assert not set(older) & set(names_in(here / "ledgers"))


CANNOT_BE_SENT = [
    (["one.jsonl", "out.csv"], "'out.csv': reports are written to a .parquet or .jsonl file or a folder"),
    (["one.jsonl", "one.jsonl"], "already exists"),
    (["none.jsonl", "out.jsonl"], "none.jsonl: no such file of records"),
    (["bad.jsonl", "out.jsonl"], "column 'colour' is not one of"),
    (["bad.jsonl", "out.jsonl", "--key", "key"], "column 'colour' is not one of"),
    (["cut.jsonl", "out"], "may be cut short"),
    (["people.jsonl", "out.jsonl", "--key", "key"], "keep one record, or add --person"),
    (["people.jsonl", "out.jsonl", "--key", "key", "--person", "whose"], "no key 'whose'"),
    (["nobody.jsonl", "out.jsonl", "--key", "key", "--person", "who"], "every record needs an identifier"),
    (["numbered.jsonl", "out.jsonl", "--key", "key", "--person", "who"], "whole numbers without a point"),
    (["numbered.parquet", "out.jsonl", "--key", "key", "--person", "who"], "whole numbers without a point"),
    (
        ["zeros.jsonl", "out.jsonl", "--key", "key", "--person", "who"],
        "numbers with leading zeros have several lengths",
    ),
    (["one.jsonl", "out.jsonl", "--tokens"], "--key FILE"),
    (["one.jsonl", "out.jsonl", "--ledger", "l"], "--budget EPSILON"),
    (["one.jsonl", "out.jsonl", "--ledger", "l", "--budget", "much"], "much"),
    (["one.jsonl", "out.jsonl", "--key", "small.toml"], "small.toml: not a key"),
    (["one.jsonl", "out.jsonl", "--key", "open"], "other users can read it"),
    (["one.jsonl", "out.jsonl", "--key", "shared"], "other users can read it"),
    (["one.jsonl", "small.toml/out.jsonl"], "small.toml: reports cannot be written"),
    (["one.jsonl", "out", "--round", "a round"], "needs at most 63"),
]


def test_what_cannot_be_sent_is_one_line_and_nothing_is_written(here: Path) -> None:
    records(here, "bad", [*PEOPLE[:1], PEOPLE[1] | {"colour": "a secret"}])
    records(here, "nobody", [PEOPLE[0] | {"who": None}])
    records(here, "numbered", [PEOPLE[0] | {"who": 7}, PEOPLE[1] | {"who": 8.0}])
    records(here, "zeros", [PEOPLE[0] | {"who": "7"}, PEOPLE[1] | {"who": "07"}])
    pd.DataFrame(PEOPLE).assign(who=[7.0, 8.0, 9.5]).to_parquet(here / "numbered.parquet")
    (here / "cut.jsonl").write_text('{"side": "left"', encoding="utf-8")
    (here / "open").write_text(tokens.to_text(bytes(range(32))), encoding="utf-8")
    (here / "open").chmod(0o644)
    shutil.copy(here / "open", here / "shared")
    (here / "shared").chmod(0o640)  # a group's
    for arguments, said in CANNOT_BE_SENT:
        before = sorted(path.name for path in here.rglob("*"))
        code, out, err = privatize(*arguments, at=here)
        assert (code, out) == (1, ""), arguments
        assert err.startswith("ldpflow: ")
        assert err.count("\n") == 1
        assert said in err
        assert "a secret" not in err
        after = {path.name for path in here.rglob("*") if not path.is_dir()} - set(before)
        assert after <= {"key"}


def test_a_key_is_made_once(tmp_path: Path) -> None:
    key = outgoing_reports.read_key(tmp_path / "a/key")
    assert len(key) == 32
    assert outgoing_reports.read_key(tmp_path / "a/key") == key
    assert [file.name for file in (tmp_path / "a").iterdir()] == ["key"]
    assert outgoing_reports.person_key(key, "ann") != outgoing_reports.person_key(key, "bo")
    with pytest.raises(DPCoreError, match="cannot be read or created"):
        outgoing_reports.read_key(tmp_path / "a")
    (tmp_path / "a/key").write_text(tokens.to_text(key[:16]))
    with pytest.raises(DPCoreError, match="not a key"):
        outgoing_reports.read_key(tmp_path / "a/key")


DIES = """
import os, signal, sys
from dpcore import cli
from dpcore.rounds.exchange import outgoing_reports as outbox
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
