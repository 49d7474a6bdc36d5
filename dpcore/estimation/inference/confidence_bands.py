"""Bands: standard errors along a curve, critical values of simultaneous bands, and the inversion of a cdf's band."""

from __future__ import annotations

from math import exp, pi

import numpy as np
import scipy

from dpcore.estimation import constants
from dpcore.estimation.functional_estimate import FunctionalEstimate, estimated, normal_quantile
from dpcore.functionals import Functional


def root(covariance: np.ndarray) -> np.ndarray:
    """Return S^{1/2}, (K, K), whose product with its transpose is S (K, K); negative eigenvalues count as zero."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def massless(total: np.ndarray) -> np.ndarray:
    """Return orthonormal coefficients, (K, K - 1), of the functions of mass zero; total: (K,), the masses of a basis."""
    return np.asarray(np.linalg.qr(np.column_stack([total, np.eye(len(total))[:, 1:]]))[0][:, 1:])


def standard_errors(features: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return sqrt(diag(F S F')), shape (n,); features F (n, K), covariance S (K, K)."""
    variance = np.einsum("nk,nk->n", features @ covariance, features)
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def critical_value(features: np.ndarray, covariance: np.ndarray, confidence: float) -> float:
    """Return c with P(max |Z| <= c) = confidence for Z = F x / sd(F x), x ~ N(0, S), along a curve of points.

    features: F (n, K), one row for each of n neighbouring points.  The tube formula: P(max |Z| > c) is about
    (kappa / pi) exp(-c^2 / 2) + 2 (1 - Phi(c)), kappa the length of the curve S^{1/2} F' / |S^{1/2} F'| on the sphere
    [SunLoader1994].

    >>> round(critical_value(np.ones((5, 1)), np.eye(1), 0.95), 3)  # a constant: the pointwise value
    1.96
    """
    path = features @ root(covariance)
    norms = np.linalg.norm(path, axis=1)
    path = path[norms > 1e-12 * norms.max()] / norms[norms > 1e-12 * norms.max(), None]
    kappa = float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())

    def excess(c: float) -> float:
        return kappa / pi * exp(-c * c / 2) + 2 * float(scipy.special.ndtr(-c)) - (1 - confidence)

    least = normal_quantile(confidence)
    return least if excess(least) <= 0 else float(scipy.optimize.brentq(excess, least, 40.0))


def simulated_critical_value(covariance: np.ndarray, confidence: float) -> float:
    """Return c with P(max |Z_i| <= c) = confidence, Z normal with the correlations of a covariance (n, n), by simulation.

    With a fixed seed, and at least the pointwise value.  For points that form no curve: neighbours may be hardly correlated,
    and the tube formula would use too long a path.

    >>> round(simulated_critical_value(np.ones((5, 5)), 0.95), 1)
    2.0
    """
    scale = np.sqrt(np.diagonal(covariance))
    turned = root(covariance / np.outer(scale, scale))
    draws = np.random.default_rng(constants.SEED).standard_normal((constants.DRAWS, len(turned))) @ turned.T
    largest = np.abs(draws).max(axis=1)
    return max(float(np.quantile(largest, confidence)), normal_quantile(confidence))


def within(value: float, low: float, high: float, least: float, most: float) -> tuple[float, float, float]:
    """Return value, low and high after shifting the value and its interval into [least, most] and clipping to the range.

    An impossible value indicates a large error, and must not leave an interval of length zero.

    >>> within(1.5, 1.25, 1.75, 0.0, 1.0)
    (1.0, 0.75, 1.0)
    """
    shift = float(np.clip(value, least, most)) - value
    value, low, high = (float(np.clip(number + shift, least, most)) for number in (value, low, high))
    return value, low, high


def inferred(
    functional: Functional,
    interval: tuple[float, float, float, float],
    bounds: tuple[float, float],
    confidence: float,
    plug_in: float,
    *,
    kind: str = "",
    second_order: float | None = None,
) -> FunctionalEstimate:
    """Return a functional with its interval, shifted into its possible range.

    interval: value, standard error, low and high.  bounds: of the range.  plug_in: of the density shown.  kind: by default the
    functional's own.
    """
    value, error, low, high = interval
    value, low, high = within(value, low, high, *bounds)
    return estimated(functional, (value, error, low, high), confidence, plug_in, kind, second_order=second_order)


def invert_band(
    x: np.ndarray,
    cdf: np.ndarray,
    errors: np.ndarray,
    t: float,
    confidence: float,
) -> tuple[float, float, float, float]:
    """Return value, standard error, low and high of the t-quantile of a cdf known at x, (n,), up to standard errors (n,).

    low and high are the ends of {x: |F(x) - t| <= z SE(x)}; the value is halfway between the first and the last x with F(x) =
    t; the standard error is the interval's half-width over z.
    """
    z = normal_quantile(confidence)
    above, below = cdf + z * errors, cdf - z * errors
    low, high = _first_above(x, above - t), _last_below(x, below - t)
    value = (_first_above(x, cdf - t) + _last_below(x, cdf - t)) / 2
    return value, (high - low) / (2 * z), low, high


def _first_above(x: np.ndarray, g: np.ndarray) -> float:
    """The first x at which g reaches zero from below, interpolated."""
    if g[0] >= 0 or not np.any(g >= 0):
        return float(x[0] if g[0] >= 0 else x[-1])
    i = int(np.argmax(g >= 0))
    return float(x[i] - (x[i] - x[i - 1]) * g[i] / (g[i] - g[i - 1]))


def _last_below(x: np.ndarray, g: np.ndarray) -> float:
    """The last x at which g leaves zero from below."""
    return float(-_first_above(-x[::-1], -g[::-1]))
