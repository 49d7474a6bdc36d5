"""Sums by label and by pair: the statistics of each combination of the labels' categories, and joint counts of pairs.

A *cell* is such a combination; in the order of cells the last label varies fastest.  The tables of two aggregates are added
cell by cell, and their sums over cells are the statistics of the whole aggregate.

Joint counts of two mechanisms' reports are products of each client's contributions to both statistics, summed.  If the
statistics of one follow from counts of reports by integer, the other's are summed by that integer.  Otherwise each client's
scores are multiplied, a few clients at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dpcore.errors import SchemeMismatch
from dpcore.mechanisms.base import Mechanism
from dpcore.mechanisms.reports import Reports, sorted_by
from dpcore.protocol.domain import label
from dpcore.protocol.domain.pairs import Pair
from dpcore.protocol.report import Answers
from dpcore.protocol.scheme import Scheme

_HELD = 1 << 19  # scores that are multiplied at once
_LARGE = 1 << 22  # counts by more outputs than statistics
_EXACT = {np.float32: 1 << 24, np.float64: 1 << 53}  # floats hold the whole numbers up to here


@dataclass(frozen=True, eq=False)
class Labelled:
    """Tables by cell, C of them; integers.

    n: (C,) clients whose reports were accepted.  answered: attribute -> (C,) number of clients that reported it.
    statistics: attribute -> (C, S).  pairs: (a, b) -> (C, S_b, S_a).
    """

    n: np.ndarray
    answered: Mapping[str, np.ndarray]
    statistics: Mapping[str, np.ndarray]
    pairs: Mapping[Pair, np.ndarray]

    @classmethod
    def zero(cls, scheme: Scheme) -> Labelled | None:
        """Return the tables of no reports; None if the scheme has no labels."""
        if not scheme.labels:
            return None
        cells = _many(scheme)
        size = {name: len(attribute.mechanism.labels().level) for name, attribute in scheme.attributes.items()}
        return cls(
            np.zeros(cells, dtype=np.int64),
            {name: np.zeros(cells, dtype=np.int64) for name in size},
            {name: np.zeros((cells, many), dtype=np.int64) for name, many in size.items()},
            {pair: np.zeros((cells, size[pair[1]], size[pair[0]]), dtype=np.int64) for pair in scheme.pairs},
        )

    @classmethod
    def from_answers(
        cls, scheme: Scheme, answers: Mapping[str, Answers], good: np.ndarray
    ) -> tuple[Labelled, Mapping[str, np.ndarray]]:
        """Return the tables of accepted answers (one cell if the scheme has no labels), and each attribute's marginals.

        good: (n,) bool, which clients' reports were accepted.
        """
        cells, many = (cells_of(scheme, answers), _many(scheme)) if scheme.labels else (None, 1)
        n = np.array([np.count_nonzero(good)]) if cells is None else np.bincount(cells, minlength=many)
        asked, owns, answered = scheme.attributes, {}, {}
        for name in asked:
            owns[name], answered[name] = cells, n
            if len(answers[name]) < len(good):  # some clients did not answer it
                own = None if cells is None else cells[np.searchsorted(np.flatnonzero(good), answers[name].clients)]
                count = np.array([len(answers[name])]) if own is None else np.bincount(own, minlength=many)
                owns[name], answered[name] = own, count
        tables = {pair: _joint(scheme, answers, pair, owns[pair[0]], many) for pair in scheme.pairs}
        statistics, marginals = _margins(scheme, tables), {}
        for name, attribute in asked.items():
            own, mechanism, reports = owns[name], attribute.mechanism, answers[name].reports
            if own is None and name not in statistics:
                whole, marginals[name] = mechanism.tally(reports)
                statistics[name] = whole[None]
                continue
            marginals[name] = mechanism.marginals(reports)
            if own is not None and name not in statistics:
                statistics[name] = mechanism.statistics_by(reports, own, many)
        return cls(n, answered, {name: statistics[name] for name in asked}, tables), marginals

    def merge(self, other: Labelled) -> Labelled:
        """Return the tables of both sets of reports."""
        return Labelled(
            self.n + other.n,
            {name: table + other.answered[name] for name, table in self.answered.items()},
            {name: table + other.statistics[name] for name, table in self.statistics.items()},
            {pair: table + other.pairs[pair] for pair, table in self.pairs.items()},
        )

    def equals(self, other: Labelled) -> bool:
        """Return whether the two hold the same bits."""
        return all(
            np.array_equal(left, right) for left, right in zip(self.tables(), other.tables(), strict=True)
        )  # of one scheme, whose tables are the same

    def tables(self) -> list[np.ndarray]:
        """Return all tables, in a fixed order."""
        return [self.n, *self.answered.values(), *self.statistics.values(), *self.pairs.values()]


def cells_of(scheme: Scheme, answers: Mapping[str, Answers]) -> np.ndarray:
    """Return the cell of each client, (n,), from its categories of all labels."""
    (first, _), *others = zip(scheme.labels, label.shape(scheme.labels), strict=True)
    cells = answers[first].reports.values
    for name, size in others:
        cells = cells * size + answers[name].reports.values
    return cells


def _many(scheme: Scheme) -> int:
    return math.prod(label.shape(scheme.labels))


def members(scheme: Scheme, name: str, category: str) -> np.ndarray:
    """Return which cells belong to a category of a label, (C,) bool."""
    shape = label.shape(scheme.labels)
    axis, place = list(scheme.labels).index(name), scheme.labels[name].categories.index(category)
    return np.asarray(np.indices(shape)[axis].ravel() == place)


def _joint(
    scheme: Scheme, answers: Mapping[str, Answers], pair: Pair, cells: np.ndarray | None, many: int
) -> np.ndarray:
    """The tables of a pair, (many, S_b, S_a); both attributes are answered by the same clients."""
    (first, second), (ours, theirs) = (scheme.attributes[name] for name in pair), (answers[name] for name in pair)
    if not np.array_equal(ours.clients, theirs.clients):
        raise SchemeMismatch(
            f"pair {pair[0]}, {pair[1]}: both attributes must be answered by the same clients; drop the incomplete reports"
        )
    return joint_counts(first.mechanism, ours.reports, second.mechanism, theirs.reports, cells, many)


def _margins(scheme: Scheme, tables: Mapping[Pair, np.ndarray]) -> dict[str, np.ndarray]:
    """The statistics of attributes that follow from a pair's table: every report of the other attribute counts once in it."""
    totals = {}
    for (first, second), table in tables.items():
        if scheme.attributes[second].mechanism.counts_outputs:
            totals[first] = table.sum(axis=1)
        if scheme.attributes[first].mechanism.counts_outputs:
            totals[second] = table.sum(axis=2)
    return totals


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
