-- one row per check, failed checks first
select name, passed, observed, threshold, detail
from checks
where run_id = $run_id
order by passed, name
