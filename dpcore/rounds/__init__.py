"""A round on a folder, from clients to tables, step by step, and related tasks.

Here: the steps of a round, backfill, cleanup, certificates, exchange of reports, and the planner.  Not here: estimates
(`pipeline`, `estimation`) and columns of tables (`results`).  Only this package writes a run's folder.  May import all but the
laboratory.

Modules:
    audit_run: an audit of scheme files, with certificate and landing
    defaults: defaults of rounds, light to import
    exchange/: reports to and from other machines
    follow_up: a second round that follows a first
    maintenance/: backfill of missing rounds, backup and cleanup
    planning/: the expected error before a round, and the clients or epsilon that an error needs
    population_margins: population margins from a CSV file
    project: a team's project folder and its `ldpflow.toml`
    publication: central epsilon of a round, as it lands
    run: the state machine of a run: `STEPS`, plan and states
    settings: every option of a round, declared once
    steps/: the steps of a round, in the order of `sequence`
"""
