"""The figure and the rates of the central mechanisms, by simulation; and the Markov chain against the exact law."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore._random import seeded
from dpcore.laboratory.central.exponential.approximate_exponential import (
    ApproximateExponential,
    kolmogorov_smirnov_loss,
)
from dpcore.laboratory.central.exponential.released_samples import kolmogorov_smirnov_mechanism
from dpcore.laboratory.studies.documents import garivier
from dpcore.laboratory.studies.documents import wasserman_zhou as wz
from dpcore.privacy.budget import Budget

pytestmark = pytest.mark.slow
RUNS, STATED_RUNS = 200, 2000


@pytest.mark.nightly("a study")
def test_the_perturbed_histograms_errors_are_those_of_the_theory() -> None:
    errors = wz.perturbed_histogram_errors(RUNS, seeded(1))
    digits = np.array([len(repr(value).split(".")[1]) for value in errors["stated"]])
    rounding = 0.5 * 10.0 ** -np.minimum(digits, 3)
    noise = 5 * errors["standard_error"] * np.sqrt(1 + RUNS / STATED_RUNS)
    assert ((errors["error"] - errors["stated"]).abs() <= noise + rounding).all()
    assert ((1.3 * errors["error"] - errors["stated"]).abs() > noise + rounding).mean() > 0.8
    best = wz.best_bins(errors).set_index(["n", "epsilon"])["bins"]
    assert best[1000, "none"] >= 20
    assert best[1000, "0.1"] in (8, 10)
    assert best[1000, "0.01"] <= 6
    drowned = errors[(errors["n"] == 100) & (errors["epsilon"] == "0.01")]
    assert (drowned["error"] > 1.541).all()  # worse than the uniform density


@pytest.mark.parametrize(("dimension", "top"), [(1, 10), (2, 9)])
def test_histograms_fall_at_the_rates_of_table_1(dimension: int, top: int) -> None:
    sizes = [10**power for power in range(6, top + 1)]
    slopes = wz.slopes(wz.histogram_rates(dimension=dimension, sizes=sizes, runs=10, random=seeded(2)))
    assert len(slopes) == (4 if dimension == 1 else 2)
    assert ((slopes["slope"] - slopes["rate"]).abs() < 0.1).all()


@pytest.mark.nightly("a study")
def test_the_perturbed_series_falls_at_the_rate_of_table_2() -> None:
    slopes = wz.slopes(wz.series_rates(order=2.0, sizes=[m**5 for m in (8, 16, 32, 64)], runs=15, random=seeded(3)))
    assert abs(slopes["slope"][0] - slopes["rate"][0]) < 0.1


@pytest.mark.nightly("a study")
def test_the_exponential_series_falls_at_the_rate_of_table_2() -> None:
    slopes = wz.slopes(wz.exponential_series_rates(terms=[5, 6, 8], runs=2, sweeps=8, random=seeded(6)))
    assert abs(slopes["slope"][0] - slopes["rate"][0]) < 0.1


def test_the_exponential_mechanism_is_within_its_bound_and_faster() -> None:
    """n^{-1/3} is an upper bound; with n D / 2 against the entropy of k ~ n^{2/3} points the error follows F_x, n^{-1/2}."""
    slopes = wz.slopes(wz.exponential_rates(sizes=[300, 1000, 3000], runs=6, sweeps=20, random=seeded(5)))
    assert slopes["slope"][0] < slopes["rate"][0]
    assert abs(slopes["slope"][0] + 0.5) < 0.1


def test_the_chain_approaches_the_exact_law() -> None:
    """Mean loss of chains beside enumeration on 64 cells: two points, records enough for cells not to matter."""
    records = np.sort(np.random.default_rng(1).beta(3, 6, 200))
    chain = ApproximateExponential(0.4, kolmogorov_smirnov_loss, 1 / 200, 2, 200)
    found = kolmogorov_smirnov_loss(records)(chain.samples(records, 2000, seeded(2)))
    exact = kolmogorov_smirnov_mechanism(Budget.parse("0.4"), bins=64, size=2)
    law = np.array([float(p) for p in exact.law(records)])
    points = np.array([exact.candidates[i].points.ravel() for i in range(len(exact.candidates))])
    wanted = law @ kolmogorov_smirnov_loss(records)(points)
    assert abs(found.mean() - wanted) < 0.02
    uniform = kolmogorov_smirnov_loss(records)(np.random.default_rng(3).random((2000, 2)))
    assert uniform.mean() - wanted > 0.05


def test_atoms_break_quantiles_and_smoothing_mends_them() -> None:
    table = garivier.quantiles_at_atoms(n=100, epsilon="1", atom=[0.0, 0.6], runs=8, random=seeded(6))
    error = table.set_index(["atom", "method"])["error"]
    assert error[0.6, "joint_exp"] > 3 * error[0.6, "smoothed_joint_exp"]
    assert error[0.6, "rank"] > 2 * error[0.6, "smoothed_distance"]
    assert error[0.0, "smoothed_joint_exp"] < 0.1
