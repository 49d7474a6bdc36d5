"""A round in every order of what may happen to it, by the command and by a backfill; `tests/flows/test_orders.py` by flows."""

from __future__ import annotations

import math
from datetime import datetime
from pathlib import Path

import pytest

from dpcore import cli
from dpcore.protocol.scheme import Scheme
from dpcore.rounds.maintenance.backfill import rounds_of
from dpcore.rounds.steps import landing
from tests.helpers.orders import BY_DAY, EVENTS, LENGTH, ROUND, Skipped, check_orders

pytestmark = [pytest.mark.slow]


@pytest.fixture(autouse=True)
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures, which are most of a small round's time, have no order to get wrong."""
    monkeypatch.setattr(landing, "draw", lambda _run, _compared: [])


def run(data: Path, *, again: bool, records: Path | None, reports: Path | None, identity: str) -> None:
    cli.run(data / "scheme.toml", data=data, round_=ROUND, again=again, records=records, reports=reports)


def backfill(data: Path, *, again: bool, records: Path | None, reports: Path | None, identity: str) -> None:
    day = datetime.fromisoformat(ROUND)
    source = "simulated" if reports is None else "reports"
    scheme = Scheme.from_toml(data / "scheme.toml")
    missing = rounds_of(scheme, data / "warehouse.duckdb", day.date(), day.date(), source=source, again=again)
    cli.backfill(day, day, data / "scheme.toml", data=data, again=again, reports=reports)
    if not missing:
        raise Skipped(ROUND)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Twelve of the thirty pairs by day; every order of all six at night, by `make hostile`."""
    follow, tried = (BY_DAY, 12) if LENGTH == 2 else (None, math.perm(len(EVENTS), LENGTH))
    assert check_orders(tmp_path / "orders", run, keeps_identity=False, follow=follow) == tried


def test_a_backfill(tmp_path: Path) -> None:
    """Which is of simulated people or of reports."""
    events = ("simulated", "retry", "late")
    assert check_orders(tmp_path / "orders", backfill, keeps_identity=False, events=events) == 6
