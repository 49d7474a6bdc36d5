"""Prefect flows: the steps of `dpcore.rounds` as tasks, scheduled, retried and watched.

One flow a file, and an entry of prefect.yaml.

Modules:
    audit: the flow `audit`
    backfill: the flow `backfill`
    cleanup: the flow `cleanup`
    collect: the flow `collect`
    dry_runs: the flow `dry-runs`: simulated rounds; nothing lands
    estimate: the flow `estimate`
    monitoring/: `ldpflow status` and `ldpflow watch`: health, alerts and metrics
    names: names that are stored on Prefect's server
    publish: the flow `publish`
    round: the flow `round`: the whole round as tasks
    server: the Prefect server behind a key
    services/: `ldpflow up`: server, worker, deployments and automations
    settings: parameters of the flows
    simulate: the flow `simulate`
    studies/: Prefect flows of studies, in a checkout only
    tasks/: Prefect tasks of the steps of a round, and what tasks have in common
"""

from dpcore.rounds.defaults import keep_to_one_thread

keep_to_one_thread()
