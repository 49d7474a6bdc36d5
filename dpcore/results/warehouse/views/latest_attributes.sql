-- one row per scheme, round and attribute, of the run that stands
create or replace view latest_attributes as
select latest_runs.scheme, latest_runs."round", attributes.*
from attributes
join latest_runs on latest_runs.run_id = attributes.run_id;
