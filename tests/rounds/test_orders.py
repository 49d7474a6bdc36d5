"""A round in every order of what may happen to it, by the command and by a backfill; `tests/flows/test_orders.py` by flows."""

from __future__ import annotations

import math
from datetime import datetime
from pathlib import Path

import pytest

from dpcore import cli
from dpcore.protocol.scheme import Scheme
from dpcore.rounds.backfill import rounds_of
from tests.helpers.orders import EVENTS, LENGTH, ROUND, Skipped, check_orders

pytestmark = [pytest.mark.slow]


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
    assert check_orders(tmp_path / "orders", run, keeps_identity=False) == math.perm(len(EVENTS), LENGTH)


def test_a_backfill(tmp_path: Path) -> None:
    """Which is of simulated people or of reports."""
    events = ("simulated", "retry", "late")
    assert check_orders(tmp_path / "orders", backfill, keeps_identity=False, events=events) == 6
