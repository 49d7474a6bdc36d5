"""One interface for a numeric attribute, whether its estimate is a density or a distribution on points."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import SchemeError

N = 20_000
DECLARED = {
    "points": 'type = "numeric"\nvalues = [0, 1, 2.5, 4]\n',
    "lattice": 'type = "numeric"\nlower = 0\nupper = 4\nstep = 1\n',
    "nonresponse": 'type = "numeric"\nvalues = [0, 1, 2.5, 4]\nmissing = "category"\n',
    "density": 'type = "numeric"\nlower = 0\nupper = 4\ncells = 16\n',
    "categories": 'type = "categorical"\ncategories = ["c", "a", "b"]\nvalues = [4, 0, 1]\n',
}


@cache
def estimated(name: str):
    scheme = dp.Scheme.from_toml(f'name = "s"\nclients = {N}\n[attributes.x]\n{DECLARED[name]}epsilon = 3\n')
    random = np.random.default_rng(5)
    values = random.choice(["a", "b", "c"] if name == "categories" else [0.0, 1, 4], N, p=[0.2, 0.5, 0.3])
    if name == "density":  # a smooth one, which is found in a fifth of the time
        values = 4 * random.beta(2, 5, N)
    if name == "nonresponse":
        values = np.where(random.random(N) < 0.1, np.nan, values)
    return dp.estimate(dp.simulate(scheme, {"x": values}, dp.seeded(4)), "x")


def test_cdf_and_quantile_are_of_one_distribution(subtests):
    for name in DECLARED:
        with subtests.test(name=name):
            estimate, x = estimated(name), np.linspace(-1, 5, 121)
            cdf = estimate.cdf(x)
            assert np.all(np.diff(cdf) >= 0)
            assert (cdf[0], cdf[-1]) == (0, pytest.approx(1))
            for t in (0.05, 0.5, 0.95):
                at = float(estimate.quantile(t))
                assert estimate.cdf(at) >= t - 1e-9
                assert estimate.cdf(at - 1e-6) <= t + 1e-6
            assert estimate(x).shape == x.shape
            with pytest.raises(SchemeError, match="between 0 and 1"):
                estimate.quantile(1.5)


def test_a_distribution_on_points_has_probabilities(subtests):
    for name in ["points", "lattice", "nonresponse", "categories"]:
        with subtests.test(name=name):
            estimate, numbers = estimated(name), np.array([0.0, 1.0, 4.0])
            assert estimate(numbers) == pytest.approx([0.2, 0.5, 0.3], abs=0.05)
            assert estimate(np.array([0.5, -1.0, 9.0])).tolist() == [0, 0, 0]
            assert np.cumsum(estimate(np.array([0.0, 1.0]))) == pytest.approx(estimate.cdf(np.array([0.0, 1.0])))


def test_categories_without_numbers_have_none():
    scheme = dp.Scheme.from_toml(
        'name = "s"\n[attributes.x]\ntype = "categorical"\ncategories = ["a", "b"]\nepsilon = 1\n'
    )
    estimate = dp.estimate(dp.simulate(scheme, {"x": np.array(["a", "b"] * 50)}, dp.seeded(1)), "x")
    for asked in (estimate.cdf, estimate.quantile, estimate):
        with pytest.raises(SchemeError, match="have no numbers; give `values`"):
            asked(0.5)
