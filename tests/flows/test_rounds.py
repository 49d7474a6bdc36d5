"""Rounds that wait, backfills and cleanups through the engine; what they decide is tested in tests/rounds/test_rounds.py."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import LogFilter, LogFilterFlowRunId

from dpcore.errors import TooFewClients
from dpcore.results import warehouse
from dpcore.rounds.steps import sequence
from ldpflow_flows.backfill import backfill
from ldpflow_flows.cleanup import cleanup, delete_history
from ldpflow_flows.collect import WAITING, collect
from ldpflow_flows.estimate import estimate
from ldpflow_flows.round import main, run_round
from ldpflow_flows.settings import BackfillSettings, CleanupSettings, CollectSettings, NamedRound, RoundSettings
from ldpflow_flows.simulate import simulate
from tests.flows.artifacts import shown

pytestmark = [pytest.mark.flows, pytest.mark.usefixtures("harness", "undrawn")]
FLOWS = ("round", "simulate", "estimate", "collect")


def ask(data: Path, sql: str) -> list[list[Any]]:
    return warehouse.query(data / "warehouse.duckdb", sql).values.tolist()


def test_a_round_of_reports_waits_in_a_state_of_its_own_and_lands_when_more_have_come(
    scheme_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = simulate(RoundSettings(scheme=scheme_file, data=tmp_path / "clients", clients=3000, round="r", seed=1))
    where = {"scheme": scheme_file, "data": tmp_path, "reports": sent[0].parent, "round": "r"}
    state = run_round(RoundSettings(**where, min_clients=4000), return_state=True)
    assert (state.name, state.is_completed()) == (WAITING, True)
    assert "held back with 3,000 clients, 4,000 are needed" in state.message
    assert ask(tmp_path, "select state, clients from runs") == [["waiting", 3000]]
    words = ["--reports", str(sent[0].parent), "--round", "r", "--data", str(tmp_path), "--min-clients"]
    assert main([str(scheme_file), *words, "4000"]) == 1
    assert "held back with 3,000 clients" in capsys.readouterr().err
    assert main([str(scheme_file), *words, "3000"]) == 0
    assert ask(tmp_path, "select state, accepted, late from runs") == [["landed", 3000, 0]]


HOLDER = """
import sys, time
from pathlib import Path
from dpcore.rounds.steps.preparation import turn
with turn(Path(sys.argv[1]), "ldpflow run", round_="2026-11-20", data=Path(sys.argv[2])):
    print("held", flush=True)
    time.sleep(6)
"""


def test_a_round_waits_for_the_command_that_carries_it_out_and_says_so_in_its_log(
    scheme_file: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", HOLDER, str(scheme_file), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        settings = RoundSettings(scheme=scheme_file, data=tmp_path, round="2026-11-20", clients=3000)
        state = run_round(settings, return_state=True)
        assert holder.poll() == 0
    assert state.is_completed()
    identifier = state.state_details.flow_run_id
    with get_client(sync_client=True) as client:
        wanted = LogFilter(flow_run_id=LogFilterFlowRunId(any_=[identifier]))
        until = time.monotonic() + 30  # the log is sent every other second
        while not (said := [log for log in client.read_logs(wanted) if "is held by" in log.message]):
            assert time.monotonic() < until
            time.sleep(0.2)
    [log] = said
    assert f"is held by process {holder.pid} (ldpflow run), since " in log.message
    assert log.level == logging.WARNING


def test_a_flow_has_its_rounds_turn_until_it_has_landed(
    scheme_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the flows, by the name that it is known by in the UI."""
    held = []

    def look(*_: Any, **_options: Any) -> Any:
        held.append(
            [file.read_text().split("(")[1].split(")")[0] for file in tmp_path.glob(".warehouse.duckdb.*.lock")]
        )
        raise TooFewClients("seen")

    settings = {"scheme": scheme_file, "data": tmp_path, "round": "r"}
    sent = simulate(RoundSettings(**settings, clients=3000, seed=1, keep_reports=True))
    run_round(RoundSettings(**settings, clients=3000, again=True))
    for step in ("carry_out", "collect", "estimate", "privatize"):
        monkeypatch.setattr(sequence, step, look)
    run_round(RoundSettings(**settings, clients=3000))
    simulate(RoundSettings(**settings, clients=3000))
    estimate(NamedRound(**settings))
    collect(CollectSettings(**settings | {"round": "s"}, reports=sent[0].parent))
    names = [name.replace("_", "-") for (name,) in held]
    scheme = scheme_file.stem
    assert names == [f"{flow} {scheme}-{'s' if flow == 'collect' else 'r'}" for flow in FLOWS]


def test_a_backfill_runs_the_missing_rounds_and_a_cleanup_says_what_it_deletes(
    scheme_file: Path, tmp_path: Path
) -> None:
    days = {"first": date(2026, 11, 1), "last": date(2026, 11, 3)}
    run_round(RoundSettings(scheme=scheme_file, data=tmp_path, clients=3000, round="2026-11-02"))
    settings = BackfillSettings(scheme=scheme_file, data=tmp_path, clients=3000, **days)
    state = backfill(settings, return_state=True)
    assert state.message == "2 missing rounds have run"
    assert "2026-11-02" not in shown("backfill").replace("2026-11-02 to", "")
    assert [row[0] for row in ask(tmp_path, "select round from latest_runs order by round")] == [
        "2026-11-01",
        "2026-11-02",
        "2026-11-03",
    ]
    assert backfill(settings, return_state=True).message == "0 missing rounds have run"

    said = cleanup(CleanupSettings(data=tmp_path, keep_days=0, dry_run=True), return_state=True).message
    assert said.startswith("would be deleted: 3 runs' folders")
    assert len(list((tmp_path / "runs").iterdir())) == 3
    said = cleanup(CleanupSettings(data=tmp_path, keep_days=0), return_state=True).message
    assert said.startswith("deleted: 3 runs' folders")
    assert list((tmp_path / "runs").iterdir()) == []
    assert "2026-11-03" in shown("cleanup")


def test_old_history_is_deleted_and_what_has_not_ended_is_kept(
    scheme_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_round(RoundSettings(scheme=scheme_file, data=tmp_path, clients=3000, round="r"))

    class Tomorrow:
        """A clock a year ahead."""

        @staticmethod
        def now(zone: Any) -> Any:
            from datetime import datetime, timedelta

            return datetime.now(zone) + timedelta(days=365)

    with get_client(sync_client=True) as client:
        before = len(client.read_flow_runs())
        assert delete_history.fn(CleanupSettings()) == 0
        assert len(client.read_flow_runs()) == before
        monkeypatch.setattr("ldpflow_flows.cleanup.datetime", Tomorrow)
        ended = delete_history.fn(CleanupSettings(dry_run=True))
        assert ended > 0
        assert len(client.read_flow_runs()) == before
        assert delete_history.fn(CleanupSettings()) == ended
        assert len(client.read_flow_runs()) == before - ended
