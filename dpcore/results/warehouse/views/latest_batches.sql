-- one row per scheme, round and file of collected reports, of the run that stands
create or replace view latest_batches as
select latest_runs.scheme, latest_runs."round", batches.*
from batches
join latest_runs on latest_runs.run_id = batches.run_id;
