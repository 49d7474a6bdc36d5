"""Attacks on reports: empirical lower bounds of epsilon, averaging, and tests of the reports' distribution.

Modules:
    averaging: averaging attack over repeated rounds
    lower_bound: empirical lower bounds of epsilon, from views that sort reports into classes
    report_distribution: tests that reports have the distribution that the integers state
"""
