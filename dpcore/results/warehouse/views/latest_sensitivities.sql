-- one row per scheme, round, attribute, estimator, group and number, of the run that stands: how far malicious clients can have moved it
create or replace view latest_sensitivities as
select latest_runs.scheme, latest_runs."round", sensitivities.*
from sensitivities
join latest_runs on latest_runs.run_id = sensitivities.run_id;
