"""One at a time: a round is carried out by one process, its people are asked once, and other rounds do not wait."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpcore import cli
from dpcore.errors import WarehouseError
from dpcore.results import warehouse
from dpcore.rounds.run import Run
from dpcore.rounds.steps import preparation, privatization, sequence
from dpcore.wire import locks
from tests.helpers.schemes import QUESTION

ROUND = "2026-11-20"


@pytest.fixture
def scheme(tmp_path: Path) -> Path:
    path = tmp_path / "scheme.toml"
    path.write_text(QUESTION, encoding="utf-8")
    return path


@pytest.fixture
def records(tmp_path: Path) -> Path:
    path = tmp_path / "people.parquet"
    pd.DataFrame({"urban_rural": np.where(np.arange(100) % 3 == 0, "rural", "urban")}).to_parquet(path)
    return path


def is_free(turn: AbstractContextManager[None]) -> bool:
    """Whether a turn is to be had now; who waits for it in vain gets it at the end of the test."""

    def take() -> None:
        with turn:
            pass

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    thread.join(0.3)
    return not thread.is_alive()


def test_a_round_has_one_turn_and_others_do_not_wait_for_it(scheme: Path, records: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(QUESTION.replace("consumer_expenditure", "health_insurance"), encoding="utf-8")
    changed = tmp_path / "changed.toml"
    changed.write_text(QUESTION.replace("epsilon = 2", "epsilon = 1"), encoding="utf-8")
    link = tmp_path / "link"
    link.symlink_to(tmp_path)

    def free(scheme_file: Path = scheme, data: Path = tmp_path, **told: Any) -> bool:
        return is_free(preparation.turn(scheme_file, "somebody", data=data, **told))

    with preparation.turn(scheme, "ldpflow run", round_=ROUND, data=tmp_path, records=records):
        assert not free(round_=ROUND)  # of whatever people
        assert not free(day=ROUND, reports=tmp_path)
        assert not free(changed, round_=ROUND)  # a name is one line of rounds, whatever its scheme says
        assert not free(round_=ROUND, data=link)
        assert free(round_="2026-11-21")
        assert free(day=ROUND, clients=500)  # a trial
        assert free(other, round_=ROUND)
        assert free(round_=ROUND, data=tmp_path / "elsewhere")
        assert free(round_=ROUND, records=records, seed=1)  # a rehearsal
    with preparation.turn(scheme, "ldpflow run", clients=500, data=tmp_path):
        assert not free(clients=500)
        assert free(clients=501)
    assert not list(tmp_path.glob(".*.lock"))


def test_who_waits_reads_who_has_the_round(scheme: Path, tmp_path: Path) -> None:
    with preparation.turn(scheme, "ldpflow run", round_="a long one " * 5, data=tmp_path):
        [lock] = tmp_path.glob(".warehouse.duckdb.*.lock")
        assert lock.read_text().startswith(f"process {os.getpid()} (ldpflow run), since ")


def test_what_cannot_be_locked_is_one_line(scheme: Path, tmp_path: Path) -> None:
    told = pytest.raises(WarehouseError, match="cannot be locked next to")
    with told as caught, preparation.turn(scheme, "ldpflow run", warehouse=scheme / "warehouse.duckdb"):
        pass
    assert "\n" not in str(caught.value)


class Seen(Exception):
    """A step was about to begin."""


def _run(scheme: Path, data: Path, records: Path) -> None:
    cli.run(scheme, records=records, round_=ROUND, data=data)


def _backfill(scheme: Path, data: Path, records: Path) -> None:
    cli.backfill(datetime.fromisoformat(ROUND), datetime.fromisoformat(ROUND), scheme, data=data)


def _estimate(scheme: Path, data: Path, records: Path) -> None:
    cli.estimate(scheme, "r", data)


def _collect(scheme: Path, data: Path, records: Path) -> None:
    cli.collect(scheme, next(data.glob("runs/*/reports")), round_=f"{ROUND}-b", data=data)


@pytest.mark.parametrize(
    ("command", "step"),
    [(_run, "carry_out"), (_backfill, "carry_out"), (_estimate, "estimate"), (_collect, "collect")],
)
def test_commands_have_the_turn_while_they_carry_out(
    command: Callable[[Path, Path, Path], None],
    step: str,
    answered: Path,
    moved: Callable[[Path], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data, seen = moved(answered), []

    def look(run: Run, _hands: sequence.Hands, show: object = None) -> None:
        [lock] = data.glob(".warehouse.duckdb.*.lock")
        with pytest.raises(BlockingIOError):
            locks.locked(lock, os.O_RDWR, waits=False)
        seen.append(lock.read_text())
        assert not is_free(preparation.turn_of(run, "somebody"))
        raise Seen

    monkeypatch.setattr(sequence, step, look)
    with pytest.raises(Seen):
        command(data / "scheme.toml", data, data / "people-100.parquet")
    assert f"(ldpflow {command.__name__.strip('_')})" in seen[0]


def test_people_are_charged_in_their_rounds_turn(
    scheme: Path, records: Path, fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Charging is what two at once would do twice."""

    def look(run: Run, _drawings: object) -> None:
        assert not is_free(preparation.turn_of(run, "somebody"))
        raise Seen

    monkeypatch.setattr(privatization, "charge", look)
    with pytest.raises(Seen):
        _run(scheme, fresh.parent, records)


def start(scheme: Path, records: Path, round_: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "dpcore.cli", "run", str(scheme), "--records", str(records), "--round", round_]
    command += ["--data", str(scheme.parent)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_of_two_processes_with_one_round_one_asks_its_people(scheme: Path, records: Path, tmp_path: Path) -> None:
    processes = [start(scheme, records, ROUND) for _ in "ab"]
    said = [process.communicate(timeout=120)[1] for process in processes]
    assert sorted(process.returncode for process in processes) == [0, 1], said
    refused = next(text for process, text in zip(processes, said, strict=True) if process.returncode)
    assert "already landed (run " in refused.splitlines()[-1]
    file = tmp_path / "warehouse.duckdb"
    assert warehouse.query(file, "select state, accepted from runs").values.tolist() == [["landed", 100]]
    asked = "select drawings, fresh from composed_budgets where attribute = ''"
    assert warehouse.query(file, asked).values.tolist() == [[1, 2.0]]
    assert len(list(tmp_path.glob("runs/*"))) == 1


@pytest.mark.slow
def test_two_rounds_at_once_both_land(scheme: Path, records: Path, tmp_path: Path) -> None:
    with preparation.turn(scheme, "somebody", round_="another", data=tmp_path):  # for whom neither waits
        processes = [start(scheme, records, round_) for round_ in ("2026-11-20", "2026-11-21")]
        said = [process.communicate(timeout=120)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    assert not any("is held by" in text for text in said)
    landed = warehouse.query(tmp_path / "warehouse.duckdb", "select round from runs where state = 'landed' order by 1")
    assert landed["round"].tolist() == ["2026-11-20", "2026-11-21"]


@pytest.mark.slow
def test_a_killed_run_frees_its_round(scheme: Path, records: Path, tmp_path: Path) -> None:
    first = start(scheme, records, ROUND)
    while not (locked := list(tmp_path.glob(".warehouse.duckdb.*.lock"))) and first.poll() is None:
        pass
    first.kill()
    first.communicate()
    assert locked[0].exists()
    second = start(scheme, records, ROUND)
    said = second.communicate(timeout=120)[1]
    assert second.returncode == 0, said
    assert "is held by" not in said
