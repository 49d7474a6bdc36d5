"""The rule for numbers of two processors: what may move, how far, and what may not."""

from __future__ import annotations

import math

import pytest

from tests.helpers import comparison


@pytest.mark.parametrize(
    ("section", "row", "column", "allowed"),
    [
        ("table functionals", {"estimate": 5.0, "standard_error": 0.2, "low": 4.6, "high": 5.4}, "estimate", 2e-4),
        ("table functionals", {"estimate": 5.0, "standard_error": 0.2, "low": 4.6, "high": 5.4}, "high", 2e-4),
        ("table densities", {"density": 0.3, "low": 0.1, "high": 0.5, "cdf_low": 0.2, "cdf_high": 0.6}, "low", 2e-4),
        ("table densities", {"cdf": 0.4, "low": 0.1, "cdf_low": 0.39, "cdf_high": 0.41}, "cdf", 1e-5),
        ("table comparisons", {"deviations": 3.0}, "deviations", 4e-3),
        ("table budgets", {"epsilon": 3.0}, "epsilon", 3e-9),
        ("table functionals", {"estimate": 5.0, "standard_error": None}, "estimate", 5e-9),
    ],
)
def test_a_float_may_move_so_far_and_no_further(section, row, column, allowed):
    def differences(moved):
        after = [value + moved if name == column else value for name, value in row.items()]
        return list(comparison.compared(section, [*row], [[*row.values()]], [after]))

    assert differences(0.9 * allowed) == differences(-0.9 * allowed) == []
    assert len(differences(1.1 * allowed)) == len(differences(-1.1 * allowed)) == 1


@pytest.mark.parametrize(("before", "after"), [(1, 2), ("1.0", "1.1"), (True, False), (1.0, None), (1, 1.0)])
def test_what_is_no_float_is_compared_exactly(before, after):
    ((_, _, _, _, moved),) = comparison.movements("table runs", ["estimate"], [[before]], [[after]])
    assert moved == math.inf


def test_a_p_value_is_compared_as_the_score_that_it_is_the_tail_of():
    def is_same(before, after):
        return not list(comparison.compared("table associations", ["p_value"], [[before]], [[after]]))

    assert is_same(2.0534e-221, 2.0529e-221)  # 31.7 standard deviations, which move by 8e-6
    assert not is_same(0.050, 0.051)


def test_what_a_subtraction_leaves_is_compared_with_the_largest_of_its_column():
    rows = [[1e3, 0.0], [1e-12, 0.0]]
    assert not list(comparison.compared("table truths", ["value", "x"], rows, [[1e3, 0.0], [5e-10, 0.0]]))
    assert list(comparison.compared("table truths", ["value", "x"], rows, [[1e3, 0.0], [5e-6, 0.0]]))
