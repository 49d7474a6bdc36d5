"""Joint counts of two mechanisms' reports beside a loop over clients."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Mechanism
from dpcore.mechanisms.registry import BY_TYPE
from dpcore.privacy.budget import Budget
from dpcore.protocol import label_sums

N = 120
TOLD = {"categories": 9, "points": 0, "clients": 2000, "at_most": 2, "least_size": 1, "symbols": 3, "length": 4}
LARGE = {"wavelet_laplace": {"cells": 128, "degree": 1, "finest_level": 3}, "text_hashing": {"buckets": 4}}
EVERY = {
    name: kind.design(
        Budget.parse("1"), **{key: TOLD[key] for key in kind.declared.scheme_facts}, **LARGE.get(name, {})
    )
    for kinds in BY_TYPE.values()
    for name, kind in kinds.items()
}
OUTPUTS = ("randomized_response", "square_wave", "dyadic_wave")  # whose statistics count what was said


def _each_client(first: Mechanism, ours: Any, second: Mechanism, theirs: Any, cells: Any, many: int) -> np.ndarray:
    """The same, one client after another."""
    tables = np.zeros((many, len(second.labels().level), len(first.labels().level)), dtype=np.int64)
    for client in range(len(ours)):
        alone = np.array([client])
        left = second.statistics(theirs.take(alone, second.sizes))
        tables[cells[client]] += np.outer(left, first.statistics(ours.take(alone, first.sizes)))
    return tables


SOME = [*((name, "dyadic_wave") for name in EVERY), *(("local_hashing", name) for name in EVERY)]
OTHERS = [pair for pair in product(EVERY, EVERY) if pair not in SOME]


@pytest.mark.parametrize("pairs", [SOME, pytest.param(OTHERS, marks=pytest.mark.slow)], ids=["some", "others"])
def test_joint_counts_are_what_each_client_adds(pairs: list[tuple[str, str]], subtests: pytest.Subtests) -> None:
    """Of those whose statistics count what was said with either kind, and of those whose do not."""
    for one, other in pairs:
        with subtests.test(one=one, other=other):
            first, second = EVERY[one], EVERY[other]
            generator = np.random.default_rng(3)
            ours = first.privatize(generator.integers(0, first.inputs, N), dp.seeded(1))
            theirs = second.privatize(generator.integers(0, second.inputs, N), dp.seeded(2))
            cells = generator.choice([0, 2], N)  # nobody is in the cell between
            expected = _each_client(first, ours, second, theirs, cells, 3)
            assert np.array_equal(label_sums.joint_counts(first, ours, second, theirs, cells, 3), expected)
            whole = label_sums.joint_counts(first, ours, second, theirs)
            assert whole.dtype == np.int64
            assert np.array_equal(whole, expected.sum(axis=0)[None])


@pytest.mark.parametrize("other", EVERY)
def test_symbols_that_are_too_many_are_not_counted_one_by_one(other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = EVERY["hadamard_response"], EVERY[other]
    ours = first.privatize(np.arange(N) % first.inputs, dp.seeded(1))
    theirs = second.privatize(np.arange(N) % second.inputs, dp.seeded(2))
    both = [
        label_sums.joint_counts(first, ours, second, theirs),
        label_sums.joint_counts(second, theirs, first, ours),
    ]
    monkeypatch.setattr(label_sums, "_LARGE", 0)
    assert np.array_equal(label_sums.joint_counts(first, ours, second, theirs), both[0])
    assert np.array_equal(label_sums.joint_counts(second, theirs, first, ours), both[1])
    assert np.array_equal(both[0][0], both[1][0].T)


def test_those_whose_statistics_count_what_was_said_are_known() -> None:
    assert {name for name, mechanism in EVERY.items() if mechanism.counts_outputs} == {*OUTPUTS}


def test_products_of_large_scores_are_exact() -> None:
    for largest in (1, 1 << 10, 1 << 24, 1 << 30):
        left, right = np.full((3, 2), largest), np.full((3, 4), largest - 1)
        left[1, 1] = -largest
        exact = left.astype(object).T @ right.astype(object)
        assert np.array_equal(label_sums._product(left, right), exact)


def test_clients_of_one_cell_come_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = EVERY["local_hashing"], EVERY["unary_encoding"]
    ours = first.privatize(np.arange(N) % 6, dp.seeded(1))
    theirs = second.privatize(np.arange(N) % 5, dp.seeded(2))
    whole = label_sums.joint_counts(first, ours, second, theirs)
    monkeypatch.setattr(label_sums, "_HELD", 40)
    assert np.array_equal(label_sums.joint_counts(first, ours, second, theirs), whole)
