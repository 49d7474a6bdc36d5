"""Finds what a round is compared with: the functionals of the latest earlier round of the same scheme."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from dpcore.warehouse.connection import open_for_reading

_SQL = """
with earlier as (
    select run_id, "round", seed
    from runs
    where state = 'landed' and scheme_digest = ? and source = ? and "round" < ? and run_id <> ?
    order by "round" desc, finished_at desc, started_at desc, run_id desc
    limit 1
)
select
    earlier.run_id, earlier."round", earlier.seed, attribute, functional, kind, estimate, plug_in, standard_error,
    confidence, low, high, reason
from earlier
join functionals on functionals.run_id = earlier.run_id and functionals.given = ''
order by attribute, functional
"""


def previous_functionals(
    path: str | Path, *, scheme_digest: str, source: str, round_: str, run_id: str, patience: float = 30.0
) -> pd.DataFrame:
    """Return everyone's rows of `functionals`, with run_id, round and seed, of the latest earlier round's newest landed run.

    Of the same scheme, by its digest, and the same source: simulated people are not compared with real ones.  Rounds sort as
    text.  Empty where there is none.  Raises WarehouseError where the warehouse cannot be read.
    """
    with open_for_reading(path, patience=patience) as connection:
        found: pd.DataFrame = connection.execute(_SQL, [scheme_digest, source, round_, run_id]).df()
        return found
