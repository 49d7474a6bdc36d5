"""The documents' tables of curators' releases that cost little: each says what its document says."""

from __future__ import annotations

from math import inf, log

import numpy as np
import pytest

from dpcore._random import seeded
from dpcore.laboratory.studies.documents import barber_duchi, garivier, hu, wasserman_zhou


def test_the_three_queries_with_sensitivity_noise_and_answer() -> None:
    table = hu.three_queries(1000, "1", seeded(5)).set_index("query")
    assert table["sensitivity"].tolist() == [1, 250, 50]
    assert table["noise_scale"].to_numpy() == pytest.approx([1, 250, 50], rel=1e-4)
    assert np.allclose(table["truth"] + table["noise"], table["answer"])
    assert (table["noise"].abs() < 12 * table["noise_scale"]).all()
    assert table["noise"].nunique() == 3
    assert (table["local_standard_error"] > 15 * table["noise_scale"]).all()  # about sqrt(n) times as much
    assert ((table["local_answer"] - table["truth"]).abs() < 5 * table["local_standard_error"]).all()


def test_noise_grows_with_sensitivity_and_falls_with_the_budget() -> None:
    by_sensitivity = hu.noise_against_sensitivity(500, "0.5")
    assert (by_sensitivity["noise_scale"] / by_sensitivity["sensitivity"]).to_numpy() == pytest.approx(2, rel=1e-4)
    for _, line in hu.noise_against_budget(500).groupby("query"):
        assert (line["noise_scale"] * line["epsilon"]).to_numpy() == pytest.approx(
            line["noise_scale"].iloc[0] * 0.1, rel=1e-3
        )


def test_warners_estimate_is_unbiased_corrected_and_low_by_a_half_as_printed() -> None:
    table = garivier.warner_survey([0.1, 0.5], n=5000, runs=400, random=seeded(1))
    assert ((table["corrected"] - table["share"]).abs() < 6 * table["standard_error"]).all()
    assert ((table["printed"] - table["share"]).abs() > 100 * table["standard_error"]).all()
    assert table["loss"].to_numpy() == pytest.approx(log(3))
    assert table["variance_ratio"].iloc[1] == pytest.approx(4, rel=0.3)
    assert table["variance_ratio"].iloc[0] > 6


def test_the_vote() -> None:
    table = garivier.majority_probabilities(9, 0.5)
    assert (table["exponential"] < table["inverse_sensitivity"]).all()
    assert (table["inverse_sensitivity"] <= table["bound"] + 1e-12).all()
    price = garivier.majority_price(0.1)
    extra = (price["private"] - price["plain"])[price["multiple"] >= 1]
    assert (extra < 0.03).all()
    assert (price["private"] - price["plain"]).iloc[0] > 0.2


def test_the_mechanism_is_above_its_rivals_everywhere() -> None:
    table = garivier.optimalities(3, "1")
    assert (table["best"] <= table["bound"] + 1e-7).all()
    assert (table["kept"] >= table["bound"] - 1e-4).all()
    bounds = garivier.utility_bounds(11, "2")
    assert (bounds["seen"] <= bounds["bound"]).all()


def test_the_price_of_a_mean_vanishes() -> None:
    table = garivier.mean_price("0.5", [100, 1000, 10_000])
    assert (table["lower_bound"] < table["laplace"]).all()
    assert (table["inverse_sensitivity"] / table["laplace"]).to_numpy() == pytest.approx(4, rel=0.03)
    assert np.allclose(table["total_over_plain"] - 1, 32 / table["n"], rtol=1e-3)  # 2 / (n epsilon)^2 over 1 / (4 n)


def test_the_differencing_attack() -> None:
    table = garivier.differencing(["0.5"], n=20, runs=60, random=seeded(2)).set_index("epsilon")
    assert table.loc[inf, "rate"] == 1
    assert table.loc[0.5, "rate"] < 0.8


@pytest.mark.slow
def test_truncated_means_scale_as_table_1_says() -> None:
    slopes = barber_duchi.slopes(barber_duchi.scalings([10**3, 10**4, 10**5]))
    assert ((slopes["slope"] - slopes["rate"]).abs() < 0.02).all()
    assert barber_duchi.dimension_scalings(10**4, 4.0)["ratio"].between(0.95, 1.05).all()
    simulated = barber_duchi.simulated(500, 4.0, runs=200, random=seeded(4))
    assert ((simulated["simulated"] - simulated["closed"]).abs() < 6 * simulated["standard_error"]).all()


def test_printed_losses_and_small_balls() -> None:
    losses = wasserman_zhou.printed_series_losses((1, 5, 50))
    assert (losses["printed"] > 1.2).all()
    assert (losses["ours"] <= 1).all()
    balls = wasserman_zhou.small_balls(sizes=[10], radii=[0.2, 0.3], runs=2000, random=seeded(4))
    assert ((balls["value"] - balls["exact"]).abs() < 6 * balls["standard_error"]).all()
    bounds = wasserman_zhou.accuracy_bounds(sizes=[10**4, 10**5], radii=[0.1], runs=300, random=seeded(5))
    assert bounds["bound"].iloc[1] < 0.01 < bounds["bound"].iloc[0]
