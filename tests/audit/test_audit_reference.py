"""The audit's two enumerations against loops that leave nothing out and know no shortcut."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.audit.enumeration.additive_noise import largest_loss
from dpcore.audit.enumeration.loss import largest_ratio
from dpcore.errors import CalibrationError
from dpcore.mechanisms.bases.spline_wavelet import SplineWavelet
from dpcore.mechanisms.calibration.sensitivity import joint_loss
from dpcore.mechanisms.calibration.tables import integer_tables, unscaled


def slow_ratio(weights: list[list[int]]) -> Fraction | None:
    """The largest ratio, by loops over outputs and ordered pairs of inputs."""
    laws = [[Fraction(w, sum(row)) for w in row] for row in weights]
    worst = Fraction(0)
    for z in range(len(weights[0])):
        for x, other in permutations(range(len(weights)), 2):
            if laws[x][z] > 0 and laws[other][z] == 0:
                return None
            if laws[x][z] > 0:
                worst = max(worst, laws[x][z] / laws[other][z])
    return worst


def slow_loss(tables: list[np.ndarray], scales: list[int]) -> Fraction:
    """The largest loss, by a loop over pairs of rows in fractions."""
    return max(
        sum(
            (Fraction(int(np.abs(table[a] - table[b]).sum()), t) for table, t in zip(tables, scales, strict=True)),
            Fraction(0),
        )
        for a, b in combinations(range(len(tables[0])), 2)
    )


shapes = st.tuples(st.integers(2, 5), st.integers(1, 6))


@given(
    shapes.flatmap(
        lambda s: st.lists(st.lists(st.integers(0, 4), min_size=s[1], max_size=s[1]), min_size=s[0], max_size=s[0])
    )
)
def test_ratios(weights: list[list[int]]) -> None:
    """Small integers, so that totals agree and differ, zeros occur, and columns repeat."""
    if not all(sum(row) for row in weights):
        with pytest.raises(CalibrationError, match="all zeros"):
            largest_ratio(np.array(weights))
        return
    expected = slow_ratio(weights)
    for dtype in (np.int64, object):
        worst = largest_ratio(np.array(weights, dtype=dtype))
        assert worst.ratio == expected
        likely, unlikely = weights[worst.likely], weights[worst.unlikely]
        if expected is None:
            assert likely[worst.output] > 0 == unlikely[worst.output]
        else:
            attained = Fraction(likely[worst.output] * sum(unlikely), unlikely[worst.output] * sum(likely))
            assert attained == expected


@given(shapes, st.integers(0, 2**32))
def test_classes_of_outputs_stand_for_their_members(shape: tuple[int, int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights, times = rng.integers(1, 9, shape), rng.integers(1, 4, shape[1])
    assert largest_ratio(weights, times.tolist()).ratio == largest_ratio(np.repeat(weights, times, axis=1)).ratio


def test_weights_beyond_64_bits_are_added_and_divided_exactly() -> None:
    big = 1 << 80
    assert largest_ratio(np.array([[big + 1, big], [big, big + 1]], dtype=object)).ratio == Fraction(big + 1, big)
    near = (1 << 62) + 1
    assert largest_ratio(np.array([[near, near, 1], [near, 1, near]])).ratio == near


def test_what_is_no_channel_is_refused(subtests: pytest.Subtests) -> None:
    for wrong in [[[1.5, 1.0]], [[-1, 2], [1, 1]], [1, 2], [[]]]:
        with subtests.test(wrong=wrong), pytest.raises(CalibrationError):
            largest_ratio(np.array(wrong))


@given(st.integers(2, 24), st.integers(1, 3), st.integers(0, 2**32))
def test_losses(cells: int, blocks: int, seed: int) -> None:
    """Supports of every length, at the ends, in the middle and around the circle."""
    rng = np.random.default_rng(seed)
    tables = []
    for _ in range(blocks):
        table = rng.integers(-5, 6, (cells, int(rng.integers(1, 6))))
        for column in table.T:
            column[np.roll(np.arange(cells), rng.integers(cells))[: rng.integers(cells)]] = 0
        tables.append(table)
    scales = rng.integers(1, 1000, blocks).tolist()
    loss, (a, b) = largest_loss(tables, scales)
    assert loss == slow_loss(tables, scales)
    if loss:
        assert loss == slow_loss([table[[a, b]] for table in tables], scales)


def test_losses_of_blocks_of_which_some_reach_farther_than_others() -> None:
    """At a distance where two rows of one block share no function, rows of another do."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        narrow, wide = np.zeros((12, 6), dtype=np.int64), rng.integers(-5, 6, (12, 3))
        narrow[np.arange(12), np.arange(12) // 2] = rng.integers(-5, 6, 12)
        loss, (a, b) = largest_loss([narrow, wide], [3, 7])
        assert loss == slow_loss([narrow, wide], [3, 7]) == slow_loss([narrow[[a, b]], wide[[a, b]]], [3, 7])


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_the_tables_of_splines_give_what_branch_and_bound_finds(degree: int) -> None:
    basis = SplineWavelet(degree, 3, 5)
    tables = integer_tables(basis, 512, unscaled(basis))
    scales = [2**18 + 7 * block for block in range(basis.blocks)]
    assert largest_loss(tables, scales)[0] == joint_loss(tables, scales)
    for table in tables:
        assert largest_loss([table], [1])[0] == joint_loss([table], [1])


def test_fractions_decide_where_floats_tell_no_difference() -> None:
    """Cells 1 and 2 are farther apart than 0 and 1 by 1 / (t t'), far below the last bit of either."""
    t, other = (1 << 30) - 35, (1 << 30) - 41
    step, less = pow(other, -1, t), -pow(t, -1, other) % other
    assert step * other - less * t == 1
    tables = [np.array([[0], [4 * t], [-step]]), np.array([[0], [4 * other], [less]])]
    assert largest_loss(tables, [t, other]) == (8 + Fraction(1, t * other), (1, 2))
