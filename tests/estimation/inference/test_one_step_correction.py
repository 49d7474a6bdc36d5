"""What one-step corrected functionals do where nothing is smooth, linear or known: equality, points, claws."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import SchemeError
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.functionals import Expansion, Functional, Influence, parse
from dpcore.laboratory.studies.coverage import FUNCTIONALS
from dpcore.laboratory.studies.targets import densities
from dpcore.protocol.scheme import Scheme

METHODS = {
    "dyadic_wave": 'mechanism = "dyadic_wave"',
    "square_wave": 'mechanism = "square_wave"\ncells = 64',
    "wavelet_laplace": 'mechanism = "wavelet_laplace"',
}
NIGHTLY = [pytest.mark.slow, pytest.mark.nightly("a study")]


def _scheme(method: str, n: int, epsilon: float) -> Scheme:
    return Scheme.from_toml(
        f'name = "s"\nclients = {n}\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = {epsilon:g}\n'
        f"{METHODS[method]}\n"
    )


@lru_cache(maxsize=32)
def _estimate(method: str, target: str, n: int, epsilon: float, seed: int = 1) -> DensityEstimate:
    people = densities.target(target)
    return dp.estimate(dp.simulate(_scheme(method, n, epsilon), people, dp.seeded(seed), n), "x")


def test_a_uniform_density_is_known_well_enough_for_its_second_order_terms(subtests):
    for method in METHODS:
        for text in ["entropy", "integrated_square(0)", "kullback_leibler(uniform)", "power_integral(1.5)"]:
            with subtests.test(method=method, text=text):
                found = _estimate(method, "uniform", 200_000, 2.0).functional(parse(text))
                truth = 1.0 if "integra" in text else 0.0
                assert not found.is_refused
                assert found.low - 1e-9 <= truth <= found.high + 1e-9
                assert found.high - found.low < 0.05


def test_a_distance_of_nothing_has_an_interval_from_zero(subtests):
    for method in METHODS:
        for p in [1, 2]:
            with subtests.test(method=method, p=p):
                found = _estimate(method, "uniform", 200_000, 2.0).functional(parse(f"wasserstein({p}, uniform)"))
                assert not found.is_refused
                assert found.low == 0.0
                assert 0.0 < found.high < 0.05


def test_a_distance_away_from_equality_is_linear():
    found = _estimate("dyadic_wave", "beta_2_5", 200_000, 2.0).functional(parse("wasserstein(1, uniform)"))
    assert found.second_order < 0.1
    assert found.high - found.low == pytest.approx(2 * 1.96 * found.standard_error, rel=0.05)


def test_a_nonlinear_functional_allows_for_the_roughest_prior_that_is_not_rejected():
    corrected = _estimate("dyadic_wave", "bimodal", 200_000, 2.0).inference.corrected
    alone = replace(corrected, priors=())
    for text in ("entropy", "integrated_square(0)"):
        wide, narrow = (each.estimate(parse(text), 0.95) for each in (corrected, alone))
        assert wide.value == narrow.value
        assert wide.low <= narrow.low
        assert wide.high >= narrow.high
        assert wide.high - wide.low > narrow.high - narrow.low
    wide, narrow = (each.estimate(parse("mean"), 0.95) for each in (corrected, alone))
    assert (wide.low, wide.high) == (narrow.low, narrow.high)


def test_a_refusal_says_how_many_reports_or_how_much_epsilon_would_do():
    found = _estimate("dyadic_wave", "claw", 100_000, 1.0, 2).functional(parse("entropy"))
    assert found.is_refused
    reports, times = re.search(r"about ([\d,]+) reports or ([\d.]+) times the epsilon would do", found.reason).groups()
    assert int(reports.replace(",", "")) == pytest.approx(100_000 * float(times) ** 2, rel=0.15)
    assert int(reports.replace(",", "")) > 100_000


def test_the_interval_of_a_point_holds_the_corrected_value_and_the_plug_in():
    estimate = _estimate("dyadic_wave", "bimodal", 100_000, 1.0)
    for order in (0, 1, 2):
        found = estimate.functional(parse(f"derivative({order}, 0.3)"))
        assert found.low <= found.plug_in <= found.high
        assert found.low <= found.value - 1.9 * found.standard_error or (order == 0 and found.low == 0)
        assert found.value + 1.9 * found.standard_error <= found.high


def test_whatever_density_is_shown_its_plug_in_is_kept_beside_the_corrected_value(subtests):
    for method in ["square_wave", "wavelet_laplace"]:
        with subtests.test(method=method):
            estimate = _estimate(method, "uniform", 200_000, 2.0)
            found = estimate.functional(parse("integrated_square(0)"))
            assert found.plug_in == pytest.approx(parse("integrated_square(0)").value(estimate.density))
            assert found.value != found.plug_in


@pytest.mark.slow
def test_an_atom_does_not_bias_what_a_projection_says_of_the_density_beside_it():
    errors = []
    for seed in range(4):
        found = _estimate("wavelet_laplace", "lognormal", 200_000, 2.0, seed).functional(parse("integrated_square(0)"))
        x = (np.arange(20_000) + 0.5) / 20_000
        errors.append((found.value - np.mean(densities.target("lognormal").pdf(x) ** 2)) / found.standard_error)
    assert abs(np.mean(errors)) < 2  # smeared over the last cells the atom makes it six and more


@dataclass(frozen=True)
class _OnePlace:
    """People who all live in one cell."""

    share: float
    weights: ClassVar[MappingProxyType[str, float]] = MappingProxyType({"all": 1.0})

    def cell_probabilities(
        self, attribute: str, lower: float, upper: float, cells: int, condition: object = None
    ) -> Any:
        law = np.zeros(cells)
        law[min(int(self.share * cells), cells - 1)] = 1.0
        return law


@pytest.mark.parametrize(
    ("method", "share"),
    [
        pytest.param("dyadic_wave", 0.0, marks=pytest.mark.slow),
        pytest.param("square_wave", 0.37, marks=pytest.mark.slow),
        pytest.param("wavelet_laplace", 0.0, marks=pytest.mark.slow),
        pytest.param("dyadic_wave", 0.37, marks=NIGHTLY),
        pytest.param("square_wave", 0.0, marks=NIGHTLY),
        pytest.param("wavelet_laplace", 0.37, marks=NIGHTLY),
    ],
)
def test_a_density_in_one_place_has_numbers_or_reasons_and_no_error(method, share):
    people = _OnePlace(share)
    estimate = dp.estimate(dp.simulate(_scheme(method, 10**6, 4.0), people, dp.seeded(1), 10**6), "x")
    for text in FUNCTIONALS:
        found = estimate.functional(parse(text))
        assert found.is_refused or found.low <= found.value <= found.high, text
        assert not found.is_refused or found.reason


@dataclass(frozen=True)
class _Bent(Functional):
    """Nonlinear, and says no second derivative."""

    name = "bent"

    def expand(self, density: Any) -> Expansion:
        weight = Influence(density.lower, density.upper, ((0, lambda u: u),))
        return Expansion(weight(density) ** 2, weight)


def test_a_functional_must_say_its_second_derivative_or_that_it_has_none():
    with pytest.raises(SchemeError, match="second derivative"):
        _estimate("dyadic_wave", "uniform", 200_000, 2.0).functional(_Bent())


def test_who_sits_at_the_lower_bound_is_not_known_where_no_atom_is_told():
    assert _estimate("dyadic_wave", "beta_2_5", 200_000, 2.0).functional(parse("cdf(0)")).is_refused
