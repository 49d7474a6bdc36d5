"""The flow that estimates a collected round from its aggregate."""

from __future__ import annotations

from pathlib import Path

from prefect import flow

from dpcore import stages
from dpcore.scheme import Scheme
from flows.settings import NamedRound
from flows.stage import land_failure, run_name, stage


@stage("find", run_name="find-{settings.round}")
def find(settings: NamedRound) -> Path:
    """Return the folder of the newest run of a collected round."""
    return stages.newest(Scheme.from_toml(settings.scheme), settings.round, settings.data)


@stage("estimate", run_name="estimate-{folder.name}", seconds=1800)
def estimate_tables(folder: Path) -> Path:
    """Estimate everything from the merged aggregate and return the folder of the tables to land."""
    return stages.estimate(folder)


@stage("compare", run_name="compare-{folder.name}")
def compare(folder: Path) -> str | None:
    """Compare the round with the latest earlier one that has landed and return that round's name, or None."""
    return stages.compare(folder)


@flow(name="estimate", flow_run_name=run_name, on_failure=[land_failure], on_crashed=[land_failure])
def estimate(settings: NamedRound) -> Path:
    """Find a collected round, estimate it, compare it with the one before, return the run's folder; `publish` comes next."""
    folder = find(settings)
    estimate_tables(folder)
    compare(folder)
    return folder
