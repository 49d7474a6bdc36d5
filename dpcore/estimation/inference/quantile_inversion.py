"""Quantiles by inversion of the band of the corrected distribution function, with point masses at the ends of the range.

A significant point mass makes the function jump, and the quantile is its location.  A smaller one is fitted as a density that
increases towards the end, whose quantile lies short of it.  If an interval nearly reaches an end, and the reports do not
exclude a point mass that contains the quantile, the interval is extended to the end.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpcore.estimation import constants
from dpcore.estimation.density.log_spline_posterior import Posterior
from dpcore.estimation.functional_estimate import normal_quantile
from dpcore.estimation.inference import residual_projection
from dpcore.estimation.inference.binning_error import Corrected
from dpcore.estimation.inference.confidence_bands import invert_band, standard_errors
from dpcore.estimation.inference.residual_projection import Span


def corrected(posterior: Posterior, seen: Span, t: float, confidence: float) -> Corrected:
    """Return the t-quantile of the fit, corrected by the residuals in a span."""
    density = posterior.density
    x, cdf, features = posterior.grid, density.cdf(posterior.grid), seen.cdf_features(posterior.grid)
    unseen = posterior.cdf_features - features @ seen.reach
    if density.atoms[1] > 0:  # it jumps at upper: the grid has the value below as well
        below = features[-1] - seen.masses[1]
        x, cdf = np.append(x, x[-1]), np.insert(cdf, -1, 1 - density.atoms[1])
        features = np.insert(features, -1, below, axis=0)
        unseen = np.insert(unseen, -1, unseen[-2], axis=0)
    errors = np.hypot(standard_errors(features, seen.covariance), standard_errors(unseen, posterior.covariance))
    value, error, low, high = invert_band(x, cdf + features @ seen.correction, errors, t, confidence)
    return _to_ends(posterior, Corrected(value, error, low, high), t, confidence)


def _to_ends(posterior: Posterior, interval: Corrected, t: float, confidence: float) -> Corrected:
    """The interval extended to an end that it nearly reaches, if a point mass there may contain the quantile."""
    lower, upper, inputs = posterior.density.lower, posterior.density.upper, posterior.likelihood.inputs
    piece, z = (upper - lower) / min(2**constants.FIT_LEVEL, inputs), normal_quantile(confidence)
    is_near = np.array([interval.low < lower + piece, interval.high > upper - piece])
    if not np.any(is_near):
        return interval
    level = max(
        0, min(constants.COARSEST_LEVEL, inputs.bit_length() - 2)
    )  # two cells a piece at least, or they do not tell its atom
    seen = residual_projection.project(posterior, level, np.arange(2))
    even = posterior.likelihood.expected(np.full(inputs, 1 / inputs))  # without atoms: what is seen is the law's
    atoms = seen.masses @ seen.solve @ posterior.likelihood.residual(even)
    most = atoms + z * standard_errors(seen.masses, seen.covariance)
    to_lower, to_upper = is_near & (np.array([t, 1 - t]) <= most)
    low, high = lower if to_lower else interval.low, upper if to_upper else interval.high
    return replace(interval, low=low, high=high, error=max(interval.error, (high - low) / (2 * z)))
