"""Rounds that wait, backfills and cleanups through the engine; what they decide is tested in tests/rounds/test_rounds.py."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import get_client

from dpcore.results import warehouse
from ldpflow_flows.backfill import backfill
from ldpflow_flows.cleanup import cleanup, delete_history
from ldpflow_flows.collect import WAITING
from ldpflow_flows.round import main, run_round
from ldpflow_flows.settings import BackfillSettings, CleanupSettings, RoundSettings
from ldpflow_flows.simulate import simulate
from tests.flows.artifacts import shown

pytestmark = [pytest.mark.flows, pytest.mark.usefixtures("harness")]


def ask(data: Path, sql: str) -> list[list[Any]]:
    return warehouse.query(data / "warehouse.duckdb", sql).values.tolist()


def test_a_round_of_reports_waits_in_a_state_of_its_own_and_lands_when_more_have_come(
    scheme_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = simulate(RoundSettings(scheme=scheme_file, data=tmp_path / "clients", clients=3000, round="r", seed=1))
    where = {"scheme": scheme_file, "data": tmp_path, "reports": sent[0].parent, "round": "r"}
    state = run_round(RoundSettings(**where, min_clients=4000), return_state=True)
    assert (state.name, state.is_completed()) == (WAITING, True)
    assert "3,000 clients came, 4,000 are needed" in state.message
    assert ask(tmp_path, "select state, clients from runs") == [["waiting", 3000]]
    words = ["--reports", str(sent[0].parent), "--round", "r", "--data", str(tmp_path), "--min-clients"]
    assert main([str(scheme_file), *words, "4000"]) == 1
    assert "waits: 3,000 clients came" in capsys.readouterr().err
    assert main([str(scheme_file), *words, "3000"]) == 0
    assert ask(tmp_path, "select state, accepted, late from runs") == [["landed", 3000, 0]]


def test_a_backfill_runs_the_missing_rounds_and_a_cleanup_says_what_it_deletes(
    scheme_file: Path, tmp_path: Path
) -> None:
    days = {"first": date(2026, 11, 1), "last": date(2026, 11, 3)}
    run_round(RoundSettings(scheme=scheme_file, data=tmp_path, clients=3000, round="2026-11-02"))
    settings = BackfillSettings(scheme=scheme_file, data=tmp_path, clients=3000, **days)
    state = backfill(settings, return_state=True)
    assert state.message == "2 rounds were missing and have been run"
    assert "2026-11-02" not in shown("backfill").replace("2026-11-02 to", "")
    assert [row[0] for row in ask(tmp_path, "select round from latest_runs order by round")] == [
        "2026-11-01",
        "2026-11-02",
        "2026-11-03",
    ]
    assert backfill(settings, return_state=True).message == "0 rounds were missing and have been run"

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
