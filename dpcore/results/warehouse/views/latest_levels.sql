-- one row per scheme, round, attribute, group and level that the level rule looked at, of the run that stands
create or replace view latest_levels as
select latest_runs.scheme, latest_runs."round", levels.*
from levels
join latest_runs on latest_runs.run_id = levels.run_id;
