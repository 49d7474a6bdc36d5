"""What lies within an input cell nobody is told: intervals of laws that fill few cells hold what they say."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy

import dpcore as dp
from dpcore.audit.attacks.lower_bound import binomial_interval
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.inference.binning_error import Cells
from dpcore.functionals import parse

SCHEME = dp.Scheme.from_toml(
    'name = "s"\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\nmechanism = "dyadic_wave"\nepsilon = 4\n'
)
LAWS = {"beta": scipy.stats.beta(2, 4, 0.40713, 0.02), "uniform": scipy.stats.uniform(0.3, 0.02)}  # on 2 % of the range


def estimated(law: scipy.stats.rv_continuous, clients: int, seed: int) -> DensityEstimate:
    """Through the cells alone, which is all that a client's mechanism sees."""
    mechanism = SCHEME.attributes["x"].mechanism
    cells = np.diff(law.cdf(np.linspace(0, 1, mechanism.inputs + 1)))
    counts = np.random.default_rng([seed, 1]).multinomial(clients, cells)
    statistics = {"x": mechanism.simulate(counts, dp.seeded([seed, 2]))}
    return dp.estimate(dp.Aggregate(SCHEME, clients, statistics, {}, {"x": clients}), "x")


def missed(name: str, rounds: int, clients: int) -> dict[str, int]:
    """How often each interval fails to hold what is true."""
    law = LAWS[name]
    at = float(law.ppf(0.6))
    truth = {
        "quantile(0.1)": law.ppf(0.1),
        "quantile(0.5)": law.ppf(0.5),
        "quantile(0.9)": law.ppf(0.9),
        f"cdf({at})": 0.6,
    }
    counted = dict.fromkeys(truth, 0)
    for seed in range(rounds):
        estimate = estimated(law, clients, seed)
        for text, true in truth.items():
            found = estimate.functional(parse(text))
            counted[text] += not found.low <= true <= found.high
    return counted


@pytest.mark.parametrize(
    ("name", "rounds"),
    [
        pytest.param("beta", 8, marks=pytest.mark.slow),
        pytest.param("uniform", 8, marks=pytest.mark.slow),
        pytest.param("beta", 200, marks=pytest.mark.nightly("a study")),
        pytest.param("uniform", 200, marks=pytest.mark.nightly("a study")),
    ],
)
def test_intervals_of_a_law_of_few_cells_hold_what_is_true(name: str, rounds: int) -> None:
    """At 0609a21 the .9-quantile's interval was 7 % of a cell long, and held 1 of 6."""
    for text, times in missed(name, rounds, 1_000_000).items():
        _, most = binomial_interval(rounds - times, rounds, 0.99)
        assert most >= 0.93, text


@cache
def of_equals() -> DensityEstimate:
    """Of people who all have one value."""
    return dp.estimate(dp.aggregate(SCHEME, dp.privatize(SCHEME, {"x": np.full(20_000, 0.4)}, dp.seeded(1))), "x")


def test_a_law_of_many_cells_is_known_within_each() -> None:
    wide = Cells(512, estimated(scipy.stats.beta(2, 5), 100_000, 1).density)
    few = Cells(512, of_equals().density)
    assert wide.bend < 0.06
    assert few.bend > 0.7
    x = np.array([0.25, 0.2505])  # the end of a cell, and within one
    assert wide.shares(x)[0] == 0
    assert 0 < wide.shares(x)[1] < 1e-4


def test_what_a_density_alone_has_is_refused_where_values_may_be_one(subtests: pytest.Subtests) -> None:
    """At 0609a21 the entropy of one value, minus infinity, was -6 [-654, 0]."""
    estimate = of_equals()
    assert not estimate.functional(parse("mean")).is_refused
    for text in ["entropy", "integrated_square(0)", "fisher_information"]:
        with subtests.test(text=text):
            found = estimate.functional(parse(text))
            assert found.is_refused
            assert "too few input cells" in found.reason


@pytest.mark.slow  # the longest of all fits; laws that fill few cells are looked at above
def test_one_persons_mean_is_no_number() -> None:
    """At 0609a21 it was .255 [0, 1]."""
    alone = dp.aggregate(SCHEME, dp.privatize(SCHEME, {"x": [0.3]}, dp.seeded(1)))
    found = dp.estimate(alone, "x").functional(parse("mean"))
    assert found.is_refused or (found.low, found.high) != (0.0, 1.0)
