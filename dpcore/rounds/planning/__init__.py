"""Planning of a scheme: the expected error, or the number of clients or the epsilon that a target error needs.

Modules:
    aims: aims, forecasts and plans
    assumed_population: the population that a plan assumes
    detection: smallest differences that an experiment finds
    dry_runs: repeated simulated rounds, with errors and coverage of the estimates
    expected_aggregate: the expected aggregate
    joint_plan: plans for two attributes
    lower_bound: lower bounds on the error of any mechanism
    odds: epsilons for given odds
    planner: the planner: clients, epsilon or error
    published_epsilons: epsilons of published deployments
    search: search for the smallest sufficient number
"""
