"""Finds what a round is compared with: the functionals and shares of the latest earlier round of the same scheme."""

from __future__ import annotations

import duckdb
import pandas as pd

_STANDS = "state = 'landed' and replaced_by is null and forgotten_at is null and not trial"

_NUMBERS = """
with numbers as (
    select
        run_id, attribute, given, functional, kind, estimate, plug_in, standard_error, confidence, low, high, reason,
        1 as part, rowid as place
    from functionals
    where estimator not in ('bias_aware', 'distribution_free', 'two_rounds') -- the last, as an earlier round is part of it
    union all
    select
        run_id, attribute, given, 'frequency(' || category || ')', 'smooth', coalesce(raw, estimate), estimate,
        standard_error, confidence, low, high, null, 2, rowid
    from frequencies
)
select runs."round", runs.seed, runs.source, numbers.* exclude (part, place)
from runs
join numbers on numbers.run_id = runs.run_id
where runs.run_id = ?
order by part, place
"""

_EARLIER = f"""
select run_id
from runs
where {_STANDS} and scheme_digest = ? and source = ? and "round" < ? and run_id <> ?
order by "round" desc
limit 1
"""

_AROUND = f"""
select run_id, "round"
from runs
where {_STANDS} and scheme_digest = ? and source = ? and "round" >= ?
order by "round"
limit 2
"""


def numbers_before(
    connection: duckdb.DuckDBPyConnection, scheme_digest: str, source: str, round_: str, run_id: str
) -> pd.DataFrame:
    """Return the numbers, with run_id, round, seed and source, of the latest earlier round's run that stands.

    One row per attribute, group and functional, or frequency(CATEGORY), whose estimate is then the unbiased share.
    Of the same scheme, by its digest, and the same source: simulated people are not compared with real ones.  Rounds sort as
    text.  Empty where there is none.
    """
    earlier = connection.execute(_EARLIER, [scheme_digest, source, round_, run_id]).fetchall()
    return numbers(connection, earlier[0][0] if earlier else "")


def numbers(connection: duckdb.DuckDBPyConnection, run_id: str) -> pd.DataFrame:
    """Return the numbers of one run, as `numbers_before` does, in the order in which they landed."""
    frame: pd.DataFrame = connection.execute(_NUMBERS, [run_id]).df()
    return frame


def around(
    connection: duckdb.DuckDBPyConnection, scheme_digest: str, source: str, round_: str
) -> list[tuple[str, str]]:
    """Return (run_id, round) of a round's run that stands, and of the next round's; of one that does not, of the next two."""
    return connection.execute(_AROUND, [scheme_digest, source, round_]).fetchall()
