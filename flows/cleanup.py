"""The flow `cleanup`: delete old files of landed rounds, and old runs and results of Prefect."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from prefect.artifacts import create_table_artifact
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterEndTime,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import TERMINAL_STATES
from prefect.settings import PREFECT_LOCAL_STORAGE_PATH
from prefect.states import Completed

from dpcore.rounds.maintenance.cleanup import Removal, clean, clean_folder, in_words

from .settings import CleanupSettings
from .tasks.stage import stage, whole

_PAGE = 50  # flow runs that the server deletes at once


@stage("delete-files", seconds=3600)
def delete_files(settings: CleanupSettings) -> list[Removal]:
    """Delete the files of rounds that landed long ago, and return the deleted files."""
    return clean(**settings.model_dump(exclude={"keep_history_days"}))


@stage("delete-results", seconds=3600)
def delete_results(settings: CleanupSettings) -> list[Removal]:
    """Delete old result files of Prefect, and return the deleted files."""
    return clean_folder(
        Path(PREFECT_LOCAL_STORAGE_PATH.value()), keep_days=settings.keep_history_days, dry_run=settings.dry_run
    )


@stage("delete-history", seconds=3600)
def delete_history(settings: CleanupSettings) -> int:
    """Delete old runs from the server's history, with their task runs, and return how many.

    Runs that have not ended are kept; logs and artifacts of deleted runs go with the server's own vacuum.
    """
    before = datetime.now(UTC) - timedelta(days=settings.keep_history_days)
    old = FlowRunFilter(
        state=FlowRunFilterState(type=FlowRunFilterStateType(any_=list(TERMINAL_STATES))),
        end_time=FlowRunFilterEndTime(before_=before),
    )
    asked = {"flow_runs": old.model_dump(mode="json"), "limit": _PAGE}
    count = 0
    with get_client(sync_client=True) as client:
        if settings.dry_run:
            while runs := client.read_flow_runs(flow_run_filter=old, limit=_PAGE, offset=count):
                count += len(runs)
        else:  # many at once: one by one takes a third of a second each
            while runs := client.request("POST", "/flow_runs/bulk_delete", json=asked).json()["deleted"]:
                count += len(runs)
    return count


@whole("cleanup", hours=4)
def cleanup(settings: CleanupSettings = CleanupSettings()) -> Any:  # noqa: B008 - frozen
    """Delete old files, results and history, and list them in an artifact."""
    removals = [*delete_files(settings), *delete_results(settings)]
    runs = delete_history(settings)
    rows = [{"what": r.kind, "round": r.round, "path": str(r.path), "bytes": r.size} for r in removals]
    message = f"{in_words(removals, settings.dry_run)}; {runs:,} of Prefect's runs"
    create_table_artifact(rows, key="cleanup", description=message)
    return Completed(message=message)
