-- one row per scheme and round: its current run; a run on real data takes precedence over a simulated one
create or replace view latest_runs as
select *
from runs
where state = 'landed' and replaced_by is null and forgotten_at is null;
