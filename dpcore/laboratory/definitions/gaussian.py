"""A Gaussian around a mean: (epsilon, delta)-private for every epsilon, and epsilon-private for none.

Two neighbours' outputs are N(0, sigma^2) and N(d, sigma^2); all depends on mu = d / sigma.  The loss at z is
(2 z d - d^2) / (2 sigma^2), without bound in z (example 1 of [BarberDuchi2014]).  The condition is exact [Balle2018]; the usual
sigma >= d sqrt(2 ln(1.25 / delta)) / epsilon is more than needed, and holds for epsilon <= 1 only.
"""

from __future__ import annotations

import math

import scipy

from dpcore.errors import check_positive, check_within


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Return the smallest delta: Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).

    epsilon: >= 0.  mu: sensitivity / sigma, > 0.  Above zero whatever epsilon, up to rounding to the smallest float.
    """
    check_within(0, math.inf, epsilon=epsilon)
    check_positive(mu=mu)
    if epsilon == 0:  # the difference of two almost equal numbers, where mu is small
        return math.erf(mu / math.sqrt(8))
    if math.isinf(epsilon):
        return 0.0
    first = float(scipy.special.log_ndtr(mu / 2 - epsilon / mu))
    second = epsilon + float(scipy.special.log_ndtr(-mu / 2 - epsilon / mu))
    return math.exp(first) * -math.expm1(second - first)


def gaussian_excess(epsilon: float, mu: float) -> float:
    """Return the probability of an output whose loss exceeds epsilon, Phi(mu/2 - epsilon/mu): no epsilon makes it zero."""
    check_positive(mu=mu)
    return float(scipy.special.ndtr(mu / 2 - epsilon / mu))


def gaussian_noise(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the least sigma of (epsilon, delta)-privacy at that l2 sensitivity; epsilon >= 0, 0 < delta < 1.

    >>> round(gaussian_noise(1.0, 1e-5), 3), round(math.sqrt(2 * math.log(1.25e5)), 3)
    (3.731, 4.845)
    """
    check_positive(delta=delta, sensitivity=sensitivity)
    check_within(0, 1 - 2**-40, delta=delta)
    log_sigma = scipy.optimize.brentq(
        lambda s: math.log(max(gaussian_delta(epsilon, math.exp(-s)), 1e-320) / delta), -20.0, 60.0
    )
    return sensitivity * math.exp(float(log_sigma))


def gaussian_total_variation(mu: float) -> float:
    """Return the total variation of the two laws, 2 Phi(mu / 2) - 1: (0, delta)-privacy."""
    return gaussian_delta(0.0, mu)


def gaussian_kullback_leibler(mu: float) -> float:
    """Return the divergence of the two laws, mu^2 / 2."""
    return mu * mu / 2
