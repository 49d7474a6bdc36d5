-- one row per scheme, round and reason for refusing reports or records, of the run that stands
create or replace view latest_rejects as
select latest_runs.scheme, latest_runs."round", rejects.*
from rejects
join latest_runs on latest_runs.run_id = rejects.run_id;
