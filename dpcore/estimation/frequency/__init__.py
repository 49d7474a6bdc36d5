"""Frequencies of categorical attributes.

Modules:
    frequency: the frequency estimator: unbiased, with exact covariance
    frequency_estimate: the estimate of a categorical attribute
    proportion_intervals: confidence intervals of proportions, also after selection
"""
