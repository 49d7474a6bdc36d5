-- one row per scheme, round and picture, of the run that stands
create or replace view latest_figures as
select latest_runs.scheme, latest_runs."round", figures.*
from figures
join latest_runs on latest_runs.run_id = figures.run_id;
