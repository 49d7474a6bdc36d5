"""The audit's own arithmetic of Gaussian noise: beside the designer's, beside the exact curve, and where the designer errs."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from math import exp, sqrt

import pytest
from scipy.special import log_ndtr

from dpcore.audit import audit_scheme
from dpcore.audit.enumeration.additive_noise import approximate_epsilon
from dpcore.mechanisms.numeric import wavelet_laplace
from dpcore.privacy import concentrated
from dpcore.protocol.scheme import Scheme

TEXT = """
name = "s"
[attributes.x]
type = "numeric"
lower = 0
upper = 1
epsilon = 1
mechanism = "wavelet_laplace"
degree = 0
finest_level = 2
cells = 64
noise = "discrete_gaussian"
delta = 0.000001
"""
RHOS = [Fraction(1, 10**4), Fraction(1, 100), Fraction(1, 3), Fraction(5)]
GOLDEN = (Decimal(5).sqrt() - 1) / 2  # of a search that works out the curve once a step
DELTAS = [Fraction(1, 100), Fraction(1, 10**6), Fraction(1, 10**12)]


def test_two_roads_lead_to_one_epsilon_that_the_exact_curve_bears_out(subtests: pytest.Subtests) -> None:
    for rho in RHOS:
        for delta in DELTAS:
            with subtests.test(rho=rho, delta=delta):
                audited, designed = (
                    float(approximate_epsilon(rho, delta)),
                    float(concentrated.approximate_epsilon(rho, delta)),
                )
                assert audited <= designed <= audited * (1 + 1e-4) + 1e-9
                distance = sqrt(2 * float(rho))  # of two normal laws, in standard deviations [BalleWang2018]
                near, far = distance / 2 - audited / distance, -distance / 2 - audited / distance
                exact = exp(log_ndtr(near)) - exp(audited + log_ndtr(far))
                assert exact <= float(delta) * (1 + 1e-9)


def test_a_client_whose_arithmetic_understates_concentration_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = concentrated.approximate_epsilon
    scheme = Scheme.from_toml(TEXT)
    assert audit_scheme(scheme).proven
    monkeypatch.setattr(
        wavelet_laplace, "approximate_epsilon", lambda rho, delta: honest(rho * Fraction(99, 100), delta)
    )
    scales = scheme.attributes["x"].mechanism.parameters()["noise_scales"]
    less = [scale * 996 // 1000 for scale in scales]
    stated = re.sub(r"noise_scales = \[.*?\]", f"noise_scales = {less}", scheme.canonical, flags=re.DOTALL)
    audit = audit_scheme(Scheme.from_toml(stated))
    assert audit.digest != scheme.digest
    assert not audit.proven
    assert 1.002 < float(audit.loss) < 1.01


def test_what_the_audit_says_is_rounded_up(subtests: pytest.Subtests) -> None:
    """Near the best order the curve is flat: any order beside it gives as much, and fifty digits more than are kept."""

    def epsilon(rho: Fraction, surprise: Decimal, log_beyond: Decimal) -> Decimal:
        beyond = log_beyond.exp()
        lost = (1 + beyond) * ((1 + beyond) / beyond).ln() + beyond.ln()
        return (1 + beyond) * Decimal(rho.numerator) / Decimal(rho.denominator) + (surprise - lost) / beyond

    for delta in DELTAS:
        surprise = -(Decimal(delta.numerator) / Decimal(delta.denominator)).ln()
        for rho in (Fraction(number, 9) for number in range(1, 9)):
            low, high = Decimal(-8), Decimal(16)
            one, other = low + (1 - GOLDEN) * (high - low), low + GOLDEN * (high - low)
            at_one, at_other = epsilon(rho, surprise, one), epsilon(rho, surprise, other)
            for _ in range(50):  # to 1e-9 of the order's logarithm, of which the curve's error is the square
                if at_one < at_other:
                    high, other, at_other = other, one, at_one
                    at_one = epsilon(rho, surprise, one := low + (1 - GOLDEN) * (high - low))
                else:
                    low, one, at_one = one, other, at_other
                    at_other = epsilon(rho, surprise, other := low + GOLDEN * (high - low))
            with subtests.test(delta=delta, rho=rho):
                assert approximate_epsilon(rho, delta) >= Fraction(epsilon(rho, surprise, low)) - Fraction(1, 10**16)
