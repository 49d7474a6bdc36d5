"""Distributions of numeric attributes with declared support points.

Modules:
    log_linear: the log-linear estimator
    log_linear_average: the fit under one prior, and the average over smoothness, heaping and freedom of each point
    log_linear_family: the log-linear family: smooth part, heaps, free points
"""
