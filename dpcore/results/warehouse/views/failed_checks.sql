-- one row per failed check of the current run of a scheme and round
create or replace view failed_checks as
select latest_runs.scheme, latest_runs."round", checks.*
from checks
join latest_runs on latest_runs.run_id = checks.run_id
where not checks.passed;
