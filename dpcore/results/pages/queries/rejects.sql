-- one row per reason for refusing reports or records, the most frequent first
select reason, "count"
from rejects
where run_id = $run_id
order by "count" desc, reason
