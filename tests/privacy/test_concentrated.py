"""What Gaussian noise keeps at a delta: a proof at whatever order was chosen, each rounding on the safe side."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from dpcore.errors import SchemeError
from dpcore.privacy import concentrated
from dpcore.privacy.concentrated import approximate_epsilon, check_delta, largest_rho


def exactly(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def test_every_order_is_a_proof_rounded_up(monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests) -> None:
    for beyond in (Fraction(1, 64), Fraction(1), Fraction(5, 2), Fraction(3000)):
        for rho, delta in (("1/100", "1/1000000"), ("7/3", "1/100"), ("1/999", "1e-30")):
            with subtests.test(beyond=beyond, rho=rho, delta=delta):
                monkeypatch.setattr(concentrated, "_least", lambda rho, delta, beyond=beyond: (0.0, float(beyond)))
                approximate_epsilon.cache_clear()
                found = approximate_epsilon(Fraction(rho), Fraction(delta))
                approximate_epsilon.cache_clear()
                with localcontext() as context:
                    context.prec = 80
                    step, order = exactly(beyond), 1 + exactly(beyond)
                    free = -exactly(Fraction(delta)).ln() + order * (1 - 1 / order).ln() - step.ln()
                    exact = order * exactly(Fraction(rho)) + free / step
                    assert 0 <= exactly(found) - max(exact, Decimal(0)) <= Decimal(2) ** -39


def test_logarithms_have_a_bound_on_either_side(subtests: pytest.Subtests) -> None:
    for x in ["1/3", "1e-30", "7/5", "3", "1e30", "999/1000"]:
        with subtests.test(x=x):
            low, high = concentrated._log(Fraction(x))
            with localcontext() as context:
                context.prec = 80
                exact = exactly(Fraction(x)).ln()
                assert exactly(low) <= exact <= exactly(high)
            assert high - low < Fraction(1, 1 << 70)


def test_the_largest_rho_fits_and_one_that_is_a_little_larger_does_not(subtests: pytest.Subtests) -> None:
    for epsilon, delta in [("1", "1e-6"), ("1/10", "1e-9"), ("8", "1/100"), ("3/7", "1e-6")]:
        with subtests.test(epsilon=epsilon, delta=delta):
            rho = largest_rho(Fraction(epsilon), Fraction(delta))
            assert approximate_epsilon(rho, Fraction(delta)) <= Fraction(epsilon)
            assert approximate_epsilon(rho * Fraction(10003, 10000), Fraction(delta)) > Fraction(epsilon)


def test_a_delta_that_could_give_records_away_is_refused(subtests: pytest.Subtests) -> None:
    for delta in ["0", "-1/100", "1/99", "1"]:
        with subtests.test(delta=delta), pytest.raises(SchemeError, match="delta"):
            check_delta(Fraction(delta))
