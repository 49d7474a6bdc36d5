"""Distributions of numeric attributes with declared support points.

Modules:
    log_linear: the log-linear estimator
    log_linear_average: average over beliefs, weighted by evidence
    log_linear_family: the log-linear family: smooth part, heaps, free points
    log_linear_fit: maximum-likelihood fit under one belief
"""
