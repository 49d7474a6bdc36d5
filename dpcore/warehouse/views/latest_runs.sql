-- one row per scheme and round: its newest landed run
create or replace view latest_runs as
select *
from runs
where state = 'landed'
qualify row_number() over (
    partition by scheme, "round"
    order by finished_at desc, started_at desc, run_id desc
) = 1;
