"""From concentrated to approximate privacy: the epsilon that Gaussian noise keeps at a delta, a rational upper bound.

Noise whose Renyi divergences of every order a > 1 are at most a rho is (epsilon, delta)-private for each pair with

    ln delta = (a - 1)(a rho - epsilon) + a ln(1 - 1/a) - ln(a - 1)

([Canonne2020], corollary 13).  Any order is a proof.  Floats choose it; the guarantee is computed in fractions, with each
logarithm replaced by a rational on the safe side.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpcore.errors import check_positive, check_within
from dpcore.privacy.budget import Budget

LARGEST_DELTA = Fraction(1, 100)
_BITS = 40  # results are multiples of 2^-40, rounded up
_ORDER_BITS = 24
_SLACK = Fraction(1, 1 << 76)  # above the distance of a logarithm from `Budget.floor`
_HALVINGS = 50
_RHO_BITS = 16
_WIDE = Fraction(1 << 64)
_BEYOND = np.geomspace(1e-3, 1e6, 3000)  # a - 1
_FREE = (1 + _BEYOND) * np.log(_BEYOND / (1 + _BEYOND)) - np.log(_BEYOND)


@lru_cache(maxsize=256)
def approximate_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon at which rho-concentrated noise is (epsilon, delta)-private, at most 2^-40 above what the order gives.

    rho: > 0.  delta: above 0, at most 1/100.

    >>> float(approximate_epsilon(Fraction(1, 100), Fraction(1, 10**6))) < 0.71
    True
    """
    check_positive(rho=rho)
    check_delta(delta)
    _, at = _least(float(rho), float(delta))
    step = max(Fraction(round(at * (1 << _ORDER_BITS)), 1 << _ORDER_BITS), Fraction(1, 1000))
    order = 1 + step
    exact = order * rho + (-_log(delta)[0] - _log(step)[0] - order * _log(order / step)[0]) / step
    return max(Fraction(-((-exact * (1 << _BITS)).__floor__()), 1 << _BITS), Fraction(0))


@lru_cache(maxsize=64)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a rho of 16 bits whose `approximate_epsilon` at delta is at most epsilon, within 2^-14 of the largest.

    So few bits are the same on every machine, whose last bits of a logarithm may differ.
    """
    check_positive(epsilon=epsilon)
    check_delta(delta)
    low, high = 0.0, float(epsilon)  # a rho < epsilon for every order a > 1
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _least(middle, float(delta))[0] <= epsilon else (low, middle)
    check_positive(rho=low)
    unit = Fraction(2) ** (math.frexp(low)[1] - _RHO_BITS)
    rho = math.floor(Fraction(low) / unit) * unit
    while approximate_epsilon(rho, delta) > epsilon:
        rho -= unit
    return rho


def _least(rho: float, delta: float) -> tuple[float, float]:
    """The least epsilon over orders a, and the a - 1 that gives it."""
    epsilons = (1 + _BEYOND) * rho + (-math.log(delta) + _FREE) / _BEYOND
    at = int(np.argmin(epsilons))
    return float(epsilons[at]), float(_BEYOND[at])


def check_delta(delta: Fraction) -> None:
    """Raise SchemeError unless 0 < delta <= 1/100: a larger one could give whole records away."""
    check_positive(delta=delta)
    check_within(0, float(LARGEST_DELTA), delta=delta)


def _log(x: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals below and above ln x."""
    if x == 1:
        return Fraction(0), Fraction(0)
    if x < 1:
        low, high = _log(1 / x)
        return -high, -low
    if x > _WIDE:  # beyond what a budget may be
        (low, high), (rest, most) = _log(_WIDE), _log(x / _WIDE)
        return low + rest, high + most
    low = Budget(ratio=x).floor
    return low, low + _SLACK
