"""Which rounds have landed, and when; and what is forgotten of them when their files are deleted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from dpcore.results.warehouse.connection import open_for_reading
from dpcore.results.warehouse.published import open_to_publish


def standing_rounds(path: str | Path, *, patience: float = 30.0) -> dict[tuple[str, str], str]:
    """Return (scheme's name, round) -> the source of the run that stands for it; {} where there is no warehouse.

    Raises WarehouseError where the warehouse cannot be read.
    """
    if not Path(path).exists():
        return {}
    with open_for_reading(path, patience=patience) as connection:
        rows = connection.execute('select scheme, "round", source from latest_runs').fetchall()
    return {(scheme, round_): source for scheme, round_, source in rows}


def stands(path: str | Path, run_id: str, *, patience: float = 30.0) -> bool:
    """Return whether a run has landed and stands for its round; False where there is no warehouse."""
    if not Path(path).exists():
        return False
    with open_for_reading(path, patience=patience) as connection:
        return bool(connection.execute("select 1 from latest_runs where run_id = ?", [run_id]).fetchall())


def landed_rounds(path: str | Path, *, patience: float = 30.0) -> dict[tuple[str, str, str], datetime]:
    """Return (scheme digest, source, round) -> when its newest landed run ended; {} where there is no warehouse.

    Raises WarehouseError where the warehouse cannot be read.
    """
    if not Path(path).exists():
        return {}
    with open_for_reading(path, patience=patience) as connection:
        rows = connection.execute(
            "select scheme_digest, source, \"round\", max(finished_at) from runs where state = 'landed' group by all"
        ).fetchall()
    return {(digest, source, round_): at.replace(tzinfo=UTC) for digest, source, round_, at in rows}


def forget_figures(path: str | Path, run_ids: Sequence[str], *, patience: float = 30.0) -> None:
    """Delete the rows of `figures` of runs whose pictures are being deleted."""
    with open_to_publish(path, patience=patience) as connection:
        connection.execute("delete from figures where list_contains(?, run_id)", [list(run_ids)])
