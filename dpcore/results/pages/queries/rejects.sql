-- one row per reason for rejecting reports or records, most frequent first
select reason, "count"
from rejects
where run_id = $run_id
order by "count" desc, reason
