-- one row per scheme, round, attribute, group, statistic, level and cell, of the run that stands
create or replace view latest_aggregates as
select latest_runs.scheme, latest_runs."round", aggregates.*
from aggregates
join latest_runs on latest_runs.run_id = aggregates.run_id;
