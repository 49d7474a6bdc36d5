"""The flow that makes reports: simulated people, or a file of records, privatized shard by shard."""

from __future__ import annotations

from pathlib import Path

from prefect import unmapped

from dpcore.errors import TooFewClients
from dpcore.rounds import stages
from flows.runner import batches, each, flat
from flows.settings import RoundSettings
from flows.stage import follow, prepare, run_name, stage, whole


@stage("privatize", run_name="privatize-{shards[0]:05d}", seconds=None)
def privatize_batch(folder: Path, shards: list[int]) -> list[Path]:
    """Simulate the people of some shards, let each privatize its record, and return the files of their reports."""
    return each(stages.privatize_shard, folder, shards)


@stage("privatize-records", seconds=4 * 3600)
def privatize_records(folder: Path) -> list[Path]:
    """Privatize a file of records, each once, and return the files of their reports."""
    return stages.privatize_records(folder)


@whole("simulate", hours=12, run_name=run_name)
def simulate(settings: RoundSettings = RoundSettings(keep_reports=True)) -> list[Path]:  # noqa: B008 - frozen
    """Prepare a run, privatize its people, and return the files of their reports; nothing is aggregated."""
    folder = prepare(settings)
    if settings.records:
        if said := stages.waits(folder):  # before anybody is privatized
            raise TooFewClients(said)
        return privatize_records(folder)
    reports = privatize_batch.map(unmapped(folder), batches(stages.shards(folder)))
    follow(folder, privatized=reports)
    return flat(reports.result())
