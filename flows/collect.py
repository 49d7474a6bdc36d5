"""The flow that aggregates the reports that clients sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import unmapped
from prefect.states import Completed

from dpcore.rounds import stages
from flows.runner import BATCHES, batches, each, flat
from flows.settings import CollectSettings
from flows.stage import follow, prepare, run_name, stage, whole

WAITING = "Waiting"  # a round with fewer clients than min_clients: nothing has landed


@stage("aggregate", run_name="aggregate-{reports[0].stem}", seconds=None)
def aggregate_batch(folder: Path, reports: list[Path]) -> list[Path]:
    """Aggregate some files of reports, each by itself, and return the files of the aggregates."""
    return each(stages.aggregate_shard, folder, reports)


@stage("merge", seconds=3600)
def merge(folder: Path, parts: list[Path]) -> Path:
    """Merge the shards' aggregates, each once, as a tree of merges of 32, and return the file of the whole."""
    parts = sorted(set(parts))
    while len(parts) > BATCHES:
        parts = each(stages.merge_some, folder, batches(parts, size=BATCHES))
    return stages.merge(folder, parts)


@stage("count-clients")
def waits(folder: Path) -> str:
    """Return why a round waits, '' where it has clients enough; that it waits lands."""
    return stages.waits(folder)


@whole("collect", hours=12, run_name=run_name)
def collect(settings: CollectSettings) -> Path:
    """Prepare a run, aggregate the reports file by file, merge, and return the run's folder; `estimate` comes next."""
    folder = prepare(settings)
    parts = aggregate_batch.map(unmapped(folder), batches(stages.collected(folder)))
    follow(folder, aggregated=parts)
    merge(folder, flat(parts.result()))
    if may_wait(folder) and (said := waits(folder)):
        return waiting(folder, said)
    return folder


def may_wait(folder: Path) -> bool:
    """Return whether a round has to have a number of clients; simulated people need not."""
    return stages.plan_of(folder).min_clients > 0


def waiting(folder: Path, said: str) -> Any:
    """Return the state of a round that waits; it has a name of its own, and the run's folder is its result."""
    return Completed(name=WAITING, message=said, data=folder)
