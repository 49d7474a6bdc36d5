"""What landed rounds have counted and charged: files of collected reports, and the epsilon of clients.

No file is counted in two rounds.  Charges of real clients include those of failed rounds; `composed_budgets` adds them up.

Rule 1.  Charge before drawing noise: the rows of a run on records are on disk before the first record is privatized.
Rule 2.  Clients draw their noise themselves; a file of reports is charged when a round first reads it.
Rule 3.  Charges are never deleted, and each run or file (by the hash of its bytes) is charged once.
Rule 4.  No round with real data lands without its charges.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pandas as pd

from dpcore.errors import WarehouseError
from dpcore.results.warehouse.connection import rows_there
from dpcore.results.warehouse.published_copy import open_to_publish
from dpcore.results.warehouse.typed_rows import to_rows

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


def charge(path: str | Path, frame: pd.DataFrame) -> None:
    """Write rows of `drawings`; existing rows are not changed.

    Raises WarehouseError, with nothing written, if the warehouse cannot be written; then no noise may be drawn.
    """
    content = to_rows("drawings", frame)
    with open_to_publish(path) as connection:
        connection.register("incoming", content)
        connection.execute("insert into drawings by name select * from incoming on conflict do nothing")
        connection.unregister("incoming")


def charge_landed(connection: duckdb.DuckDBPyConnection, run_id: str) -> None:
    """Write the missing charges of a run on real data that has just landed.

    Raises WarehouseError if it has landed without its budgets and scheme, from which the charges follow.
    """
    connection.execute(_LANDED, [run_id])
    if connection.execute(_UNCHARGED, [run_id]).fetchall():
        raise WarehouseError(
            f"run {run_id}: charges need rows in the tables budgets and schemes; land the run with both tables"
        )


_UNCHARGED = """
select 1
from runs
left join batches on batches.run_id = runs.run_id
where runs.run_id = ?
    and runs.source <> 'simulated'
    and (runs.scheme_digest, coalesce(batches.file, runs.run_id)) not in (select (scheme_digest, drawing) from drawings)
"""

_LANDED = """
insert into drawings by name
with asked as (
    select
        runs.run_id,
        runs.scheme,
        runs.scheme_digest,
        runs.source,
        coalesce(batches.file, runs.run_id) as drawing,
        coalesce(nullif(batches.sent_for, ''), runs."round") as "round"
    from runs
    left join batches on batches.run_id = runs.run_id
    where runs.run_id = ? and runs.source <> 'simulated'
),
charges as (
    select run_id, attribute, epsilon, coalesce(delta, 0) as delta, states from budgets
    union all
    select run_id, '', epsilon, coalesce(delta, 0), null from schemes
)
select asked.* exclude (run_id), charges.* exclude (run_id)
from asked
join charges on charges.run_id = asked.run_id
on conflict do nothing
"""
