"""Files of collected reports that have been counted, and their rounds: no file is counted in two rounds."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import duckdb

from dpcore.errors import WarehouseError
from dpcore.results.warehouse.connection import rows_there

# Files counted by any landed run of a round belong to the round: if it is run again, it counts all of them.
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
    """Return SHA-256 of a file of reports -> the round of this scheme that counted it; {} if no round has landed.

    Raises WarehouseError if the warehouse cannot be read.
    """
    rows = rows_there(path, f"{_COUNTED} where counted_by.scheme_digest = ?", [scheme_digest])
    return {file: round_ for file, round_, _ in rows}


def counted_since(path: str | Path) -> dict[str, datetime]:
    """Return SHA-256 of a file of reports -> end of the run that counted it, for all schemes."""
    return {file: at.replace(tzinfo=UTC) for file, _, at in rows_there(path, _COUNTED)}


def refuse_counted(connection: duckdb.DuckDBPyConnection, run_id: str) -> None:
    """Raise WarehouseError if the run that was just written counts a file of another round."""
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
        raise WarehouseError(f"files already counted: {rounds}; run this round again for the remaining files")
