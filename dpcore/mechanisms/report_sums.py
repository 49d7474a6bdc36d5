"""The common part of aggregators: validation of reports, and counts by ranges.

Most batches contain valid reports only.  So a batch is checked as a whole first, by its extremes, and report by report only if
these are out of range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dpcore.mechanisms import _kernels
from dpcore.mechanisms.reports import PIECE, Reports, starts_of

_BESIDE = 256  # integers that are handled side by side
_MEMBERS = 1 << 18  # integers compared at once: they stay in a core's cache
_RANGES = 256  # of what reports are counted by beside the truth


def accepted_integers(reports: Reports, limits: Sequence[int]) -> np.ndarray:
    """Return which reports of one integer could have been sent, (n,), bool: those of level l with one of 0..limits[l]-1."""
    level, values = reports.level, _unsigned(reports.values)
    bounds, good = np.array(limits, dtype=np.uint64), np.asarray(level < len(limits))
    if np.count_nonzero(good) != len(values):  # a level nobody knows has no integers
        return np.zeros(len(good), dtype=bool)  # where a report ends is unknown
    if len(values) != len(level):
        good[good] = values < bounds[level[good]]
        return good
    if not len(values) or (len(set(limits)) == 1 and values.max() < limits[0]):
        return good
    loop = _kernels.chosen(_kernels.are_below, len(values))
    if loop is not None and loop(level, values, bounds):
        return good
    high = np.flatnonzero(values >= bounds.min())  # the others are below every limit
    good[high] = values[high] < bounds[level[high]]
    return good


def accepted_rows(reports: Reports, size: int, are_good: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return which reports of a mechanism without levels are good, (n,), bool; are_good: maps rows (m, size) to (m,)."""
    good = np.asarray(reports.level == 0)  # a level nobody knows has no integers
    if size * np.count_nonzero(good) != len(reports.values):
        return np.zeros(len(good), dtype=bool)  # where a report ends is unknown
    rows = reports.values.reshape(-1, size)
    if len(rows) == len(good):
        return are_good(rows)
    good[good] = are_good(rows)
    return good


def are_subsets(rows: np.ndarray, items: int) -> np.ndarray:
    """Return which rows (n, size) are in 0..items-1 and grow, (n,), bool."""
    n, size = rows.shape
    good = np.asarray((rows[:, 0] >= 0) & (rows[:, -1] < items))
    most = max(1, _MEMBERS // size)
    for first in range(0, n, most):
        members = rows[first : first + most].reshape(-1)
        grows = np.ones(len(members), dtype=bool)
        np.greater(members[1:], members[:-1], out=grows[:-1])
        grows[size - 1 :: size] = True  # one row's last, and the next one's first
        if not grows.all():
            good[first : first + most] &= grows.reshape(-1, size).all(axis=1)
    return good


def in_ranges(reports: Reports, ranges: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return which reports have no integer beyond the lowest and the highest it may be, (n,), bool; none of an unknown level.

    ranges: per level two (size,), the lowest and the highest.
    """
    sizes = [len(lowest) for lowest, _ in ranges]
    if set(sizes) == {1} and not any(lowest[0] for lowest, _ in ranges):
        return accepted_integers(reports, [int(highest[0]) + 1 for _, highest in ranges])
    if len(ranges) == 1 and np.all(ranges[0][0] >= 0):
        return accepted_rows(reports, sizes[0], lambda rows: within(rows, *ranges[0]))
    good = np.asarray(reports.level < len(sizes))
    starts, values = starts_of(reports.level, sizes), reports.values
    if starts[-1] != len(values):
        return np.zeros(len(good), dtype=bool)  # where a report ends is unknown
    low, high = max(int(lowest.max()) for lowest, _ in ranges), min(int(highest.min()) for _, highest in ranges)
    if not len(values) or (values.max() <= high and values.min() >= low):
        return good
    if all(np.ptp(end) == 0 for bounds in ranges for end in bounds):  # the integers of a level have one range
        places = np.flatnonzero(good)  # the others have no integers
        levels, first = reports.level[places], starts[places]
        good[places] = np.maximum.reduceat(values, first) <= np.array([highest[0] for _, highest in ranges])[levels]
        good[places] &= np.minimum.reduceat(values, first) >= np.array([lowest[0] for lowest, _ in ranges])[levels]
        return good
    for level, (lowest, highest) in enumerate(ranges):
        members = np.flatnonzero(reports.level == level)
        rows = rows_of(values, starts[members], sizes[level])
        good[members] = np.all((rows >= lowest) & (rows <= highest), axis=1)
    return good


def within(rows: np.ndarray, lowest: np.ndarray, highest: np.ndarray) -> np.ndarray:
    """Return which rows (n, size) have each integer between its bounds, (size,) each, 0 <= lowest; (n,), bool."""
    n, size = rows.shape
    beside = max(1, _BESIDE // size)  # rows whose extremes are found side by side, in long loops
    whole = n - n % beside
    wide = _unsigned(rows[:whole].reshape(-1, size * beside))
    good = np.ones(n, dtype=bool)
    if len(wide) and (
        (wide.max(axis=0) > np.tile(highest, beside).astype(np.uint64)).any()
        or any(rows[:whole, place].min() < lowest[place] for place in np.flatnonzero(lowest))
    ):
        whole = 0  # row by row
    good[whole:] = np.all((rows[whole:] >= lowest) & (rows[whole:] <= highest), axis=1)
    return good


def rows_of(values: np.ndarray, starts: np.ndarray, size: int) -> np.ndarray:
    """Return the integers of clients of one level, (clients, size), which begin at these places of the flat values."""
    if not len(starts):
        return np.zeros((0, size), dtype=np.int64)
    values = np.ascontiguousarray(values, dtype=np.int64)
    row = np.dtype((np.void, size * values.itemsize))  # copied whole
    rows = np.ndarray(
        len(values) - size + 1, dtype=row, buffer=values, strides=values.strides
    )  # one begins at each place
    return rows[starts].view(np.int64).reshape(-1, size)


def sums_of(values: np.ndarray, starts: np.ndarray, ends: np.ndarray, size: int) -> np.ndarray:
    """Return the sums of the integers of each of some groups of clients of one level, (groups, size).

    starts: where each client's begin in the flat values, group after group.  ends: where each group begins among them, and the
    last one ends, (groups + 1,).
    """
    totals, most = np.zeros((len(ends) - 1, size), dtype=np.int64), max(1, PIECE // size)
    for group, last in enumerate(ends[1:]):
        for first in range(ends[group], last, most):
            rows = rows_of(values, starts[first : min(first + most, last)], size)
            totals[group] += np.einsum("ij->j", rows)  # of short rows `sum` takes four times as long
    return totals


def _unsigned(integers: np.ndarray) -> np.ndarray:
    """The integers, where less than none is more than any."""
    return np.asarray(integers, dtype=np.int64).view(np.uint64)


def by_ranges(counts: np.ndarray) -> np.ndarray:
    """Return counts of x = 0..K-1, (K,), as those of R = min(K, 256) ranges, (R,): x falls into range x R // K."""
    size = min(len(counts), _RANGES)
    return np.add.reduceat(counts, -(-np.arange(size) * len(counts) // size))
