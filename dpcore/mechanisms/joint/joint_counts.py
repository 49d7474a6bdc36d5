"""Joint counts of two mechanisms' reports: products of each client's contributions to both statistics, summed.

If the statistics of one follow from counts of reports by integer, the other's are summed by that integer.  Otherwise each
client's scores are multiplied, a few clients at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from dpcore.mechanisms.base import Mechanism
from dpcore.mechanisms.reports import Reports, sorted_by

_HELD = 1 << 19  # scores that are multiplied at once
_LARGE = 1 << 22  # counts by more outputs than statistics
_EXACT = {np.float32: 1 << 24, np.float64: 1 << 53}  # floats hold the whole numbers up to here


def joint_counts(
    first: Mechanism,
    ours: Reports,
    second: Mechanism,
    theirs: Reports,
    cells: np.ndarray | None = None,
    many: int = 1,
) -> np.ndarray:
    """Return the sums over clients of outer(scores of the second, scores of the first), (many, S_second, S_first), int64.

    ours, theirs: accepted reports of the same n clients.  cells: (n,) in which table each is counted, below `many`.
    """
    if second.counts_outputs or (second.reads_outputs and _fits(first, second, many)):
        return _by_output(first, ours, second, theirs, cells, many)
    if first.counts_outputs or (first.reads_outputs and _fits(second, first, many)):
        return np.ascontiguousarray(_by_output(second, theirs, first, ours, cells, many).swapaxes(1, 2))
    tables = np.zeros((many, len(second.labels().level), len(first.labels().level)), dtype=np.int64)
    for cell, clients in _parts(cells, many, len(ours), sum(tables.shape[1:])):
        right = first.scores(ours.take(clients, first.sizes))
        tables[cell] += _product(second.scores(theirs.take(clients, second.sizes)), right)
    return tables


def _fits(mechanism: Mechanism, other: Mechanism, many: int) -> bool:
    """Whether a table by the other's outputs is small; there may be more outputs than statistics."""
    size = sum(mechanism.outputs) if mechanism.reads_outputs else len(mechanism.labels().level)
    return many * sum(other.outputs) * size <= _LARGE


def _by_output(
    mechanism: Mechanism,
    reports: Reports,
    other: Mechanism,
    other_reports: Reports,
    cells: np.ndarray | None,
    many: int,
) -> np.ndarray:
    """Statistics of reports by cell and by the same clients' report to another mechanism, (many, S_other, S)."""
    groups, outputs = other.places(other_reports), sum(other.outputs)
    if cells is not None:
        groups = cells * outputs + groups
    return other.of_outputs(mechanism.statistics_by(reports, groups, many * outputs).reshape(many, outputs, -1), 1)


def _parts(cells: np.ndarray | None, many: int, n: int, width: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each cell with a few of its clients at a time, whose scores are `width` integers."""
    order, ends = sorted_by(np.zeros(n, dtype=np.int64) if cells is None else cells, many)
    most = max(1, _HELD // width)
    for cell, (start, end) in enumerate(pairwise(ends)):
        for first in range(start, end, most):
            yield cell, order[first : min(first + most, end)]


def _product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """left' right of integers, exact: in floats where every sum is a whole number that they hold."""
    bound = len(left) * _largest(left) * _largest(right)
    for kind, limit in _EXACT.items():
        if bound <= limit:
            return np.asarray(left.T.astype(kind) @ right.astype(kind)).astype(np.int64)
    return np.asarray(left.T.astype(np.int64) @ right.astype(np.int64))


def _largest(scores: np.ndarray) -> int:
    return max(int(scores.max(initial=0)), -int(scores.min(initial=0)))
