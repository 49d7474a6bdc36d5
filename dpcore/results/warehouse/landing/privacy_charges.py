"""Every time that real people were asked, whatever became of the round: what `composed_budgets` adds up.

Rule 1.  Charge, then draw: the rows of a run over records are on the disk before the first record is privatized.
Rule 2.  What clients have sent was drawn on their own machines; a file of it is charged when a round first sees it.
Rule 3.  Nothing is ever taken back, and nothing is charged twice under one name: a run's, or the hash of a file's bytes.
Rule 4.  No round of real people lands uncharged, whoever lands it.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pandas as pd

from dpcore.errors import WarehouseError
from dpcore.results.warehouse.published import open_to_publish
from dpcore.results.warehouse.typed_rows import to_rows


def charge(path: str | Path, frame: pd.DataFrame) -> None:
    """Write rows of `drawings`; those that are there already stay as they are.

    Raises WarehouseError, with nothing written, where the warehouse cannot be written: then nothing may be drawn.
    """
    content = to_rows("drawings", frame)
    with open_to_publish(path) as connection:
        connection.register("incoming", content)
        connection.execute("insert into drawings by name select * from incoming on conflict do nothing")
        connection.unregister("incoming")


def charge_landed(connection: duckdb.DuckDBPyConnection, run_id: str) -> None:
    """Charge what a run of real people has just landed, where that has not been done before.

    Raises WarehouseError where it has landed without what that is: its budgets and its scheme.
    """
    connection.execute(_LANDED, [run_id])
    if connection.execute(_UNCHARGED, [run_id]).fetchall():
        raise WarehouseError(
            "a run of real people lands with its budgets and schemes, or what they spent would be lost"
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
told as (
    select run_id, attribute, epsilon, coalesce(delta, 0) as delta, states from budgets
    union all
    select run_id, '', epsilon, coalesce(delta, 0), null from schemes
)
select asked.* exclude (run_id), told.* exclude (run_id)
from asked
join told on told.run_id = asked.run_id
on conflict do nothing
"""
