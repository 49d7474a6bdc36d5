-- one row per scheme, round, attribute, estimator, group and functional, of the run that stands
create or replace view latest_functionals as
select latest_runs.scheme, latest_runs."round", functionals.*
from functionals
join latest_runs on latest_runs.run_id = functionals.run_id;
