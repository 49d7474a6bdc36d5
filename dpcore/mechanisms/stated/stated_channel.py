"""Stated: a finite channel of another system, declared in the scheme by rows of weights; its reports come from elsewhere.

Clients of ours never use it.  `declarations` has the named channels and the keys of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf, lcm
from typing import Any, Self

import numpy as np

from dpcore._random import LARGEST, Source
from dpcore.errors import SchemeError
from dpcore.mechanisms.base import Certificate, Labels, Mechanism
from dpcore.mechanisms.declaration import integers, mechanism
from dpcore.mechanisms.observation_model import FiniteChannel, Listed, ScoreSums
from dpcore.mechanisms.reports import Reports
from dpcore.privacy.budget import INFINITE, Budget

MIXED = Fraction(1, 100)  # of answers, drawn uniformly: the nearest design that is named where a channel keeps nothing
_MOST = 1 << 20  # weights

Rows = Sequence[Sequence[int]]
WORDS = "what others' devices say: one of few outputs, each with a known probability given the value"


def budget_of_ratio(ratio: Fraction | float) -> Budget:
    """Return the epsilon of a largest ratio; raises SchemeError if reports are uninformative."""
    if ratio == 1:
        raise SchemeError(
            "reports have the same distribution for every value, so they are uninformative; make it differ for two values"
        )
    return INFINITE if isinstance(ratio, float) else Budget(ratio=ratio)


def largest(table: np.ndarray, mixed: Fraction = Fraction(0)) -> Fraction | float:
    """Return the largest ratio of two probabilities of one output, infinite if one of them is 0.

    table: (inputs, outputs) Python integers.  mixed: the share of reports drawn uniformly from the outputs instead.
    """
    totals = table.sum(axis=1)
    total = lcm(*totals)
    scaled = table * np.array([total // row_total for row_total in totals], dtype=object)[:, None]
    lift = mixed / (1 - mixed) * total / table.shape[1]
    extremes = set(zip(scaled.max(axis=0), scaled.min(axis=0), strict=True))
    return max((most + lift) / (least + lift) if least + lift else inf for most, least in extremes)


def check_rows(rows: Rows, names: Sequence[str]) -> None:
    """Raise SchemeError unless these are the weights of a channel, and the names of its outputs."""
    sizes = {len(row) for row in rows}
    many = max(sizes)
    if len(sizes) != 1 or len(rows) < 2 or many < 2 or len(rows) * many > _MOST:
        raise SchemeError(
            "channel must have a row of weights for each value, all of one length, two or more of either and at most "
            f"{_MOST:,} weights; got {len(rows)} rows of {', '.join(map(str, sorted(sizes)))}"
        )
    for place, row in enumerate(rows):
        if min(row) < 0 or not 1 <= sum(row) <= LARGEST:
            raise SchemeError(
                f"channel[{place}] must be weights of at least 0 whose total is 1 to 2^62, got {sum(row)}"
            )
    unsaid = [place for place, column in enumerate(zip(*rows, strict=True)) if not any(column)]
    if unsaid:
        raise SchemeError(f"output {unsaid[0]} of the channel has weight 0 for every value; leave it out")
    if names and (len(names) != many or len(set(names)) != many or "" in names):
        raise SchemeError(f"names must be {many}, one for each output, and differ; got {len(names)}")


@mechanism("stated", attributes={"categorical", "numeric"}, estimators=(), words=WORDS, is_asked=False)
@dataclass(frozen=True)
class Stated(Mechanism):
    """Report output z of input x for weights[x][z] of T_x equally likely draws, T_x the total of the row.

    weights: (inputs, outputs) integers from 0 on, 2^20 at most, the total of a row 1..2^62.  names: what files call the
    outputs, () where they are numbered.  of_categories: whether inputs are categories.  If the channel distinguishes all
    pairs equally (`supports_of`), statistics count the reports that support each, as in our oracles; else they count outputs.

    Privacy.  Claim: Pr(z | x) <= e^epsilon Pr(z | x') for all x, x', z.
        1. Nothing is designed: rows are brought to one total, and each output's largest and least weight are listed.
        2. The largest of their ratios is the certified loss, an exact fraction, or infinite where a least weight is 0.
        3. The constructor refuses it above E, a rational lower bound of e^epsilon; an infinite one where epsilon is a number.

    Raises CalibrationError where the weights break the claim, SchemeError for what is no channel.
    """

    budget: Budget
    weights: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]
    of_categories: bool

    def __post_init__(self) -> None:
        check_rows(self.weights, self.names)
        self.check_certificate()

    @classmethod
    def from_rows(cls, budget: Budget | None, rows: Rows, names: Sequence[str], of_categories: bool) -> Self:
        """Return the channel with these weights; budget: the promised one, by default the certified one."""
        check_rows(rows, names)
        ratio = largest(np.array(rows, dtype=object))
        return cls(
            budget_of_ratio(ratio) if budget is None else budget, tuple(map(tuple, rows)), tuple(names), of_categories
        )

    @classmethod
    def _read(cls, budget: Budget, parameters: Mapping[str, Any]) -> Self:
        rows, names, of_categories = (parameters[key] for key in ("weights", "names", "of_categories"))
        if not all(isinstance(name, str) for name in names) or not isinstance(of_categories, bool):
            raise TypeError(
                "names must be a list of texts, one for each output, and of_categories must be true or false"
            )
        return cls(budget, tuple(map(integers, rows)), tuple(names), of_categories)

    @cached_property
    def _table(self) -> np.ndarray:
        return np.array(self.weights, dtype=np.int64)

    @property
    def inputs(self) -> int:
        return len(self.weights)

    def ranges(self, level: int) -> tuple[np.ndarray, np.ndarray]:
        return np.array([0]), np.array([self._table.shape[1] - 1])

    def certificate(self) -> Certificate:
        return Certificate("ratio", self._largest_ratio, self.budget)

    @cached_property
    def _largest_ratio(self) -> Fraction | float:
        return largest(self._table.astype(object))

    @property
    def nearest(self) -> Budget:
        """The epsilon if 1 in 100 reports were drawn uniformly from all outputs instead."""
        return budget_of_ratio(largest(self._table.astype(object), MIXED))

    def channel(self) -> tuple[np.ndarray, ...]:
        return (self._table,)

    def privatize(self, values: np.ndarray, random: Source, levels: np.ndarray | None = None) -> Reports:
        values = self.input_cells(values)
        outputs = np.empty(len(values), dtype=np.int64)
        for cell in np.unique(values):
            at, ends = np.flatnonzero(values == cell), np.cumsum(self._table[cell])
            outputs[at] = np.searchsorted(ends, random.below(int(ends[-1]), len(at)), side="right")
        return Reports(np.zeros(len(values), dtype=np.uint8), outputs)

    def simulate(self, counts: np.ndarray, random: Source) -> np.ndarray:
        law = self._table / self._table.sum(axis=1, keepdims=True)
        return self.of_outputs(random.generator().multinomial(np.asarray(counts), law).sum(axis=0), 0)

    @cached_property
    def _supports(self) -> Supports | None:
        return supports_of(self._table) if self.of_categories else None

    @property
    def reads_outputs(self) -> bool:
        return True

    def of_outputs(self, counts: np.ndarray, axis: int) -> np.ndarray:
        if self._supports is None:
            return counts
        return np.moveaxis(np.tensordot(self._supports.table, counts, (1, axis)), 0, axis)

    @cached_property
    def counts_outputs(self) -> bool:
        return self._supports is None or np.array_equal(self._supports.table, np.eye(self.inputs))

    def statistics(self, reports: Reports) -> np.ndarray:
        return self.of_outputs(np.bincount(reports.values, minlength=self._table.shape[1]).astype(np.int64), 0)

    def statistics_by(self, reports: Reports, groups: np.ndarray, many: int) -> np.ndarray:
        return self.of_outputs(self._outputs_by(reports, groups, many), 1)

    def scores(self, reports: Reports) -> np.ndarray:
        return self.of_outputs(np.eye(self._table.shape[1], dtype=np.int64)[reports.values], 1)

    def furthest(self, weights: np.ndarray, clients: int) -> Reports:
        worth = weights if self._supports is None else weights @ self._supports.table
        return Reports(np.zeros(1, dtype=np.uint8), np.array([np.argmax(worth)]))

    def labels(self) -> Labels:
        size = self._table.shape[1] if self._supports is None else self.inputs
        return Labels(np.full(size, "count"), np.zeros(size, dtype=np.int64), np.arange(size))

    def model(self) -> FiniteChannel | ScoreSums:
        return FiniteChannel((Listed(self._table),), np.ones(1)) if self._supports is None else self._supports.model


@dataclass(frozen=True, eq=False)
class Supports:
    """table: (k, outputs) 0 or 1, whether an output supports a category.  model: the distribution of the sums of supports."""

    table: np.ndarray
    model: ScoreSums


def supports_of(weights: np.ndarray) -> Supports | None:
    """Return the supports of a channel (k, outputs) in which all categories have as many, and all pairs share as many.

    None of any other.  What three categories share is their average, as in `LocalHashing.model`.

    >>> supports_of(np.array([[3, 1, 1], [1, 3, 1], [1, 1, 3]])).model.contrast
    Fraction(2, 5)
    """
    k, outputs = weights.shape
    low, high = int(weights.min()), int(weights.max())
    table = (weights == high).astype(np.int64)
    if low == high or np.any(weights[table == 0] != low):
        return None
    shared = table @ table.T
    apart = shared[~np.eye(k, dtype=bool)]
    if np.ptp(np.diagonal(shared)) or np.ptp(apart):
        return None
    own, both = int(shared[0, 0]), int(apart[0])
    supported = table.sum(axis=0)
    triples = int((supported * (supported - 1) * (supported - 2)).sum())
    three = Fraction(triples, k * (k - 1) * (k - 2)) if k > 2 else Fraction(0)
    total = own * high + (outputs - own) * low
    p, q = Fraction(own * high, total), Fraction(both * high + (own - both) * low, total)
    return Supports(
        table, ScoreSums(k, p, q, p, q, Fraction(both * high, total), (both * low + three * (high - low)) / total)
    )
