"""Weighting by public labels: raking, weighted estimates and their variance.

Modules:
    raking: raking weights from known population margins
    stratified_variance: variance of weighted estimates over cells of labels
    weighted_estimates: any estimator on weighted statistics
"""
