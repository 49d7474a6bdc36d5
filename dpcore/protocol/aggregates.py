"""Aggregates: integer sufficient statistics, a commutative monoid.

zero, add and merge are exact integer sums, so any split into shards, any order and any tree of merges gives the same bits.
A table belongs to one attribute, or to a declared pair: the joint statistics of two attributes, reported by the same
clients (`pairs`).  Reports that no client could have sent are rejected here and counted by reason, even if a collector has
validated them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dpcore.errors import SchemeError, SchemeMismatch
from dpcore.mechanisms import Reports
from dpcore.protocol import tokens
from dpcore.protocol.domain import pairs
from dpcore.protocol.domain.pairs import Pair
from dpcore.protocol.label_sums import Labelled
from dpcore.protocol.report import Answers, ReportBatch
from dpcore.protocol.scheme import Scheme


@dataclass(frozen=True, eq=False)
class Aggregate:
    """The sums of any number of reports.

    n: clients whose reports were accepted.
    statistics: attribute -> (S,) int64, as the mechanism's `labels` name them.
    pairs: (a, b) -> (S_b, S_a) int64, the sum over clients of the outer product of their contributions to b and a.
    answered: attribute -> number of clients that reported it (n, unless `reporting = "one"`).
    rejected: reason -> number of rejected reports; examples: reason -> position of the first of them.
    labelled: the same sums by label; None if the scheme has no labels.
    marginals: attribute -> sums for checks of the reports, which do not depend on the answers (`Mechanism.marginals`); empty
    in a simulated aggregate, which has no reports.
    """

    scheme: Scheme
    n: int
    statistics: Mapping[str, np.ndarray]
    pairs: Mapping[Pair, np.ndarray]
    answered: Mapping[str, int]
    rejected: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, int] = field(default_factory=dict)
    marginals: Mapping[str, np.ndarray] = field(default_factory=dict)
    labelled: Labelled | None = None

    @classmethod
    def zero(cls, scheme: Scheme) -> Aggregate:
        """Return the aggregate of no reports."""
        size = {name: len(attribute.mechanism.labels().level) for name, attribute in scheme.attributes.items()}
        return cls(
            scheme,
            0,
            {name: np.zeros(size[name], dtype=np.int64) for name in scheme.attributes},
            {pair: pairs.zero(pair, scheme.attributes) for pair in scheme.pairs},
            dict.fromkeys(scheme.attributes, 0),
            labelled=Labelled.zero(scheme),
        )

    @classmethod
    def of(cls, scheme: Scheme, batch: ReportBatch, first: int = 0) -> Aggregate:
        """Return the aggregate of a batch's reports.

        first: the position of the batch's first report in a larger set.
        A report that no client could have sent is rejected as a whole and counted by reason.  Raises SchemeMismatch if the
        batch belongs to another scheme.
        """
        _same(scheme.digest, batch.digest)
        good, reasons, examples = _validate(scheme, batch)
        answers = {name: batch.of(name) for name in scheme.reported}
        if not good.all():
            answers = {name: _keep(scheme, name, column, good) for name, column in answers.items()}
        held, marginals = Labelled.from_answers(scheme, answers, good)
        return cls(
            scheme,
            int(np.count_nonzero(good)),
            {name: _whole(table) for name, table in held.statistics.items()},
            {pair: _whole(table) for pair, table in held.pairs.items()},
            {name: len(answers[name]) for name in scheme.attributes},
            {reason: reasons[reason] for reason in sorted(reasons)},
            {reason: first + examples[reason] for reason in sorted(examples)},
            {name: marginals[name] for name in sorted(marginals) if len(marginals[name]) and len(answers[name])},
            held if scheme.labels else None,
        )

    def __repr__(self) -> str:
        return f"<Aggregate of {self.n} clients under {self.scheme.name} {self.scheme.digest[:12]}>"

    @property
    def is_empty(self) -> bool:
        """Whether it has no reports."""
        return self.n == 0

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the scheme and of every integer; equal for two aggregates of the same reports."""
        digest = hashlib.sha256(self.scheme.digest.encode())
        for _, table in [*sorted(self.statistics.items()), *sorted(self.pairs.items())]:
            digest.update(np.ascontiguousarray(table, dtype="<i8").tobytes())
        if self.labelled is not None:
            for table in self.labelled.tables():
                digest.update(np.ascontiguousarray(table, dtype="<i8").tobytes())
        return digest.hexdigest()

    def reports(self, attribute: str) -> int:
        """Return how many clients reported the attribute."""
        return self.answered[attribute]

    def add(self, batch: ReportBatch, first: int = 0) -> Aggregate:
        """Return this aggregate with a batch's reports added, as `of` counts them."""
        return self.merge(Aggregate.of(self.scheme, batch, first))

    def merge(self, other: Aggregate) -> Aggregate:
        """Return the aggregate of both sets of reports; raises SchemeMismatch if the schemes differ."""
        _same(self.scheme.digest, other.scheme.digest)
        examples = {**other.examples, **self.examples}
        return Aggregate(
            self.scheme,
            self.n + other.n,
            {name: table + other.statistics[name] for name, table in self.statistics.items()},
            {pair: table + other.pairs[pair] for pair, table in self.pairs.items()},
            {name: count + other.answered[name] for name, count in self.answered.items()},
            _sum_counts(self.rejected, other.rejected),
            {reason: examples[reason] for reason in sorted(examples)},
            _sum_tables(self.marginals, other.marginals),
            None if self.labelled is None or other.labelled is None else self.labelled.merge(other.labelled),
        )

    def within(self, cells: np.ndarray) -> Aggregate:
        """Return the aggregate of the clients in a group of label cells; cells: (C,) bool.

        It has no rejected reports, which have no label, and no marginals, which are not stored by label.
        """
        held = self.labelled
        if held is None:
            raise SchemeError("the scheme has no labels; write a new scheme with a table [labels.NAME]")
        return Aggregate(
            self.scheme,
            int(held.n[cells].sum()),
            {name: table[cells].sum(axis=0) for name, table in held.statistics.items()},
            {pair: table[cells].sum(axis=0) for pair, table in held.pairs.items()},
            {name: int(counts[cells].sum()) for name, counts in held.answered.items()},
        )

    def equals(self, other: Aggregate) -> bool:
        """Return whether the two hold the same bits."""
        return (
            self.scheme.digest == other.scheme.digest
            and self.n == other.n
            and dict(self.answered) == dict(other.answered)
            and dict(self.rejected) == dict(other.rejected)
            and all(np.array_equal(table, other.statistics[name]) for name, table in self.statistics.items())
            and all(np.array_equal(table, other.pairs[pair]) for pair, table in self.pairs.items())
            and (self.labelled is None or other.labelled is None or self.labelled.equals(other.labelled))
            and (self.labelled is None) == (other.labelled is None)
            and self.marginals.keys() == other.marginals.keys()
            and all(np.array_equal(table, other.marginals[name]) for name, table in self.marginals.items())
        )


def statistic_rows(
    scheme: Scheme, name: str, group: str, statistics: np.ndarray
) -> list[tuple[str, str, str, int, int, int]]:
    """Return (attribute, given, statistic, level, cell, value) for each of an attribute's statistics."""
    labels = scheme.attributes[name].mechanism.labels()
    return [
        (name, group, str(statistic), int(level), int(cell), int(value))
        for statistic, level, cell, value in zip(labels.statistic, labels.level, labels.cell, statistics, strict=True)
    ]


def _whole(tables: np.ndarray) -> np.ndarray:
    """The sum of tables over cells; a single table is not copied."""
    return np.asarray(tables[0] if len(tables) == 1 else tables.sum(axis=0))


def accepted(scheme: Scheme, batch: ReportBatch) -> np.ndarray:
    """Return which clients' reports an aggregate accepts, shape (n,), bool."""
    return _validate(scheme, batch)[0]


def _validate(scheme: Scheme, batch: ReportBatch) -> tuple[np.ndarray, dict[str, int], dict[str, int]]:
    """Which reports a client could have sent, (n,) bool; of the others, the number and the first position by reason."""
    good = np.ones(batch.n, dtype=bool)
    reasons: dict[str, int] = {}
    examples: dict[str, int] = {}

    def refuse(reason: str, clients: np.ndarray) -> None:
        refused = clients[good[clients]]  # a client is counted once, under its first fault
        if refused.size:
            reasons[reason], examples[reason] = int(refused.size), int(refused[0])
            good[refused] = False

    refuse("incomplete", _incomplete(scheme, batch))
    public = _public_levels(scheme, batch)
    for name, attribute in scheme.attributes.items():
        column = batch.of(name)
        if public is not None:
            levels = np.full(batch.n, tokens.NOT_ASKED, dtype=np.int16)
            levels[column.clients] = column.reports.level
            refuse(
                f"{name}: not for its token",
                np.flatnonzero((public[name] != tokens.NO_TOKEN) & (public[name] != levels)),
            )
        refuse(f"{name}: out of range", _without(column, attribute.mechanism.accepts(column.reports)))
        is_likely = attribute.mechanism.is_likely(column.reports, scheme.clients)
        refuse(f"{name}: beyond honest noise", _without(column, is_likely))
    for name, label in scheme.labels.items():
        refuse(f"{name}: out of range", _without(batch.of(name), label.mechanism.accepts(batch.of(name).reports)))
    return good, reasons, examples


def _without(column: Answers, good: np.ndarray) -> np.ndarray:
    """The clients whose answers are not among the good ones."""
    return column.clients[:0] if good.all() else column.clients[~good]


def _public_levels(scheme: Scheme, batch: ReportBatch) -> dict[str, np.ndarray] | None:
    """The level that the public hash of each token assigns (`tokens.levels_said`).

    None if tokens assign nothing: the batch has no tokens, or every client answers every attribute at its only level.
    """
    is_free = scheme.reporting == "one" or any(
        len(attribute.mechanism.sizes) > 1 for attribute in scheme.attributes.values()
    )
    if batch.tokens is None or not is_free:
        return None
    return tokens.levels_said(scheme, batch.tokens, np.flatnonzero(tokens.are_there(batch.tokens)))


def _incomplete(scheme: Scheme, batch: ReportBatch) -> np.ndarray:
    """The clients with missing or additional answers: expected are every label, and every unit or exactly one, complete."""
    if scheme.reporting == "all" and all(len(batch.of(name)) == batch.n for name in scheme.reported):
        return np.zeros(0, dtype=np.int64)
    whole, begun = np.zeros(batch.n, dtype=np.int64), np.zeros(batch.n, dtype=np.int64)
    for unit in scheme.units:
        answered = np.zeros(batch.n, dtype=np.int64)
        for name in unit:
            answered[batch.of(name).clients] += 1
        whole += answered == len(unit)
        begun += answered > 0
    wanted = len(scheme.units) if scheme.reporting == "all" else 1
    labels = np.zeros(batch.n, dtype=np.int64)
    for name in scheme.labels:
        labels[batch.of(name).clients] += 1
    return np.flatnonzero((whole != wanted) | (begun != wanted) | (labels != len(scheme.labels)))


def _keep(scheme: Scheme, name: str, column: Answers, good: np.ndarray) -> Answers:
    """The answers of the accepted clients."""
    mask = good[column.clients]
    return column if mask.all() else Answers(column.clients[mask], _select(scheme, name, column.reports, mask))


def _select(scheme: Scheme, name: str, reports: Reports, mask: np.ndarray) -> Reports:
    if not mask.any():  # possibly because the reports' integers cannot be split by report
        return Reports(reports.level[:0], reports.values[:0])
    sizes = np.array([*scheme.reported[name].mechanism.sizes, 0])  # an unknown level has no integers
    lengths = sizes[np.minimum(reports.level, len(sizes) - 1)]
    return Reports(reports.level[mask], reports.values[np.repeat(mask, lengths)])


def _sum_counts(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    return {reason: left.get(reason, 0) + right.get(reason, 0) for reason in sorted({*left, *right})}


def _sum_tables(left: Mapping[str, np.ndarray], right: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Entrywise sums; a table that only one of the two has is taken as it is."""
    names = sorted({*left, *right})
    return {
        name: left[name] + right[name] if name in left and name in right else {**left, **right}[name] for name in names
    }


def _same(digest: str, other: str) -> None:
    if digest != other:
        raise SchemeMismatch(
            f"reports: made under scheme {other[:12]}, expected {digest[:12]}; aggregate the reports of each scheme separately"
        )
