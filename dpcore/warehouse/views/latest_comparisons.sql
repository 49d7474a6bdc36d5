-- one row per scheme, round, other run, attribute and functional, of the newest landed run
create or replace view latest_comparisons as
select latest_runs.scheme, latest_runs."round", comparisons.*
from comparisons
join latest_runs on latest_runs.run_id = comparisons.run_id;
