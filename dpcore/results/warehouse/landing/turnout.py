"""The check `clients`: whether a round has far fewer reports than the rounds before it."""

from __future__ import annotations

import duckdb

NAME = "clients"
ROUNDS = 7  # before it, of which the median is taken
SHARE = 0.5  # of that median, below which a round has far fewer

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
    format('{{:,}} reports; the {{}} before it had {{:,}}{{}}', accepted,
        if(earlier = 1, 'round', earlier || ' rounds'), usual::bigint, if(earlier = 1, '', ' at the median')) as detail
from rounds
where earlier > 0
"""


def judge_turnout(connection: duckdb.DuckDBPyConnection, scheme: str, source: str) -> None:
    """Write the check of every round of a scheme that stands, of real or of simulated people, anew."""
    given = [scheme, source == "simulated"]
    connection.execute(
        f"delete from checks where name = '{NAME}' and run_id in (select run_id from runs where scheme = ? and (source = "
        "'simulated') = ?)",
        given,
    )
    connection.execute(f"insert into checks by name {_JUDGED}", given)
