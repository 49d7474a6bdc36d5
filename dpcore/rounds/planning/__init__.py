"""What a scheme will give before anyone reports: the expected error, and the clients or the epsilon that an error needs.

Modules:
    aims: aims, forecasts and plans
    assumed_population: the population that a plan assumes
    dry_runs: repeated simulated rounds, and how far estimates are from the truth
    expected_aggregate: the expected aggregate
    joint_plan: plans for two attributes
    lower_bound: the error that no mechanism can beat
    odds: plans for odds
    planner: the planner: clients, epsilon or error
    published_epsilons: epsilons that others have published
    search: search for the smallest sufficient number
"""
