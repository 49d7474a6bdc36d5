"""Tables of a round: the rows that land in the warehouse.

Modules:
    comparisons: differences between rounds, groups and the arms of experiments, with their verdicts
    estimate_rows: functional estimates as rows, and back; rows of `regressions`
    largest_categories: the largest categories, with intervals valid after selection
    round_tables: every table of a round: estimates, budgets, truths
    spending: epsilon spent by clients, from the tokens in their reports
    trend_rows: numbers smoothed over rounds, and checks of shifts
"""
