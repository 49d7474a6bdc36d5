"""Charges of real clients, including those of failed rounds; `composed_budgets` adds them up.

Rule 1.  Charge before drawing noise: the rows of a run on records are on disk before the first record is privatized.
Rule 2.  Clients draw their noise themselves; a file of reports is charged when a round first reads it.
Rule 3.  Charges are never deleted, and each run or file (by the hash of its bytes) is charged once.
Rule 4.  No round with real data lands without its charges.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pandas as pd

from dpcore.errors import WarehouseError
from dpcore.results.warehouse.published_copy import open_to_publish
from dpcore.results.warehouse.typed_rows import to_rows


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
