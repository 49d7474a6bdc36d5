"""Distances of releases, small-ball probabilities against the exact law, and the accuracy that follows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from dpcore._random import seeded
from dpcore.laboratory.central.densities.distances import distances, kolmogorov_smirnov, squared_l2
from dpcore.laboratory.central.densities.perturbed_histogram import PerturbedHistogram
from dpcore.laboratory.central.densities.releases import HistogramRelease, histogram
from dpcore.laboratory.central.densities.smoothed_histogram import SmoothedHistogram
from dpcore.laboratory.central.exponential.small_ball import accuracy_bound, small_ball_probability, smallest_radius
from dpcore.populations import Beta
from dpcore.privacy.budget import Budget


class Square:
    """The product of two Beta(2, 1) laws."""

    def pdf(self, x: np.ndarray) -> np.ndarray:
        return 4 * x[:, 0] * x[:, 1]

    def cdf(self, x: np.ndarray) -> np.ndarray:
        return (x[:, 0] * x[:, 1]) ** 2

    def sample(self, n: int, generator: np.random.Generator) -> np.ndarray:
        return np.sqrt(generator.random((n, 2)))


def test_kolmogorov_smirnov_is_that_of_scipy() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.random(50), rng.beta(2, 2, 70)
    assert kolmogorov_smirnov(x, y) == pytest.approx(scipy.stats.ks_2samp(x, y).statistic)
    assert kolmogorov_smirnov(y, scipy.stats.beta(2, 2).cdf) == pytest.approx(
        scipy.stats.kstest(y, scipy.stats.beta(2, 2).cdf).statistic
    )
    assert kolmogorov_smirnov(lambda t: t, lambda t: t**2) == pytest.approx(0.25, abs=1e-6)


def test_squared_l2_of_known_densities() -> None:
    uniform = HistogramRelease(np.array([1.0]))
    assert squared_l2(uniform.pdf, Beta(10, 10).pdf) == pytest.approx(1.541, abs=1e-3)
    steps = HistogramRelease(np.array([0.5, 0.2, 0.3]))
    assert squared_l2(uniform.pdf, steps.pdf) == pytest.approx(((np.array([1.5, 0.6, 0.9]) - 1) ** 2).mean())
    flat = HistogramRelease(np.full((2, 2), 0.25))
    assert squared_l2(flat.pdf, Square().pdf, 2) == pytest.approx(16 / 9 - 1, abs=1e-6)


def test_two_dimensions_are_measured_on_a_lattice() -> None:
    law, rng = Square(), np.random.default_rng(2)
    points = law.sample(4000, rng)
    assert 0.005 < kolmogorov_smirnov(points, law.cdf, 2) < 0.05
    assert kolmogorov_smirnov(histogram(points, 16, 2).cdf, points, 2) < 0.08


@pytest.mark.parametrize("dimension", [1, 2])
def test_all_eight_distances_shrink_as_records_and_budget_grow(dimension: int) -> None:
    law = Beta(2, 1) if dimension == 1 else Square()
    found = []
    for n, epsilon in ((300, 1), (30_000, 20)):
        records = np.sqrt(np.random.default_rng(3).random((n, dimension)))
        for mechanism in (
            SmoothedHistogram.for_squared_l2(Budget.parse(epsilon), n, dimension),
            PerturbedHistogram.for_rate(Budget.parse(epsilon), n, dimension),
        ):
            release = mechanism.release(records, seeded(4))
            bins = mechanism.bins
            found.append(distances(release, law, records, size=n, bins=bins, random=seeded(5)))
    small, large = np.array([list(vars(each).values()) for each in found]).reshape(2, 2, 8)
    assert (large < small).mean() > 0.8
    assert (large[:, :4] < 0.15).all()


def test_small_balls_agree_with_the_exact_law() -> None:
    for size, radius in ((5, 0.25), (30, 0.15), (100, 0.08)):
        found = small_ball_probability(size, radius, runs=20_000, random=seeded(size))
        assert abs(found.value - scipy.stats.kstwo.cdf(radius, size)) < 6 * found.standard_error
    low = small_ball_probability(5, 0.5, runs=100, random=seeded(1), dimension=2, law=Square())
    assert low.value > 0.5


def test_theorem_11_bounds_what_is_seen_and_says_nothing_where_it_cannot() -> None:
    """At n = 10^6, k = 50 the bound is far below one; a small n leaves it at one."""
    assert accuracy_bound(10**6, 50, 1.0, 0.3, 3.52, float(scipy.stats.kstwo.cdf(0.15, 50))) < 1e-9
    assert accuracy_bound(100, 50, 1.0, 0.3, 3.52, 0.5) == 1.0
    assert accuracy_bound(10**6, 50, 1.0, 0.3, 3.52, 0.0) == 1.0
    exact = lambda size, radius: float(scipy.stats.kstwo.cdf(radius, size))  # noqa: E731
    near, far = (smallest_radius(n, 50, 1.0, 3.52, exact) for n in (10**6, 10**5))
    assert near < far
    assert smallest_radius(100, 50, 1.0, 3.52, exact) == np.inf
