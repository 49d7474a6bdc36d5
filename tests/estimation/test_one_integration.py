"""The density that is shown is the law that was fitted, however steep: both are integrated alike."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import dpcore as dp
from dpcore._random import seeded
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.density.log_spline import LogSplineInference
from tests.helpers.cases import of_each_kind

Law = Callable[[np.random.Generator, int], np.ndarray]
LAWS: dict[str, tuple[float, Law]] = {  # the upper bound, and people
    "counts": (30, lambda rng, n: np.minimum(rng.poisson(5, n), 30)),
    "most at zero": (30, lambda rng, n: np.minimum(rng.geometric(0.3, n) - 1, 30)),
    "thirty-one values": (30, lambda rng, n: rng.integers(0, 31, n)),
    "a spike": (1, lambda rng, n: np.where(rng.random(n) < 0.05, 0.3, rng.random(n))),
    "a sawtooth": (1, lambda rng, n: (rng.integers(0, 5, n) + np.sqrt(rng.random(n))) / 5),
    "smooth": (1, lambda rng, n: rng.beta(2, 5, n)),
}


@cache
def estimated(name: str, n: int) -> tuple[DensityEstimate, np.ndarray]:
    upper, law = LAWS[name]
    scheme = dp.Scheme.from_toml(
        f'name = "s"\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = {upper}\nmechanism = "dyadic_wave"\nepsilon = 4\n'
    )
    people = law(np.random.default_rng(1), n).astype(np.float64)
    return dp.estimate(dp.aggregate(scheme, dp.privatize(scheme, {"x": people}, seeded(3))), "x"), people


@pytest.mark.parametrize("name", of_each_kind(LAWS, "a spike", "a sawtooth", "smooth"))
def test_the_law_that_is_shown_is_the_law_that_was_fitted(name: str) -> None:
    estimate, _ = estimated(name, 100_000)
    assert isinstance(estimate.inference, LogSplineInference)
    posterior = estimate.inference.posterior
    ends = estimate.lower + (estimate.upper - estimate.lower) * np.arange(1, posterior.likelihood.inputs + 1) / (
        posterior.likelihood.inputs
    )
    shown = np.diff(estimate.density.cdf(ends), prepend=0.0)
    assert shown.sum() == pytest.approx(1, abs=1e-12)
    assert np.max(np.abs(posterior.likelihood.expected(shown) - posterior.expected)) < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["counts", "most at zero", "thirty-one values"])
def test_counts_are_where_they_are_and_their_mean_is_known(name: str) -> None:
    """At 0609a21 the law shown was .13 of the range away, and the mean of counts 4.79 [2.64, 6.93]."""
    estimate, people = estimated(name, 100_000)
    x = np.linspace(estimate.lower, estimate.upper, 4001)
    true = np.searchsorted(np.sort(people), x, side="right") / len(people)
    assert np.mean(np.abs(estimate.cdf(x) - true)) < 0.006
    mean = estimate.functional(dp.functionals.Mean())
    assert mean.low < people.mean() < mean.high
    assert mean.high - mean.low < 0.25
