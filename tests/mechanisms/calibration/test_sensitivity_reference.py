"""Exact sensitivities against the slow obvious twin: every pair of rows, in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpcore.errors import CalibrationError
from dpcore.mechanisms.bases import SplineWavelet
from dpcore.mechanisms.bases.spline_wavelet import smallest_coarsest_level
from dpcore.mechanisms.calibration.allocation import boundary_scales
from dpcore.mechanisms.calibration.sensitivity import joint_loss, sensitivity
from dpcore.mechanisms.calibration.tables import integer_tables, unscaled
from tests.helpers.cases import every_value_once


def slow_loss(tables: Sequence[np.ndarray], scales: Sequence[int]) -> Fraction:
    best = Fraction(0)
    for a in range(len(tables[0])):
        for b in range(a):
            loss = Fraction(0)
            for table, scale in zip(tables, scales, strict=True):
                loss += Fraction(sum(abs(int(u) - int(v)) for u, v in zip(table[a], table[b], strict=True)), scale)
            best = max(best, loss)
    return best


def slow_sensitivity(table: np.ndarray) -> int:
    return max(int(np.abs(table - row).sum(axis=1).max()) for row in table)


rows = st.integers(1, 12)
entries = st.integers(-5, 5) | st.sampled_from([0, 0, 0, 2**40, -(2**40)])


@st.composite
def blocks(draw: st.DrawFn) -> tuple[list[np.ndarray], list[int]]:
    count, cells = draw(st.integers(1, 3)), draw(rows)
    tables = [draw(arrays(np.int64, (cells, draw(st.integers(1, 4))), elements=entries)) for _ in range(count)]
    return tables, draw(st.lists(st.integers(1, 10**6), min_size=count, max_size=count))


@given(blocks())
def test_any_tables(case: tuple[list[np.ndarray], list[int]]) -> None:
    tables, scales = case
    assert joint_loss(tables, scales) == slow_loss(tables, scales)
    assert sensitivity(tables[0]) == slow_loss(tables[:1], [1])


@pytest.mark.parametrize(("degree", "is_scaled"), every_value_once(range(4), [False, True]))
def test_every_block_of_the_basis_over_all_pairs_of_cells(degree: int, is_scaled: bool) -> None:
    coarsest = smallest_coarsest_level(degree)
    basis = SplineWavelet(degree, coarsest, coarsest + 2)
    scales = boundary_scales(basis, 512) if is_scaled else unscaled(basis)
    tables = integer_tables(basis, 512, scales)
    for table in tables:
        assert sensitivity(table) == slow_sensitivity(table)


def test_splines_that_sum_to_one_differ_by_two() -> None:
    for degree in range(4):
        basis = SplineWavelet(degree, 3, 3)
        assert 0 <= sensitivity(integer_tables(basis, 4096, unscaled(basis))[0]) - 2 * 2**16 <= 2


def test_boundary_wavelets_set_the_sensitivity() -> None:
    """A maximum over interior wavelets alone is too small for degree 2 and 3: the bug this file guards against."""
    for degree in (2, 3):
        basis = SplineWavelet(degree, 3, 4)
        table = integer_tables(basis, 4096, unscaled(basis))[2]
        assert sensitivity(table) > 1.3 * sensitivity(table[:, degree:-degree])


def test_noise_scales_must_fit(subtests: pytest.Subtests) -> None:
    for scales in [[1], [1, 0], [1, 1, 1]]:
        with subtests.test(scales=scales), pytest.raises(CalibrationError, match="noise scale"):
            joint_loss([np.eye(2, dtype=np.int64)] * 2, scales)


def test_a_pair_that_no_climb_finds_is_found() -> None:
    """Rows of which each is nearer to zero than the best pair that was seen first."""
    rows = [[0, 0, 2, -4], [4, 4, 0, -1], [4, 4, 0, 0], [-1, 0, -2, 0], [0, 0, 0, 0], [1, 2, 0, 0], [4, 0, 3, 0]]
    table = np.array([*rows, [0, 4, -3, -2], [0, -1, 0, -2], [0, 0, 0, 0]])
    assert sensitivity(table) == np.abs(table[:, None] - table).sum(axis=2).max() == 16
