-- one row per scheme and round that has landed, the newest landed first
select scheme, "round", run_id
from latest_runs
order by finished_at desc, started_at desc, run_id desc
