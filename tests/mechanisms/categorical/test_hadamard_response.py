from __future__ import annotations

import numpy as np
import pytest

from dpcore.mechanisms.categorical.hadamard_response import HadamardResponse, walsh_hadamard
from dpcore.privacy.budget import Budget


def test_the_fast_transform_is_the_matrix() -> None:
    for s in (1, 2, 8, 64):
        rows = np.arange(s)
        matrix = 1 - 2 * (np.bitwise_count(rows[:, None] & rows).astype(np.int64) & 1)
        values = np.random.default_rng(s).integers(-9, 9, s)
        assert np.array_equal(walsh_hadamard(values), matrix @ values)


def test_any_two_and_any_three_categories_are_supported_independently(subtests: pytest.Subtests) -> None:
    for k in [2, 3, 5, 8, 64]:
        with subtests.test(k=k):
            mechanism = HadamardResponse.design(Budget.parse("1"), categories=k)
            rows = mechanism.supports(np.arange(mechanism.symbols), np.arange(k)[:, None]).astype(np.int64)
            s = mechanism.columns
            assert mechanism.symbols >= 2 * k > s  # no larger than it need be
            assert np.array_equal(rows @ rows.T, np.where(np.eye(k), s, s // 2))
            for x in range(min(k, 5)):  # within S_x, pairs of others: an eighth of all symbols each
                others = np.delete(rows, x, axis=0)[:, rows[x] == 1]
                both = others @ others.T
                assert np.all(both[~np.eye(k - 1, dtype=bool)] == s // 4)


def test_the_variance_of_the_literature() -> None:
    mechanism = HadamardResponse.design(Budget.parse("1"), categories=5)
    assert mechanism.variance(0.0, 1) == pytest.approx(((np.e + 1) / (np.e - 1)) ** 2, rel=1e-4)
