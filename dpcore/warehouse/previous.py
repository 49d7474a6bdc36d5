"""Finds what a round is compared with: the functionals and shares of the latest earlier round of the same scheme."""

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
),
numbers as (
    select
        run_id, attribute, given, functional, kind, estimate, plug_in, standard_error, confidence, low, high, reason
    from functionals
    union all
    select
        run_id, attribute, given, 'frequency(' || category || ')', 'smooth', coalesce(raw, estimate), estimate,
        standard_error, confidence, low, high, null
    from frequencies
)
select earlier."round", earlier.seed, numbers.*
from earlier
join numbers on numbers.run_id = earlier.run_id
order by attribute, given, functional
"""


def previous_numbers(
    path: str | Path, *, scheme_digest: str, source: str, round_: str, run_id: str, patience: float = 30.0
) -> pd.DataFrame:
    """Return the numbers, with run_id, round and seed, of the latest earlier round's newest landed run.

    One row per attribute, group and functional, or frequency(CATEGORY), whose estimate is then the unbiased share.
    Of the same scheme, by its digest, and the same source: simulated people are not compared with real ones.  Rounds sort as
    text.  Empty where there is none.  Raises WarehouseError where the warehouse cannot be read.
    """
    with open_for_reading(path, patience=patience) as connection:
        found: pd.DataFrame = connection.execute(_SQL, [scheme_digest, source, round_, run_id]).df()
        return found
