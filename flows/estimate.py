"""The flow that estimates a collected round from its aggregate."""

from __future__ import annotations

from pathlib import Path

from dpcore.protocol.scheme import Scheme
from dpcore.rounds import stages
from flows.settings import NamedRound
from flows.stage import run_name, stage, whole


@stage("find", run_name="find-{settings.round}")
def find(settings: NamedRound) -> Path:
    """Return the folder of the newest run of a collected round."""
    return stages.newest(Scheme.from_toml(settings.scheme), settings.round, settings.data)


@stage("estimate", seconds=1800)
def estimate_tables(folder: Path) -> Path:
    """Estimate everything from the merged aggregate and return the folder of the tables to land."""
    return stages.estimate(folder)


@stage("compare")
def compare(folder: Path) -> str | None:
    """Compare the round with the latest earlier one that has landed and return that round's name, or None."""
    return stages.compare(folder)


@whole("estimate", hours=2, run_name=run_name)
def estimate(settings: NamedRound) -> Path:
    """Find a collected round, estimate it, compare it with the one before, return the run's folder; `publish` comes next."""
    folder = find(settings)
    estimate_tables(folder)
    compare(folder)
    return folder
