"""Frequencies of categorical attributes.

Modules:
    frequency: the frequency estimator: unbiased, with exact covariance
    frequency_estimate: the estimate of a categorical attribute
    frequent_texts: the search for frequent texts, and their shares
    option_shares: shares of options where one respondent may choose several
    proportion_intervals: confidence intervals of proportions, also after selection
    text_estimate: the texts found to be frequent, with their shares
"""
