"""Sums by label: what an aggregate keeps of each combination of its labels' categories.

A *cell* is such a combination; cells are numbered with the last label's categories in turn fastest.  Tables of cells add as
those of the whole do, and are parts of it: their sums over cells are the aggregate's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dpcore.mechanisms import Mechanism, Reports
from dpcore.protocol import label
from dpcore.protocol.report import Answers
from dpcore.protocol.scheme import Scheme

Pair = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Labelled:
    """Tables by cell, C of them; integers.

    n: (C,) clients whose reports were accepted.  answered: attribute -> (C,) how many reported it.
    statistics: attribute -> (C, S).  pairs: (numeric, categorical) -> (C, k, S).
    """

    n: np.ndarray
    answered: Mapping[str, np.ndarray]
    statistics: Mapping[str, np.ndarray]
    pairs: Mapping[Pair, np.ndarray]

    @classmethod
    def zero(cls, scheme: Scheme) -> Labelled | None:
        """Return the tables of no reports; None where the scheme has no labels."""
        if not scheme.labels:
            return None
        cells = int(np.prod(label.shape(scheme.labels)))
        size = {name: len(attribute.mechanism.labels().level) for name, attribute in scheme.attributes.items()}
        inputs = {other: scheme.attributes[other].mechanism.inputs for _, other in scheme.pairs}
        return cls(
            np.zeros(cells, dtype=np.int64),
            {name: np.zeros(cells, dtype=np.int64) for name in size},
            {name: np.zeros((cells, many), dtype=np.int64) for name, many in size.items()},
            {
                (name, other): np.zeros((cells, inputs[other], size[name]), dtype=np.int64)
                for name, other in scheme.pairs
            },
        )

    @classmethod
    def of(cls, scheme: Scheme, answers: Mapping[str, Answers], clients: np.ndarray) -> Labelled | None:
        """Return the tables of accepted answers, labels among them; clients: their positions, (n,), ascending."""
        zero = cls.zero(scheme)
        if zero is None:
            return None
        cells, many = cells_of(scheme, answers), len(zero.n)
        answered, statistics, pairs = {}, {}, {}
        for name, attribute in scheme.attributes.items():
            own = cells if len(answers[name]) == len(cells) else cells[np.searchsorted(clients, answers[name].clients)]
            answered[name] = np.bincount(own, minlength=many)
            statistics[name] = by_group(attribute.mechanism, answers[name].reports, own, many)
            for numeric, other in scheme.pairs:
                if numeric == name:
                    groups = scheme.attributes[other].mechanism.inputs
                    both = by_group(
                        attribute.mechanism,
                        answers[name].reports,
                        own * groups + answers[other].reports.values,
                        many * groups,
                    )
                    pairs[numeric, other] = both.reshape(many, groups, -1)
        return cls(np.bincount(cells, minlength=many), answered, statistics, pairs)

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
        """Return all of them, in order."""
        return [self.n, *self.answered.values(), *self.statistics.values(), *self.pairs.values()]


def cells_of(scheme: Scheme, answers: Mapping[str, Answers]) -> np.ndarray:
    """Return the cell of each client, (n,), from what it says of every label."""
    columns = [answers[name].reports.values for name in scheme.labels]
    return np.asarray(np.ravel_multi_index(columns, label.shape(scheme.labels)))


def members(scheme: Scheme, name: str, category: str) -> np.ndarray:
    """Return which cells have a category of a label, (C,) bool."""
    shape = label.shape(scheme.labels)
    axis, place = list(scheme.labels).index(name), scheme.labels[name].categories.index(category)
    return np.asarray(np.indices(shape)[axis].ravel() == place)


def by_group(mechanism: Mechanism, reports: Reports, groups: np.ndarray, many: int) -> np.ndarray:
    """Return the statistics of each of `many` groups of reports, (many, S); groups: of each report, (n,), below `many`."""
    outputs = mechanism.outputs if set(mechanism.sizes) == {1} else ()
    size = len(mechanism.labels().level)
    if sum(outputs) == size:  # what was said is counted, level after level
        starts = np.cumsum([0, *outputs[:-1]])
        place = reports.values if len(outputs) == 1 else reports.values + starts[reports.level]
        return np.bincount(groups * size + place, minlength=many * size).reshape(many, size)
    order = np.argsort(groups, kind="stable")
    ends = np.searchsorted(groups[order], np.arange(many + 1))
    tables = np.zeros((many, size), dtype=np.int64)
    for group in np.flatnonzero(np.diff(ends)):
        tables[group] = mechanism.statistics(reports.take(order[ends[group] : ends[group + 1]], mechanism.sizes))
    return tables
