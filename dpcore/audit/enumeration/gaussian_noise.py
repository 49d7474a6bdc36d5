"""The epsilon of Gaussian noise at a delta, computed from its concentration independently of `privacy.concentrated`.

Noise with Renyi divergence at most a rho for every order a > 1 is (epsilon, delta)-private for

    epsilon = a rho + (a ln(1 - 1/a) - ln(a - 1) - ln delta) / (a - 1)

([Canonne2020], corollary 13), for any order a.  A golden-section search finds the best order, with logarithms of `decimal`
rounded up.  Mechanisms are designed with `privacy.concentrated`, which uses other algorithms for both.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction

_DIGITS = 60
_BITS = 40  # results are multiples of 2^-40, rounded up
_GOLDEN = Decimal("0.6180339887498948482")
_STEPS = 60
_RANGE = Decimal(-8), Decimal(16)  # searched values of ln(a - 1)


def approximate_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon, rounded up, at which rho-concentrated noise is (epsilon, delta)-private.

    >>> float(approximate_epsilon(Fraction(1, 100), Fraction(1, 10**6))) < 0.71
    True
    """
    with localcontext(prec=_DIGITS, rounding=ROUND_CEILING):
        concentration = Decimal(rho.numerator) / Decimal(rho.denominator)
        # `ln` rounds half to even, so the next digit below is a lower bound
        surprise = -(Decimal(delta.numerator) / Decimal(delta.denominator)).ln().next_minus()

        def epsilon(log_beyond: Decimal) -> Decimal:
            beyond = log_beyond.exp()  # a - 1; every order is valid, so its rounding does not matter
            order = 1 + beyond
            lost = order * (order / beyond).ln().next_minus() + beyond.ln().next_minus()
            return order * concentration + (surprise - lost + Decimal(10) ** (10 - _DIGITS)) / beyond

        low, high = _RANGE
        for _ in range(_STEPS):
            left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
            low, high = (low, right) if epsilon(left) < epsilon(right) else (left, high)
        least = max(epsilon(low), Decimal(0))
        return Fraction(int((least * 2**_BITS).to_integral_value(ROUND_CEILING)), 1 << _BITS)
