"""Which files of collected reports have been counted, and in which round: no file is counted in two."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import duckdb

from dpcore.errors import WarehouseError
from dpcore.results.warehouse.connection import rows_there

# What a round has counted it has counted, whichever of its runs stands now: one that is run again counts all of it.
_COUNTED = """
with counted_by as (
    select batches.file, runs."round", runs.scheme_digest, max(runs.finished_at) as finished_at
    from runs
    join batches on batches.run_id = runs.run_id
    where runs.state = 'landed' and runs.source = 'reports'
    group by all
)
select counted_by.file, counted_by."round", counted_by.finished_at
from counted_by
"""


def counted_files(path: str | Path, scheme_digest: str) -> dict[str, str]:
    """Return SHA-256 of a file of reports -> the round that counted it, of one scheme; {} where nothing has landed.

    Raises WarehouseError where the warehouse cannot be read.
    """
    rows = rows_there(path, f"{_COUNTED} where counted_by.scheme_digest = ?", [scheme_digest])
    return {file: round_ for file, round_, _ in rows}


def counted_since(path: str | Path) -> dict[str, datetime]:
    """Return SHA-256 of a file of reports -> when the run that counts it ended, of every scheme."""
    return {file: at.replace(tzinfo=UTC) for file, _, at in rows_there(path, _COUNTED)}


def refuse_counted(connection: duckdb.DuckDBPyConnection, run_id: str) -> None:
    """Raise WarehouseError where the run that has just been written counts a file that another round has counted."""
    overlaps = connection.execute(
        f"""with counted as ({_COUNTED})
        select counted."round", count(*)
        from counted
        join batches on batches.file = counted.file
        join runs on runs.run_id = batches.run_id
        where batches.run_id = ? and counted."round" <> runs."round"
        group by all
        order by all""",
        [run_id],
    ).fetchall()
    if overlaps:
        rounds = ", ".join(f"{count} of its files of reports in round {round_}" for round_, count in overlaps)
        raise WarehouseError(f"this round has been overtaken, {rounds}: run it again, and it takes what is left")
