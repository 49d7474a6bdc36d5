"""Which reports could have been sent, and counts by ranges: each beside its slow obvious twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.mechanisms import Reports, _kernels, report_sums
from dpcore.mechanisms.report_sums import accepted_integers, accepted_rows, by_ranges, within

LIMITS = st.lists(st.integers(1, 5), min_size=1, max_size=3)


@pytest.mark.parametrize("is_compiled", [False, True])
@given(st.data(), LIMITS, st.sampled_from([np.int64, np.int32, np.int8]))
def test_a_report_is_accepted_if_its_integer_is_below_the_limit_of_its_level(is_compiled, data, limits, kind):
    levels = st.one_of(st.integers(0, len(limits)), st.just(255))
    sent = data.draw(st.lists(st.tuples(levels, st.integers(-1, 5)), max_size=8))
    level = np.array([level for level, _ in sent], dtype=np.uint8)
    values = [value for level, value in sent if level < len(limits)]  # a level nobody knows has no integers
    expected = [level < len(limits) and 0 <= value < limits[level] for level, value in sent]
    with pytest.MonkeyPatch.context() as patch, _kernels.compiled(is_compiled):
        patch.setattr(_kernels, "_machine_code", lambda loop: loop)
        assert accepted_integers(Reports(level, np.array(values, dtype=kind)), limits).tolist() == expected
        for others in ([*values, 0], values[1:] if values else [0, 0]):  # nobody's can be told from the next one's
            assert not accepted_integers(Reports(level, np.array(others, dtype=kind)), limits).any()


@pytest.mark.parametrize("kind", [np.int64, np.int32])
@given(st.integers(1, 12), st.integers(0, 40), st.integers(0, 3), st.integers(0, 2**31))
def test_rows_are_within_their_bounds(kind, size, n, faults, seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_sums, "_BESIDE", 9)  # so that few integers are many
        rows_are_judged_one_by_one(kind, size, n, faults, seed)


def test_rows_of_many_integers_are_within_their_bounds(subtests):
    for kind in [np.int64, np.int32]:
        for size, n, faults in [(1, 600, 2), (3, 600, 1), (255, 9, 1), (256, 5, 0), (300, 4, 1)]:
            with subtests.test(kind=kind, size=size, n=n, faults=faults):
                for seed in range(4):
                    rows_are_judged_one_by_one(kind, size, n, faults, seed)


def rows_are_judged_one_by_one(kind, size, n, faults, seed):
    random = np.random.default_rng(seed)
    lowest = random.integers(0, 2, size)
    highest = lowest + random.integers(0, 4, size)
    rows = random.integers(lowest, highest + 1, (n, size)).astype(kind)
    for _ in range(faults if n else 0):
        row, place = random.integers(n), random.integers(size)
        rows[row, place] = random.choice(
            [lowest[place] - 1, highest[place] + 1, np.iinfo(kind).min, np.iinfo(kind).max]
        )
    expected = [all(low <= x <= high for low, x, high in zip(lowest, row, highest, strict=True)) for row in rows]
    assert within(rows, lowest, highest).tolist() == expected


def test_each_place_has_its_own_bounds_wherever_its_row_is():
    """The others are nobody's furthest, so that all rows beside each other are within the bounds of the widest place."""
    for place, beyond in ((0, 6), (1, 1)):
        for row in (0, 63, 64, 127, 128, 299):
            rows = np.zeros((300, 2), dtype=np.int64)
            rows[row, place] = beyond
            expected = np.arange(300) != row
            assert np.array_equal(within(rows, np.array([0, 0]), np.array([5, 0])), expected)


def test_rows_of_a_level_nobody_knows_are_left_out():
    level, values = np.array([0, 1, 0], dtype=np.uint8), np.array([1, 2, 3, 4])
    assert accepted_rows(Reports(level, values), 2, lambda rows: rows[:, 0] == 3).tolist() == [False, False, True]
    assert not accepted_rows(Reports(level, values[:3]), 2, lambda rows: rows[:, 0] == 3).any()


@given(st.integers(1, 1000), st.integers(0, 2**31))
def test_counts_by_ranges_are_those_of_what_falls_into_each(size, seed):
    counts = np.random.default_rng(seed).integers(0, 9, size)
    ranges = min(size, 256)
    expected = np.zeros(ranges, dtype=np.int64)
    for x, count in enumerate(counts):
        expected[x * ranges // size] += count
    assert by_ranges(counts).tolist() == expected.tolist()
