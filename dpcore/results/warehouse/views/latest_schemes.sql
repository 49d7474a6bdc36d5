-- one row per scheme and round: the scheme of the run that stands
create or replace view latest_schemes as
select latest_runs.scheme, latest_runs."round", schemes.*
from schemes
join latest_runs on latest_runs.run_id = schemes.run_id;
