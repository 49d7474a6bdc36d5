"""The least error of any mechanism: below every mechanism's, above nearly nothing that a slow search can find."""

from __future__ import annotations

from itertools import product
from math import exp, sqrt

import numpy as np
import pytest
import scipy

from dpcore import pipeline
from dpcore.estimation.diagnostics.efficiency import _grouped, least_error, least_variance
from dpcore.functionals import Derivative, Entropy, Mean, parse
from dpcore.functionals.base import FunctionDensity
from dpcore.protocol.scheme import Scheme
from dpcore.rounds.planning.assumed_population import Assumed, expected_aggregate
from tests.helpers.cases import of_each_kind

LAWS = (
    (np.array([0.0, 1.0]), np.array([0.5, 0.5])),
    (np.array([0.0, 1.0]), np.array([0.9, 0.1])),
    (np.array([-3.0, 1.0, 2.0, 7.0]), np.array([0.1, 0.5, 0.3, 0.1])),
)


def test_the_slow_search_over_mechanisms_comes_as_low_and_no_lower(subtests: pytest.Subtests) -> None:
    for epsilon, place in [(0.5, 2), (1.0, 0), (1.0, 1), (4.0, 2)]:
        with subtests.test(epsilon=epsilon, place=place):
            values, law = LAWS[place]
            found, slow = least_variance(values, law, exp(epsilon)), _search(values, law, exp(epsilon))
            assert 0.97 * slow <= found <= slow * (1 + 1e-9)
            assert least_variance(values, law, exp(1.3 * epsilon)) < 0.97 * slow


def _search(values: np.ndarray, law: np.ndarray, ratio: float) -> float:
    """The least variance among mechanisms whose weights are on a grid, over every set of values that a report favours."""
    k, half = len(values), (values.max() - values.min()) / 2
    scaled = (values - values.min()) / half - 1
    weights = np.linspace(-1, 1, 61) * 1.6 * (ratio + 1) / (ratio - 1)
    weights = np.append(weights, np.array([-1, 1]) * (ratio + 1) / (ratio - 1))
    sets = np.array(list(product([0, 1], repeat=k)))
    rows = 1 + (ratio - 1) * np.repeat(sets, len(weights), axis=0)
    v = np.tile(weights, len(sets))
    solved = scipy.optimize.linprog(
        v**2 * (rows @ law),
        A_eq=np.concatenate([rows.T, (v[:, None] * rows).T]),
        b_eq=np.concatenate([np.ones(k), scaled]),
    )
    return float(solved.fun - (law @ scaled) ** 2) * half**2


def test_values_that_nobody_has_are_paid_for_and_raise_the_bound_by_next_to_nothing(subtests: pytest.Subtests) -> None:
    for shares in [(0.5, 0.5, 0.0), (0.999, 0.001, 0.0), (0.0, 0.0, 1.0)]:
        with subtests.test(shares=shares):
            values, law = np.array([0.0, 1.0, 10.0]), np.array(shares)
            found, slow = least_variance(values, law, exp(1.0)), _search(values, law, exp(1.0))
            assert 0.97 * slow <= found <= slow * (1 + 2e-4)
            assert found > 1.5 * least_variance(values[:2], np.array([0.5, 0.5]), exp(1.0))


def test_values_that_are_taken_together_keep_shares_and_mean_and_only_lower_the_bound() -> None:
    law = np.arange(14.0, 0, -1) ** 3
    values, law = np.linspace(-1, 4, 14), law / law.sum()
    means, shares = _grouped(values, law)
    assert shares.sum() == pytest.approx(1)
    assert shares @ means == pytest.approx(law @ values)
    together, apart = least_variance(means, shares, exp(1.0)), least_variance(values, law, exp(1.0))
    assert 0.98 * apart < together < apart


def test_people_at_the_bounds_are_in_the_law() -> None:
    """Half of them at either bound are a coin; the others are even between."""
    law = FunctionDensity(0.0, 1.0, lambda x: np.full_like(x, 0.2))
    object.__setattr__(law, "atoms", (0.4, 0.4))
    found = least_error(Mean(), law, exp(1.0), 1)
    cells = np.append(np.full(12, 0.2 / 12), [0.4, 0.4])
    values = np.append((np.arange(12) + 0.5) / 12, [0.0, 1.0])
    assert found == pytest.approx(sqrt(least_variance(values, cells, exp(1.0))), rel=0.01)


def test_a_number_that_does_not_vary_costs_nothing_and_units_only_scale() -> None:
    values, law = LAWS[2]
    assert least_variance(np.full(3, 2.0), np.full(3, 1 / 3), 2.0) == 0.0
    assert least_variance(100 * values + 7, law, 2.0) == pytest.approx(1e4 * least_variance(values, law, 2.0), rel=1e-6)


@pytest.mark.parametrize(
    ("mechanism", "functional"),
    of_each_kind(
        product(["dyadic_wave", "square_wave", "wavelet_laplace"], ["mean", "variance", "quantile(0.5)", "cdf(0.3)"]),
        ("dyadic_wave", "cdf(0.3)"),
        ("square_wave", "variance"),
    ),
)
def test_no_mechanism_of_ours_does_better(mechanism: str, functional: str) -> None:
    scheme = Scheme.from_toml(
        'name = "near"\nclients = 100_000\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = 1\n'
        f'mechanism = "{mechanism}"\n{"" if mechanism == "wavelet_laplace" else "cells = 64"}\n'
    )
    estimate = pipeline.estimate(expected_aggregate(scheme, Assumed(), 100_000), "x")
    least = least_error(parse(functional), estimate.density, exp(1.0), 100_000)
    assert least is not None
    assert estimate.functional(parse(functional)).standard_error > least


def test_of_the_uniform_law_a_mean_has_the_error_that_the_literature_has_beside_it() -> None:
    """At epsilon 1 one bit [Duchi2018] has a variance of ((e + 1) / (e - 1))^2 / 4: .9 of it is needed."""
    uniform = FunctionDensity(0.0, 1.0, np.ones_like)
    bit = (exp(1) + 1) / (exp(1) - 1) / 2
    found = least_error(Mean(), uniform, exp(1.0), 1)
    assert found is not None
    assert 0.94 < found / bit < 0.95
    assert least_error(Mean(), uniform, exp(1.0), 100) == pytest.approx(found / 10)
    assert sqrt(least_variance(np.array([0.0, 1.0]), np.array([0.5, 0.5]), exp(1.0))) == pytest.approx(bit, rel=2e-3)


def test_what_has_no_such_limit_has_none() -> None:
    uniform = FunctionDensity(0.0, 1.0, np.ones_like)
    assert least_error(Entropy(), uniform, exp(1.0), 10) is None
    assert least_error(Derivative(0, 0.5), uniform, exp(1.0), 10) is None
