"""Clamped B-splines: values, derivatives, Gram matrices, refinement; scipy is the independent twin."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BSpline

from dpcore.errors import SchemeError
from dpcore.mechanisms.bases import bspline

SPACES = [(degree, level) for degree in range(4) for level in (0, 1, 2, 3, 5, 9)]


def points(level: int) -> np.ndarray:
    inside = np.random.default_rng(level).random(40)
    return np.concatenate([[0.0, 1.0], inside, np.arange(1 << min(level, 4)) / (1 << min(level, 4))])


def test_values_and_derivatives_are_scipys(subtests: pytest.Subtests) -> None:
    for degree, level in SPACES:
        with subtests.test(degree=degree, level=level):
            x = points(level)
            twin = BSpline(bspline.knots(degree, level), np.eye(bspline.size(degree, level)), degree)
            for order in range(degree + 1):
                wanted = (twin.derivative(order) if order else twin)(x)
                scale = 2.0 ** (level * order)
                assert np.allclose(bspline.evaluate(x, degree, level, order) / scale, wanted / scale, atol=1e-11)
            assert not bspline.evaluate(x, degree, level, degree + 1).any()


@given(st.floats(0, 1), st.integers(0, 3), st.integers(0, 9))
def test_partition_of_unity_of_non_negative_functions(x: float, degree: int, level: int) -> None:
    values = bspline.evaluate(np.array([x]), degree, level)
    assert values.min() >= -1e-15
    assert abs(values.sum() - 1) < 1e-14
    assert np.count_nonzero(values) <= degree + 1


def test_gram_and_integrals_are_quadratures(subtests: pytest.Subtests) -> None:
    for degree, level in SPACES:
        with subtests.test(degree=degree, level=level):
            nodes, weights = np.polynomial.legendre.leggauss(degree + 1)
            cells = 1 << level
            x = ((np.arange(cells)[:, None] + (nodes + 1) / 2) / cells).ravel()
            w = np.tile(weights / 2 / cells, cells)
            values = bspline.evaluate(x, degree, level)
            assert np.allclose(bspline.gram(degree, level) * cells, (values.T * w) @ values * cells, atol=1e-13)
            assert np.allclose(bspline.integrals(degree, level) * cells, values.T @ w * cells, atol=1e-13)


def test_refinement_keeps_the_function(subtests: pytest.Subtests) -> None:
    for degree, level in SPACES:
        with subtests.test(degree=degree, level=level):
            x = points(level + 1)
            fine = bspline.evaluate(x, degree, level + 1)
            assert np.allclose(fine @ bspline.refinement(degree, level), bspline.evaluate(x, degree, level), atol=1e-14)


def test_exact_gram_of_hats() -> None:
    assert bspline.exact_gram(1, 2) == [
        [Fraction(1, 3), Fraction(1, 6), 0],
        [Fraction(1, 6), Fraction(2, 3), Fraction(1, 6)],
        [0, Fraction(1, 6), Fraction(1, 3)],
    ]


def test_pieces_join_with_degree_minus_one_derivatives() -> None:
    """Neighbouring exact polynomials agree at the knot in value and in all but the last derivative."""
    cells = bspline.exact_polynomials(3, 5)
    for c, (left, right) in enumerate(pairwise(cells)):
        for index in range(c + 1, c + 4):
            before, after = left[index - c], right[index - c - 1]
            for order in range(3):
                at_one = sum(
                    a * np.prod(range(p - order + 1, p + 1), dtype=object) for p, a in enumerate(before) if p >= order
                )
                assert at_one == after[order] * np.prod(range(1, order + 1), dtype=object)


def test_out_of_range_is_refused(subtests: pytest.Subtests) -> None:
    for x, degree, level in [(1.01, 1, 2), (-0.01, 1, 2), (float("nan"), 1, 2), (0.5, 4, 2), (0.5, 1, -1)]:
        with subtests.test(x=x, degree=degree, level=level), pytest.raises(SchemeError, match="must lie between"):
            bspline.evaluate(np.array([x]), degree, level)


def test_cached_matrices_cannot_be_written_to() -> None:
    for matrix in (bspline.gram(2, 3), bspline.refinement(2, 3), bspline.integrals(2, 3)):
        with pytest.raises(ValueError, match="read-only"):
            matrix[0] = 7
