"""The command and a round of records draw from the operating system alone: it is a tape here, every byte accounted for."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore import cli, wire
from dpcore._random import seeded
from dpcore.protocol import tokens
from dpcore.protocol.report import Report, ReportBatch, with_ids
from dpcore.protocol.scheme import Scheme
from dpcore.rounds.run import Run
from dpcore.rounds.steps import preparation, privatization
from tests.helpers import warehouses
from tests.helpers.tapes import Hashed, Tape, Written, only

pytestmark = pytest.mark.usefixtures("light_warehouses")

PEOPLE = pd.DataFrame(
    {
        "side": ["left", "right", "left"] * 8,
        "colour": ["red", "green", "green"] * 8,
        "height": [1.2, 0.4, 1.9] * 8,
        "who": [f"p{number}" for number in range(24)],
    }
)


@pytest.fixture
def here(tmp_path: Path, small: Scheme) -> Path:
    (tmp_path / "small.toml").write_text(small.canonical, encoding="utf-8")
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


def privatized(here: Path, scheme: Scheme, tape: Tape, target: str, *options: str) -> list[Report]:
    with contextlib.chdir(here), only(tape, keyed=bool(options)), pytest.raises(SystemExit) as stop:
        cli.main(["privatize", "small.toml", "people.csv", target, *options])
    assert not stop.value.code
    return [wire.read_report(line, scheme) for line in (here / target).read_bytes().splitlines()]


def drawn(scheme: Scheme, tape: Tape) -> ReportBatch:
    """What the slow twin draws of a tape: everybody's answers, then everybody's id."""
    return with_ids(dp.privatize(scheme, PEOPLE, Written(tape)), Written(tape))


def same(scheme: Scheme, batch: ReportBatch, other: ReportBatch, tmp_path: Path) -> bool:
    """Whether two batches hold the same reports with the same ids."""
    for name, each in (("one", batch), ("other", other)):
        wire.write_lines(tmp_path / name, scheme, [each])
    return (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_the_command_draws_every_word_from_the_operating_system(here: Path, small: Scheme) -> None:
    for seed in (1, 2):
        tape, slow = Tape(seed), Tape(seed)
        privatized(here, small, tape, f"{seed}.jsonl")
        wire.write_lines(here / "twin.jsonl", small, [drawn(small, slow)])
        assert (here / f"{seed}.jsonl").read_bytes() == (here / "twin.jsonl").read_bytes()
        assert tape.asked == slow.asked
    reports = [
        {str(report.answers) for report in privatized(here, small, Tape(seed), f"{seed}{seed}.jsonl")}
        for seed in (1, 2)
    ]
    assert reports[0] != reports[1]


def test_a_key_is_the_operating_systems_and_decides_answers_alone(here: Path, small: Scheme) -> None:
    kept = ("--key", "key", "--person", "who", "--tokens")
    answered = []
    for seed in (1, 2):
        (here / "key").unlink(missing_ok=True)
        tape, slow = Tape(seed), Tape(seed)
        reports = {report.token: report for report in privatized(here, small, tape, f"{seed}.jsonl", *kept)}
        key = slow(32)
        assert (here / "key").read_text() == tokens.to_text(key) + "\n"
        for record in PEOPLE.to_dict("records"):
            secret = hmac.digest(key, b"ldpflow person\0" + record["who"].encode(), "sha256")
            report = reports[tokens.token_of(secret, small.digest)]
            assert report.id == tokens.to_text(slow(16))
            assert report.answers == lasting(small, secret, report, record)
        assert tape.asked == slow.asked
        answered.append([report.answers for report in reports.values()])
    assert sorted(map(str, answered[0])) != sorted(map(str, answered[1]))


def lasting(scheme: Scheme, secret: bytes, report: Report, record: dict[str, object]) -> object:
    """What a secret answers, drawn the slow way."""
    token = hmac.digest(secret, b"ldpflow token\0" + scheme.digest.encode(), "sha256")[:16]
    answers = {}
    for name, attribute in scheme.attributes.items():
        public = Hashed(hashlib.sha256(tokens.to_text(token).encode()).digest(), scheme.digest, name)
        level = attribute.mechanism.draw_levels(1, public)
        cell = scheme.encode(record)[name]
        state = str(attribute.mechanism.states(cell, int(level[0]))[0])
        words = Hashed(secret, "memoized words", scheme.digest, name, str(level[0]), state)
        said = attribute.mechanism.privatize(cell, words, level)
        answers[name] = (int(said.level[0]), tuple(said.values.tolist()))
    return answers


def test_one_person_with_a_ledger_and_no_key_draws_fresh_noise(here: Path, small: Scheme) -> None:
    PEOPLE[:1].to_csv(here / "people.csv", index=False)
    tape, slow = Tape(1), Tape(1)
    kept = ("--ledger", "ledger", "--budget", "9")
    reports = [privatized(here, small, tape, f"{number}.jsonl", *kept)[0] for number in range(2)]
    for report in reports:
        twin = dp.Client(small, Written(slow)).report(PEOPLE.iloc[0].to_dict())
        assert wire.write_report(twin, small) == wire.write_report(report, small)
    assert tape.asked == slow.asked
    assert reports[0].answers != reports[1].answers


def prepared(here: Path, data: str) -> Run:
    warehouses.put(here / data / "warehouse.duckdb")
    return preparation.prepare(here / "small.toml", records=here / "people.csv", round_="r", data=here / data)


def test_a_round_of_records_draws_every_word_from_the_operating_system(here: Path, small: Scheme) -> None:
    tape, slow, run = Tape(1), Tape(1), prepared(here, "data")
    with only(tape):
        [path] = privatization.privatize_records(run)
    assert same(small, wire.read_reports(path, small), drawn(small, slow), here)
    assert tape.asked == slow.asked


def test_a_seeded_round_of_records_would_be_noticed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = prepared(here, "data")
    monkeypatch.setattr(Run, "random", property(lambda _: seeded(0)))
    with only(Tape(1)), pytest.raises(AssertionError, match="something else than the operating system"):
        privatization.privatize_records(run)


def test_two_rounds_of_one_file_differ(here: Path, small: Scheme) -> None:
    batches = [
        wire.read_reports(privatization.privatize_records(prepared(here, data))[0], small) for data in ("a", "b")
    ]
    ids = [batch.ids for batch in batches]
    assert ids[0] is not None
    assert ids[1] is not None
    assert not set(map(bytes, ids[0])) & set(map(bytes, ids[1]))
    assert not np.array_equal(*(np.sort(batch.of("height").reports.values)[:20] for batch in batches))
