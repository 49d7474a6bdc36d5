"""Fisher information and distances from a scheme's text to an interval, and refused where nothing can be told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import SchemeError
from dpcore.estimation.registry import check_estimates
from dpcore.functionals import KullbackLeibler, Reference, Wasserstein, parse
from dpcore.populations import consumer_expenditure

NAMES = ("fisher_information", "wasserstein(1, uniform)", "wasserstein(2, uniform)", "kullback_leibler(uniform)")


def scheme(mechanism: str, upper: int = 250_000, functionals: tuple[str, ...] = NAMES) -> dp.Scheme:
    return dp.Scheme.from_toml(
        f"""
        name = "distances"
        clients = 1000000
        [attributes.income]
        type = "numeric"
        lower = 0
        upper = {upper}
        epsilon = 2
        mechanism = "{mechanism}"
        functionals = {list(functionals)}
        """
    )


@pytest.fixture(scope="module")
def incomes() -> dict[str, Any]:
    people = consumer_expenditure()
    return {
        name: dp.estimate(dp.simulate(scheme(name), people, random=dp.seeded(7), clients=1_000_000), "income")
        for name in ("dyadic_wave", "wavelet_laplace")
    }


def test_intervals_hold_the_truth(incomes: dict[str, Any], subtests: pytest.Subtests) -> None:
    for name in NAMES:
        for mechanism in ["dyadic_wave", "wavelet_laplace"]:
            with subtests.test(name=name, mechanism=mechanism):
                found = incomes[mechanism].functional(parse(name))
                truth = parse(name).value(consumer_expenditure().truth("income"))
                assert found.reason is None
                assert found.low < truth < found.high
                assert found.high - found.low < (3 if "fisher" in name else 0.3) * truth


def test_what_is_no_reference_is_refused_before_anyone_reports(subtests: pytest.Subtests) -> None:
    for name in ["wasserstein(1, normal)", "cdf(uniform)", "wasserstein(uniform)"]:
        with subtests.test(name=name), pytest.raises(SchemeError, match=r"income: functionals|takes|must be"):
            check_estimates(scheme("dyadic_wave", functionals=(name,)))


def test_fisher_information_needs_a_curve() -> None:
    with pytest.raises(SchemeError, match="degree >= 1"):
        check_estimates(scheme("square_wave"))


def test_a_round_against_an_earlier_estimate(incomes: dict[str, Any]) -> None:
    earlier = Reference("earlier", incomes["wavelet_laplace"].density)
    for functional in (Wasserstein(1, earlier), Wasserstein(2, earlier)):
        found = incomes["dyadic_wave"].functional(functional)
        assert found.functional.endswith("earlier)")
        assert found.plug_in < 4_000  # two estimates of one law
    narrow = dp.estimate(_uniform(20_000), "income")
    refused = narrow.functional(KullbackLeibler(incomes["dyadic_wave"].density))
    assert "the reference lives on [0, 250000], the attribute on [0, 1]" in refused.reason


def test_what_is_uniform_is_not_told_from_the_uniform() -> None:
    """Near equality the second-order term rules: refused, or an interval that reaches zero."""
    estimate = dp.estimate(_uniform(200_000), "income")
    for name in NAMES:
        found = estimate.functional(parse(name))
        assert found.is_refused or found.low < 0.01


def _uniform(clients: int) -> dp.Aggregate:
    people = {"income": np.random.default_rng(1).uniform(size=clients)}
    return dp.simulate(scheme("dyadic_wave", upper=1), people, random=dp.seeded(7))
