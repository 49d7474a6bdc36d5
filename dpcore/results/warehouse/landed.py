"""Which rounds have landed, and when; and what is forgotten of them when their files are deleted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from dpcore.results.warehouse.connection import rows_there
from dpcore.results.warehouse.published import open_to_publish


def standing_rounds(path: str | Path) -> dict[tuple[str, str], str]:
    """Return (scheme's name, round) -> the source of the run that stands for it; {} where there is no warehouse.

    Raises WarehouseError where the warehouse cannot be read.
    """
    rows = rows_there(path, 'select scheme, "round", source from latest_runs')
    return {(scheme, round_): source for scheme, round_, source in rows}


def stands(path: str | Path, run_id: str) -> bool:
    """Return whether a run has landed and stands for its round; False where there is no warehouse."""
    return bool(rows_there(path, "select 1 from latest_runs where run_id = ?", [run_id]))


def landed_rounds(path: str | Path) -> dict[tuple[str, str, str], datetime]:
    """Return (scheme digest, source, round) -> when its newest landed run ended; {} where there is no warehouse.

    Raises WarehouseError where the warehouse cannot be read.
    """
    rows = rows_there(
        path, "select scheme_digest, source, \"round\", max(finished_at) from runs where state = 'landed' group by all"
    )
    return {(digest, source, round_): at.replace(tzinfo=UTC) for digest, source, round_, at in rows}


def move_figures(path: str | Path, before: str, now: str) -> None:
    """Let `figures` name pictures whose folders began with one text by folders that begin with another."""
    with open_to_publish(path) as connection:
        moved = "update figures set path = ? || substr(path, ?) where starts_with(path, ?)"
        connection.execute(moved, [now, len(before) + 1, before])


def forget_figures(path: str | Path, run_ids: Sequence[str]) -> None:
    """Delete the rows of `figures` of runs whose pictures are being deleted."""
    with open_to_publish(path) as connection:
        connection.execute("delete from figures where list_contains(?, run_id)", [list(run_ids)])
