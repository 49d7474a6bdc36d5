"""Planning of a scheme: the expected error, or the number of clients or the epsilon that a target error needs.

Modules:
    aims: aims, forecasts and plans
    assumed_population: the population that a plan assumes, its expected aggregate, and lower bounds on errors
    detection: smallest differences that an experiment finds
    dry_runs: repeated simulated rounds, with errors and coverage of the estimates
    joint_plan: plans for two attributes
    odds: epsilons for given odds, and epsilons of published deployments
    planner: the planner: clients, epsilon or error
    search: search for the smallest sufficient number
"""
