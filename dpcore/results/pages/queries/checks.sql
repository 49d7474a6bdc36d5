-- one row per check, those not passed first
select name, passed, observed, threshold, detail
from checks
where run_id = $run_id
order by passed, name
