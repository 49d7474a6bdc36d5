-- one row: the newest landed round with its checks, or no row
select
    run_id,
    flow_run_id,
    scheme,
    "round",
    source = 'simulated' as is_simulated,
    finished_at as landed_at,
    accepted,
    rejected,
    (select count(*) from checks where checks.run_id = newest.run_id) as checks,
    (
        select coalesce(list(name order by name), [])
        from checks
        where checks.run_id = newest.run_id and not passed
    ) as failed
from latest_runs as newest
order by "round" desc, finished_at desc, started_at desc, run_id desc
limit 1
