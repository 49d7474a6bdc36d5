"""Which files of collected reports have been counted, and in which round: no file is counted in two."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import duckdb

from dpcore.errors import WarehouseError
from dpcore.warehouse.connection import open_for_reading

# A round's newest landed run is the one whose counts stand.
_COUNTED = """
with standing as (
    select run_id, "round", scheme_digest, finished_at
    from runs
    where state = 'landed' and source = 'reports'
    qualify row_number() over (
        partition by scheme_digest, "round" order by finished_at desc, started_at desc, run_id desc
    ) = 1
)
select batches.file, standing."round", standing.finished_at
from standing
join batches on batches.run_id = standing.run_id
"""


def counted_files(path: str | Path, scheme_digest: str, *, patience: float = 30.0) -> dict[str, str]:
    """Return SHA-256 of a file of reports -> the round that counted it, of one scheme; {} where nothing has landed.

    Raises WarehouseError where the warehouse cannot be read.
    """
    if not Path(path).exists():
        return {}
    with open_for_reading(path, patience=patience) as connection:
        found = connection.execute(f"{_COUNTED} where standing.scheme_digest = ?", [scheme_digest]).fetchall()
    return {file: round_ for file, round_, _ in found}


def counted_since(path: str | Path, *, patience: float = 30.0) -> dict[str, datetime]:
    """Return SHA-256 of a file of reports -> when the run that counts it ended, of every scheme."""
    if not Path(path).exists():
        return {}
    with open_for_reading(path, patience=patience) as connection:
        found = connection.execute(_COUNTED).fetchall()
    return {file: at.replace(tzinfo=UTC) for file, _, at in found}


def refuse_counted(connection: duckdb.DuckDBPyConnection, run_id: str) -> None:
    """Raise WarehouseError where the run that has just been written counts a file that another round has counted."""
    found = connection.execute(
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
    if found:
        rounds = ", ".join(f"{count} of its files of reports in round {round_}" for round_, count in found)
        raise WarehouseError(f"this round has been overtaken, {rounds}: run it again, and it takes what is left")
