-- one row per scheme and round: the scheme of the newest landed run
create or replace view latest_schemes as
select latest_runs.scheme, latest_runs."round", schemes.*
from schemes
join latest_runs on latest_runs.run_id = schemes.run_id;
