"""Histograms of a trusted curator: privacy by enumeration, refusals, the documents' choices, what is released."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import inf, isclose

import numpy as np
import pytest

from dpcore._random import seeded
from dpcore.errors import CalibrationError, InvalidRecord, SchemeError
from dpcore.laboratory.central.densities.perturbed_histogram import PerturbedHistogram
from dpcore.laboratory.central.densities.releases import histogram, series_estimate
from dpcore.laboratory.central.densities.smoothed_histogram import SmoothedHistogram, privacy_loss
from dpcore.laboratory.central.exponential.integer_weights import largest_ratio, law
from dpcore.laboratory.central.queries import PARTS
from dpcore.privacy.budget import Budget

ONE = Budget.parse(1)


def midpoints(cells: tuple[int, ...], bins: int) -> np.ndarray:
    return (np.array(cells) + 0.5) / bins


def neighbours(n: int, cells: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All pairs of databases of n cells that differ in the last record; order does not matter to a histogram."""
    return [
        ((*rest, a), (*rest, b))
        for rest in product(range(cells), repeat=n - 1)
        for a, b in product(range(cells), repeat=2)
    ]


def test_the_smoothed_histogram_loses_exactly_what_theorem_5_says() -> None:
    """Every pair of neighbours and every sample of two points, in fractions."""
    mechanism = SmoothedHistogram(ONE, n=3, bins=3, size=2, delta=Fraction(7, 10))
    worst = Fraction(1)
    for x, y in neighbours(3, 3):
        draws = [law(mechanism.weights(midpoints(z, 3))) for z in (x, y)]
        samples = [[p * q for p in each for q in each] for each in draws]
        ratio = largest_ratio(*samples)
        assert ratio is not None
        worst = max(worst, ratio)
    assert worst == mechanism.certificate().kept == ((1 - mechanism.delta) * 3 / (3 * mechanism.delta) + 1) ** 2
    assert worst <= ONE.ratio_floor
    assert isclose(privacy_loss(3, 3, 2, mechanism.delta), float(np.log(float(worst))))


def test_delta_zero_is_refused_and_its_loss_is_infinite() -> None:
    with pytest.raises(CalibrationError, match="infinite loss"):
        SmoothedHistogram(ONE, n=3, bins=3, size=2, delta=Fraction(0))
    assert privacy_loss(3, 3, 2, 0) == inf
    counts = [[3, 0, 0], [2, 1, 0]]  # of neighbours: what a histogram without smoothing draws with
    assert largest_ratio(law(counts[0]), law(counts[1])) is None


@pytest.mark.parametrize("changed", [{"delta": Fraction(1, 10)}, {"size": 20}, {"n": 40}, {"bins": 40}])
def test_parameters_that_break_the_condition_are_refused(changed: dict) -> None:
    kept = {"n": 400, "bins": 4, "size": 10, "delta": Fraction(1, 4)}
    SmoothedHistogram(ONE, **kept)
    with pytest.raises(CalibrationError, match="raise delta or n"):
        SmoothedHistogram(Budget.parse("0.3"), **{**kept, **changed})


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_theorem_6_and_7_choose_what_they_say(dimension: int) -> None:
    n, r = 10**7, dimension
    ks = SmoothedHistogram.for_kolmogorov_smirnov(ONE, n, r)
    assert isclose(ks.bins, n ** (1 / (6 + r)), abs_tol=0.5)
    assert ks.size == ks.bins**4
    l2 = SmoothedHistogram.for_squared_l2(ONE, n, r)
    assert isclose(l2.bins, n ** (1 / (2 * r + 3)), abs_tol=0.5)
    assert isclose(l2.size, n ** ((r + 2) / (2 * r + 3)), abs_tol=0.5)
    for mechanism in (ks, l2):
        assert mechanism.delta == Fraction(mechanism.cells * mechanism.size, n)
        assert mechanism.certificate().holds
    assert 0.5 < float(l2.delta) / n ** (-1 / (2 * r + 3)) < 2


def test_theorem_7_as_printed_is_refused() -> None:
    """delta ~ n^{-1/(r+3)} vanishes faster than m k / n."""
    for n in (10**4, 10**6, 10**8):
        right = SmoothedHistogram.for_squared_l2(ONE, n)
        printed = Fraction(n ** (-1 / 4)).limit_denominator(10**6)
        with pytest.raises(CalibrationError):
            SmoothedHistogram(ONE, n, right.bins, right.size, printed)


def test_too_few_records_are_refused() -> None:
    with pytest.raises(CalibrationError, match="take more records"):
        SmoothedHistogram.for_squared_l2(Budget.parse("0.01"), 50)
    mechanism = SmoothedHistogram.for_squared_l2(ONE, 1000)
    with pytest.raises(InvalidRecord, match="made for 1000 records"):
        mechanism.release(np.full(999, 0.5), seeded(1))


def test_the_perturbed_histograms_loss_is_that_of_two_counts() -> None:
    """Exponents of the law are integers over t: their largest difference over all neighbours and outputs is 2 2^16."""
    mechanism = PerturbedHistogram.design(ONE, 3)
    worst = 0
    for x, y in neighbours(2, 3):
        first, second = (PARTS * np.bincount(z, minlength=3) for z in (x, y))
        for output in product((-PARTS, 0, PARTS // 2, PARTS, 3 * PARTS), repeat=3):
            worst = max(worst, int(np.abs(output - second).sum() - np.abs(output - first).sum()))
    assert worst == 2 * PARTS
    assert mechanism.certificate().kept == Fraction(worst, mechanism.scale) <= 1
    with pytest.raises(CalibrationError, match="from `design`"):
        PerturbedHistogram(ONE, 3, mechanism.scale - 1)


def test_theorem_8_chooses_the_bins() -> None:
    assert PerturbedHistogram.for_rate(ONE, 10**6).bins == 100
    assert PerturbedHistogram.for_rate(ONE, 10**8, dimension=2).bins == 100


@pytest.mark.parametrize("dimension", [1, 2])
def test_a_release_is_a_density_with_samples_of_any_size(dimension: int) -> None:
    records = np.random.default_rng(1).beta(2, 3, (500, dimension))
    smoothed = SmoothedHistogram(ONE, 500, 3, 5, Fraction(1, 4), dimension)
    for mechanism in (smoothed, PerturbedHistogram.design(ONE, 3, dimension)):
        release = mechanism.release(records, seeded(3))
        assert isclose(release.probabilities.sum(), 1)
        assert release.probabilities.min() >= 0
        assert np.allclose(release.cdf(np.ones((1, dimension))), 1)
        for size in (1, 2000):
            sample = release.sample(size, seeded(4)).reshape(size, dimension)
            assert ((sample >= 0) & (sample <= 1)).all()
        shares = np.histogramdd(sample, bins=3, range=[(0, 1)] * dimension)[0] / 2000
        assert np.abs(shares - release.probabilities).max() < 0.07
    assert smoothed.release(records, seeded(3)).points.shape == (5, dimension)


def test_a_release_without_a_count_left_is_uniform_and_small_products_are_remarked_on() -> None:
    mechanism = PerturbedHistogram.design(Budget.parse("0.01"), 2)
    releases = [mechanism.release(np.array([0.1]), seeded(k)) for k in range(12)]
    assert any((release.probabilities == 0.5).all() for release in releases)
    assert all("n epsilon = 0.01 is at most 1" in release.remark for release in releases)
    assert mechanism.remark(101) == ""


def test_records_outside_the_cube_are_refused() -> None:
    with pytest.raises(InvalidRecord, match=r"points of \[0, 1\]\^1"):
        PerturbedHistogram.design(ONE, 3).release(np.array([1.2]), seeded(1))
    with pytest.raises(SchemeError):
        PerturbedHistogram.design(ONE, 4096, 3)
    for plain in (histogram, series_estimate):
        with pytest.raises(InvalidRecord, match="at least one"):
            plain(np.array([]), 4)
    with pytest.raises(SchemeError, match="whole number"):
        PerturbedHistogram.design(ONE, 2.5)  # type: ignore[arg-type]
    with pytest.raises(CalibrationError, match="exact fraction"):
        SmoothedHistogram(ONE, n=100, bins=2, size=1, delta=0.5)  # type: ignore[arg-type]
    for counts in ([5, -3, 1], [1, 2], [1.5, 2.0, 0.0], [0, 0, 0], [1 << 47, 0, 0]):
        with pytest.raises(InvalidRecord, match=r"whole numbers of people|at least one record"):
            PerturbedHistogram.design(ONE, 3).release_counts(np.array(counts), seeded(1))
