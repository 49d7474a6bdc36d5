"""The epsilon of Gaussian noise at a delta: the audit's own way from concentration to what is promised.

Noise whose Renyi divergences of every order a > 1 are at most a rho is (epsilon, delta)-private for

    epsilon = a rho + (a ln(1 - 1/a) - ln(a - 1) - ln delta) / (a - 1)

([Canonne2020], corollary 13), whatever the order.  Here the best order is looked for by golden section, and the logarithms are
those of `decimal`, rounded up; `privacy.concentrated`, by which mechanisms are designed, takes another road to each.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction

_DIGITS = 60
_BITS = 40  # results are multiples of 2^-40, rounded up
_GOLDEN = Decimal("0.6180339887498948482")
_STEPS = 60
_ENDS = Decimal(-8), Decimal(16)  # of ln(a - 1)


def approximate_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon, rounded up, at which rho-concentrated noise is (epsilon, delta)-private.

    >>> float(approximate_epsilon(Fraction(1, 100), Fraction(1, 10**6))) < 0.71
    True
    """
    with localcontext(prec=_DIGITS, rounding=ROUND_CEILING):
        concentration = Decimal(rho.numerator) / Decimal(rho.denominator)
        # ln is rounded correctly to the even: a last digit more is above it
        surprise = -(Decimal(delta.numerator) / Decimal(delta.denominator)).ln().next_minus()

        def epsilon(log_beyond: Decimal) -> Decimal:
            beyond = log_beyond.exp()  # a - 1: any is a proof, so that its rounding does not matter
            order = 1 + beyond
            lost = order * (order / beyond).ln().next_minus() + beyond.ln().next_minus()
            return order * concentration + (surprise - lost + Decimal(10) ** (10 - _DIGITS)) / beyond

        low, high = _ENDS
        for _ in range(_STEPS):
            left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
            low, high = (low, right) if epsilon(left) < epsilon(right) else (left, high)
        least = max(epsilon(low), Decimal(0))
        return Fraction(int((least * 2**_BITS).to_integral_value(ROUND_CEILING)), 1 << _BITS)
