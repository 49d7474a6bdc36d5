"""Checks of a round: rows of `checks`.

Modules:
    check: one row of `checks`
    poisoning: tests for malicious clients
    round_checks: checks of privacy, fit, assumptions and rejected reports
    table_quality: data-quality rules of the tables
"""
