-- one row per scheme and round: the landed run that stands; real people's where there are any
create or replace view latest_runs as
select *
from runs
where state = 'landed' and replaced_by is null and forgotten_at is null;
