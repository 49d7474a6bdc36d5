"""Tables of a round: the rows that land in the warehouse.

Modules:
    comparisons: rows of `comparisons`, between rounds and between groups
    experiment_rows: differences and ratios of the arms of an experiment
    functional_rows: a functional estimate as a row, and back
    largest_categories: the largest categories, with intervals valid after selection
    regression_tables: coefficients, effects and tests of regressions
    round_tables: every table of a round: estimates, budgets, truths
    spending: epsilon spent by clients, from the tokens in their reports
    trend_rows: numbers smoothed over rounds, and checks of shifts
"""
