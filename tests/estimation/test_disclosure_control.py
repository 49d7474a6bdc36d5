"""What is shown of labels tells no few reports, whatever is added and subtracted."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

from dpcore.estimation.groups import shown

FEWEST = 50


def groups_of(shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    places = np.indices(shape).reshape(len(shape), -1)
    return {f"{axis}:{one}": places[axis] == one for axis, many in enumerate(shape) for one in range(many)}


def told(counts: np.ndarray, groups: dict[str, np.ndarray], seen: set[str]) -> int:
    """The fewest reports that any sum or difference of what is shown, none above one of a person, is of: every one is tried."""
    rows = [np.ones(len(counts), dtype=np.int64), *(groups[name].astype(np.int64) for name in sorted(seen))]
    there = counts > 0
    totals = np.abs(_signs(len(rows)) @ np.array(rows)[:, there])
    return min([int(counts.sum()), *(totals[totals.max(axis=1) == 1] @ counts[there]).tolist()])


@cache
def _signs(rows: int) -> np.ndarray:
    return np.array(list(product((-1, 0, 1), repeat=rows)))


def test_of_one_label(subtests: pytest.Subtests) -> None:
    for counts, hidden in [
        ([1000, 40], {"0:0", "0:1"}),  # everyone less the other
        ([1000, 40, 60], {"0:1", "0:2"}),  # the next smallest keeps it company
        ([1000, 40, 45], {"0:1", "0:2"}),  # two small ones do that for each other
        ([1000, 20, 20], {"0:0", "0:1", "0:2"}),  # but not where they are few together
        ([1000, 0, 60], set()),  # nobody is in it
        ([1000, 50, 60], set()),
    ]:
        with subtests.test(counts=counts, hidden=hidden):
            groups = groups_of((len(counts),))
            assert set(groups) - shown(np.array(counts), groups, FEWEST) == hidden


def test_groups_of_two_labels_that_differ_in_few_are_not_shown_together() -> None:
    groups = groups_of((2, 2))
    counts = np.array([1000, 0, 3, 997])  # the second label is the first, but for three people
    seen = shown(counts, groups, FEWEST)
    assert told(counts, groups, set(groups)) == 3
    assert told(counts, groups, seen) >= FEWEST
    assert seen


def test_nothing_is_hidden_where_no_least_count_is_asked() -> None:
    groups = groups_of((3, 2))
    counts = np.array([1, 2, 3, 4, 5, 0])
    assert shown(counts, groups, 0) == set(groups)


@pytest.mark.parametrize(
    "shapes",
    [[(3,), (5,), (2, 2), (3, 2)], pytest.param([(3, 3), (2, 2, 2)], marks=pytest.mark.slow)],
    ids=["small", "large"],
)
def test_no_sum_or_difference_tells_few(shapes: list[tuple[int, ...]], subtests: pytest.Subtests) -> None:
    for shape in shapes:
        with subtests.test(shape=shape):
            groups = groups_of(shape)
            random = np.random.default_rng([3, *shape])
            shown_at_all = 0
            for _ in range(60 if len(groups) < 6 else 20):
                scale = random.choice([0, 3, 30, 70, 1000], size=int(np.prod(shape)), p=[0.3, 0.15, 0.1, 0.15, 0.3])
                counts = random.poisson(scale)
                seen = shown(counts, groups, FEWEST)
                assert counts.sum() < FEWEST or told(counts, groups, seen) >= FEWEST
                shown_at_all += sum(counts[groups[name]].sum() > 0 for name in seen)
            assert shown_at_all > 20
