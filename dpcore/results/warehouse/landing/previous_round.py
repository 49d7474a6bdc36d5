"""The estimates that a round is compared with: those of the latest earlier round, or of all newest rounds, of its scheme."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pandas as pd

_CURRENT = "state = 'landed' and replaced_by is null and forgotten_at is null and not trial"

_NUMBERS = """
with numbers as (
    select
        run_id, attribute, given, functional, estimator, kind, estimate, plug_in, standard_error, confidence, low, high, reason,
        1 as part, rowid as place
    from functionals
    where estimator not in ('bias_aware', 'distribution_free', 'two_rounds') -- two_rounds depends on an earlier round
    union all
    select
        run_id, attribute, given, 'frequency(' || category || ')', estimator, 'smooth', coalesce(raw, estimate), estimate,
        standard_error, confidence, low, high, null, 2, rowid
    from frequencies
)
select runs."round", runs.seed, runs.source, numbers.* exclude (part, place)
from runs
join numbers on numbers.run_id = runs.run_id
where list_contains(?, runs.run_id)
order by part, place
"""

_EARLIER = f"""
select run_id
from runs
where {_CURRENT} and scheme_digest = ? and source = ? and "round" < ? and run_id <> ?
order by "round" desc
limit 1
"""

# simulated rounds of one seed have the same clients: only the latest counts
_NEWEST = f"""
select run_id, "round"
from runs
where {_CURRENT} and scheme_digest = ? and source = ?
qualify row_number() over (partition by coalesce(seed::varchar, run_id) order by "round" desc) = 1
order by "round" desc
limit ?
"""

_AROUND = f"""
select run_id, "round"
from runs
where {_CURRENT} and scheme_digest = ? and source = ? and "round" >= ?
order by "round"
limit 2
"""


def numbers_before(
    connection: duckdb.DuckDBPyConnection, scheme_digest: str, source: str, round_: str, run_id: str
) -> pd.DataFrame:
    """Return the estimates of the current run of the latest earlier round, with run_id, round, seed and source.

    One row per attribute, group and functional, or frequency(CATEGORY) with the unbiased proportion as estimate.  The round has
    the same scheme digest and the same source: simulated and real data are not compared.  Rounds sort as text.  Empty if there
    is no such round.
    """
    earlier = connection.execute(_EARLIER, [scheme_digest, source, round_, run_id]).fetchall()
    return numbers(connection, [run_id for (run_id,) in earlier])


def numbers(connection: duckdb.DuckDBPyConnection, run_ids: Sequence[str]) -> pd.DataFrame:
    """Return the estimates of runs, as in `numbers_before`, in the order of landing."""
    frame: pd.DataFrame = connection.execute(_NUMBERS, [list(run_ids)]).df()
    return frame


def newest_runs(
    connection: duckdb.DuckDBPyConnection, scheme_digest: str, source: str, most: int
) -> list[tuple[str, str]]:
    """Return (run_id, round) of the current runs of the newest rounds, newest first; simulated ones with different seeds."""
    return connection.execute(_NEWEST, [scheme_digest, source, most]).fetchall()


def around(
    connection: duckdb.DuckDBPyConnection, scheme_digest: str, source: str, round_: str
) -> list[tuple[str, str]]:
    """Return (run_id, round) of the current runs of the first two rounds that are not before `round_`."""
    return connection.execute(_AROUND, [scheme_digest, source, round_]).fetchall()
