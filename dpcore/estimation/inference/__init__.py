"""Confidence intervals and bands of functionals, and comparisons of estimates.

Modules:
    binning_error: error due to binning and to discrete values
    bounded_curvature: intervals under a stated bound on the second derivative, also of quadratic functionals
    comparison: differences of rounds, groups and cohorts
    confidence_bands: pointwise and simultaneous confidence bands
    delta_method: delta-method intervals with second-order debiasing
    distribution_free: intervals valid for every distribution
    distribution_free_weights: weights with known mean for every distribution
    one_step_correction: one-step estimates of functionals of a penalised fit (median, mean, entropy, ...)
    quantile_inversion: quantiles by inversion of the corrected distribution function
    residual_projection: what a one-step correction integrates: projected residuals, and bounded influence functions
    smoothness_class: the class of densities of bounded curvature, and its worst bias
    two_rounds: one functional from two adaptive rounds
    unbiased_moments: unbiased means, moments and variance
"""
