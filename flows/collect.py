"""The flow that aggregates the reports that clients sent."""

from __future__ import annotations

from pathlib import Path

from prefect import unmapped

from dpcore import stages
from flows.settings import CollectSettings
from flows.stage import follow, prepare, run_name, stage, whole


@stage("aggregate", run_name="aggregate-{reports.stem}", seconds=None)
def aggregate_shard(folder: Path, reports: Path) -> Path:
    """Aggregate one file of reports and return the file of the aggregate."""
    return stages.aggregate_shard(folder, reports)


@stage("merge")
def merge(folder: Path, parts: list[Path]) -> Path:
    """Merge the shards' aggregates, each once, and return the file of the whole."""
    return stages.merge(folder, parts)


@whole("collect", hours=12, run_name=run_name)
def collect(settings: CollectSettings) -> Path:
    """Prepare a run, aggregate the reports file by file, merge, and return the run's folder; `estimate` comes next."""
    folder = prepare(settings)
    parts = aggregate_shard.map(unmapped(folder), stages.collected(folder))
    follow(folder, aggregated=parts)
    merge(folder, parts.result())
    return folder
