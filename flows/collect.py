"""The flow that aggregates the reports that clients sent."""

from __future__ import annotations

from pathlib import Path

from prefect import flow, unmapped
from prefect.task_runners import ThreadPoolTaskRunner

from dpcore import stages
from flows.settings import CollectSettings
from flows.stage import WORKERS, follow, land_failure, prepare, run_name, stage


@stage("aggregate", run_name="aggregate-{folder.name}-{reports.stem}", seconds=None)
def aggregate_shard(folder: Path, reports: Path) -> Path:
    """Aggregate one file of reports and return the file of the aggregate."""
    return stages.aggregate_shard(folder, reports)


@stage("merge", run_name="merge-{folder.name}")
def merge(folder: Path, parts: list[Path]) -> Path:
    """Merge the shards' aggregates, each once, and return the file of the whole."""
    return stages.merge(folder, parts)


@flow(
    name="collect",
    flow_run_name=run_name,
    task_runner=ThreadPoolTaskRunner(max_workers=WORKERS),
    on_failure=[land_failure],
    on_crashed=[land_failure],
    on_cancellation=[land_failure],
)
def collect(settings: CollectSettings) -> Path:
    """Prepare a run, aggregate the reports file by file, merge, and return the run's folder; `estimate` comes next."""
    folder = prepare(settings)
    parts = aggregate_shard.map(unmapped(folder), stages.collected(folder))
    follow(folder, aggregated=parts)
    merge(folder, parts.result())
    return folder
