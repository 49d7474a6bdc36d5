-- one row per scheme, round, categorical attribute and category, of the run that stands
create or replace view latest_categories as
select latest_runs.scheme, latest_runs."round", categories.*
from categories
join latest_runs on latest_runs.run_id = categories.run_id;
