-- one row per scheme, round, attribute, estimator, group and category, of the run that stands
create or replace view latest_frequencies as
select latest_runs.scheme, latest_runs."round", frequencies.*
from frequencies
join latest_runs on latest_runs.run_id = frequencies.run_id;
