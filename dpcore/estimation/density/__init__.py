"""Density estimators of numeric attributes, and what they estimate.

Modules:
    channel_projection: least squares in V_j from the counts of a finite channel
    densities: densities on an interval as coefficients and a basis
    density_estimate: the estimate of a numeric attribute
    expectation_maximization: EM and EMS for finite channels
    inner_products: unbiased inner products from noisy features
    item_nonresponse: density of the respondents and the nonresponse rate
    likelihood: likelihood of an aggregate given the input-cell distribution
    log_spline: the log-spline estimator
    log_spline_family: the log-spline family and its roughness priors
    log_spline_fit: log-spline fit averaged over roughness penalties by marginal likelihood
    log_spline_posterior: density and covariance of a log-spline under one prior
    penalised_likelihood: maximum of the penalised likelihood, with its Laplace evidence
    projection: the projection estimate, and rules that choose its resolution level
    resolution_levels: the projection estimates of all levels
"""
