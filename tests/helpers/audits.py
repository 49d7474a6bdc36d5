"""Audits of clients that hear no more of them than shows a fact: fewer, or those of one path."""

from __future__ import annotations

import pytest

from dpcore.audit.attacks import report_distribution

TOGETHER, ONE_BY_ONE = range(
    2
)  # the paths that `report_distribution` yields: records in one call, and clients that remember
_PATHS = report_distribution._paths


def on(path: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let audits ask on one of the two paths alone."""
    monkeypatch.setattr(report_distribution, "_paths", lambda *asked: [[*_PATHS(*asked)][path]])


def few_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let audits hear 40 clients that remember instead of 400, three quarters of their time."""
    monkeypatch.setattr(report_distribution, "_LEAST_BY_HAND", 40)
