-- one row per scheme, round, attribute, group and quantity (and x, for the density) of simulated people, of the run that stands
create or replace view latest_truths as
select latest_runs.scheme, latest_runs."round", truths.*
from truths
join latest_runs on latest_runs.run_id = truths.run_id;
