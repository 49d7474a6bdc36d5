"""The check `clients`: whether a round has far fewer reports than the previous rounds."""

from __future__ import annotations

import duckdb

NAME = "clients"
ROUNDS = 7  # previous rounds, for the median
SHARE = 0.5  # fraction of the median below which the check fails

_JUDGED = f"""
with rounds as (
    select run_id, "round", source, accepted, median(accepted) over before as usual, count(*) over before as earlier
    from runs
    where state = 'landed'
        and replaced_by is null
        and not trial
        and scheme = ?
        and (source = 'simulated') = ?
    window before as (order by "round" rows between {ROUNDS} preceding and 1 preceding)
)
select
    run_id,
    '{NAME}' as name,
    accepted >= {SHARE} * usual as passed,
    accepted::double as observed,
    {SHARE} * usual as threshold,
    format('{{:,}} reports; {{}}{{:,}} in the previous {{}}', accepted, if(earlier = 1, '', 'median '), usual::bigint,
        if(earlier = 1, 'round', earlier || ' rounds')) as detail
from rounds
where earlier > 0
"""


def judge_turnout(connection: duckdb.DuckDBPyConnection, scheme: str, source: str) -> None:
    """Write the check again for all current rounds of a scheme with real data, or with simulated data."""
    values = [scheme, source == "simulated"]
    connection.execute(
        f"delete from checks where name = '{NAME}' and run_id in (select run_id from runs where scheme = ? and (source = "
        "'simulated') = ?)",
        values,
    )
    connection.execute(f"insert into checks by name {_JUDGED}", values)
