"""Boundary scales, budget splits, the paper's scales and the law of the levels."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpcore._random import seeded
from dpcore.errors import CalibrationError, SchemeError
from dpcore.mechanisms.bases import SplineWavelet
from dpcore.mechanisms.bases.spline_wavelet import smallest_coarsest_level
from dpcore.mechanisms.calibration import allocation, level_sampling
from dpcore.mechanisms.calibration.sensitivity import joint_loss, sensitivity
from dpcore.mechanisms.calibration.tables import Scales, integer_tables, largest_wavelet_value, unscaled
from tests.helpers.statistical import draws_for_law, law_agrees


def energies(basis: SplineWavelet, scales: Scales, cells: int = 4096) -> np.ndarray:
    deltas = [sensitivity(table) for table in integer_tables(basis, cells, scales)]
    return allocation.noise_energies(basis, scales, deltas) / 4.0 ** np.array(
        [basis.level(block) for block in range(basis.blocks)]
    )


@pytest.mark.parametrize("degree", [0, 1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_scaled_levels_are_never_noisier(degree: int) -> None:
    basis = SplineWavelet(degree, smallest_coarsest_level(degree), 5)
    tight, scaled = energies(basis, unscaled(basis)), energies(basis, allocation.boundary_scales(basis, 4096))
    assert np.all(scaled <= tight * (1 + 1e-12))
    if degree >= 2:
        assert np.all(scaled[1:] < 0.65 * tight[1:])  # several-fold at fine levels, less where all is boundary
    if degree == 0:
        assert np.allclose(tight, 8)  # 2 Delta^2 tr G^{-1} / 4^j = 2 * 2^2 for Haar


@pytest.mark.parametrize("level", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_no_coarse_grid_of_scales_beats_the_search(level: int) -> None:
    basis = SplineWavelet(2, level, level)
    found = energies(basis, allocation.boundary_scales(basis, 1024), 1024)[1]
    grid = itertools.product(range(96, 257, 32), repeat=2)
    assert found <= min(energies(basis, (scales,), 1024)[1] for scales in grid) * (1 + 1e-3)


def test_scales_are_the_same_twice() -> None:
    basis = SplineWavelet(2, 3, 5)
    assert allocation.boundary_scales.__wrapped__(basis, 4096) == allocation.boundary_scales.__wrapped__(basis, 4096)


@pytest.mark.parametrize("degree", range(4))
def test_the_split_spends_the_budget_to_the_last_millionth(degree: int) -> None:
    basis = SplineWavelet(degree, smallest_coarsest_level(degree), 5)
    tables = integer_tables(basis, 1024, unscaled(basis))
    deltas = [sensitivity(table) for table in tables]
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(7, 2)):
        energy = allocation.noise_energies(basis, unscaled(basis), deltas)
        scales = allocation.split_scales(epsilon, tables, deltas, energy)
        loss = joint_loss(tables, scales)
        assert epsilon * (1 - Fraction(1, 10_000)) <= loss <= epsilon

        def noise(scales: tuple[int, ...], energy: np.ndarray = energy) -> float:
            return float(sum(e * (t / d) ** 2 for e, t, d in zip(energy, scales, deltas, strict=True)))

        even = [math.ceil(delta * len(deltas) / epsilon) for delta in deltas]
        assert noise(scales) < noise(allocation.rescaled(epsilon, tables, even))


def test_rescaling_never_exceeds_the_budget() -> None:
    tables = [np.array([[0], [3]]), np.array([[5, 1], [0, 0]])]
    for epsilon in (Fraction(1, 7), Fraction(1), Fraction(40)):
        assert joint_loss(tables, allocation.rescaled(epsilon, tables, [2, 3])) <= epsilon


def test_paper_scales_are_the_printed_formula(subtests: pytest.Subtests) -> None:
    for a in ["1.5", "2", "1.01"]:
        with subtests.test(a=a):
            basis, epsilon, exponent = SplineWavelet(2, 3, 6), Fraction(1, 2), float(a)
            tables = integer_tables(basis, 4096, unscaled(basis))
            scales = allocation.paper_scales(epsilon, basis, tables, Fraction(a))
            supremum = float(largest_wavelet_value(2))
            half = float(epsilon) / 2
            printed = [2 / half] + [
                2 * 5 * supremum / (half * (exponent - 1) / exponent * level**-exponent) for level in range(3, 7)
            ]
            assert np.allclose(np.array(scales) / 2**16, printed, rtol=1e-9, atol=2**-16)
            assert joint_loss(tables, scales) <= epsilon


def test_exponents_that_do_not_sum_are_refused(subtests: pytest.Subtests) -> None:
    for a in ["1", "0.5", "0", "-1", "17", "1.23456"]:
        with subtests.test(a=a), pytest.raises(CalibrationError, match="1 < a"):
            allocation.check_exponent(Fraction(a))


def test_powers_are_bounded_from_above_and_closely() -> None:
    for j, a in [(3, Fraction(3, 2)), (7, Fraction(2)), (1, Fraction(5, 4)), (10, Fraction(1501, 1000))]:
        bound = allocation._power_ceiling(j, a)
        assert bound**a.denominator >= Fraction(j) ** a.numerator
        assert float(bound) == pytest.approx(j ** float(a), rel=1e-12)


def test_the_law_of_the_levels_is_half_even_and_half_by_noise(subtests: pytest.Subtests) -> None:
    for blocks in range(1, 17):
        with subtests.test(blocks=blocks):
            weights = level_sampling.level_weights(blocks)
            roots = 2 ** (np.arange(blocks) / 2)
            assert sum(weights) == 1 << 16
            assert np.abs(np.array(weights) / 2**16 - (1 / (2 * blocks) + roots / (2 * roots.sum()))).max() < 2**-16
            assert list(weights) == sorted(weights)


def test_levels_are_drawn_from_their_law() -> None:
    weights = level_sampling.level_weights(4)
    law, planted = np.array(weights, dtype=float), np.array(weights) * [1.3, 1, 1, 1]
    drawn = level_sampling.draw_levels(weights, draws_for_law(law, planted), seeded(5))
    counts = np.bincount(drawn, minlength=4)
    assert drawn.dtype == np.uint8
    assert law_agrees(counts, law)
    assert not law_agrees(counts, planted)


def test_weights_that_are_no_law_are_refused(subtests: pytest.Subtests) -> None:
    for weights in [(1, 2), (65536,), (0, 65536), (65537, -1), (32768, 32767)]:
        with subtests.test(weights=weights), pytest.raises(CalibrationError, match="level_law"):
            level_sampling.check_weights(weights, 2)


def test_too_many_blocks_are_refused() -> None:
    with pytest.raises(SchemeError, match="blocks"):
        level_sampling.level_weights(17)
