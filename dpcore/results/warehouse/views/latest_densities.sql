-- one row per scheme, round, attribute, estimator, group and grid point, of the run that stands
create or replace view latest_densities as
select latest_runs.scheme, latest_runs."round", densities.*
from densities
join latest_runs on latest_runs.run_id = densities.run_id;
