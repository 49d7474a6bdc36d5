-- one row per scheme, round and check, of the run that stands
create or replace view latest_checks as
select latest_runs.scheme, latest_runs."round", checks.*
from checks
join latest_runs on latest_runs.run_id = checks.run_id;
