"""Attacks on reports: empirical lower bounds of epsilon, averaging, and tests of the reports' distribution.

Modules:
    averaging: averaging attack over repeated rounds
    likelihood_ratio: exact log-likelihood ratio of two values given a report
    lower_bound: empirical lower bounds of epsilon, from views that sort reports into classes
    report_distribution: tests that reports have the distribution that the integers state
    report_ranks: rank of a report among all reports of its client, uniform if honest
"""
