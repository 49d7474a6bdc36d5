-- one row per scheme and landed round, newest first
select scheme, "round", run_id
from latest_runs
order by "round" desc, finished_at desc, started_at desc, run_id desc
