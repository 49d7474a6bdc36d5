"""Densities released by a trusted curator.

Modules:
    distances: how far a release is from the law F of the people, and from their empirical distribution
    orthogonal_series: the perturbed orthogonal series: cosine coefficients with Laplace noise, made a density
    perturbed_histogram: the perturbed histogram: counts with Laplace noise, negative ones set to zero
    releases: what is released of a density on [0, 1]^r: a histogram of cubes
    smoothed_histogram: sampling from a smoothed histogram: k draws of (1 - delta) f_hat + delta
"""
