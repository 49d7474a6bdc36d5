"""The mechanism interface: a local randomizer, client half and aggregator half in one file.

The client half turns the cell of a value into a few integers; the aggregator half turns those integers into integer
sufficient statistics, with a model of their distribution given the values.  Both halves read the same parameters, so no
formula is derived twice.

Rules.  (1) The client half computes with integers only and draws from a `Source`.  (2) `certificate` is computed from
the very integers that clients use.  (3) Statistics add: those of two disjoint sets of clients sum to those of both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any, ClassVar, Self

import numpy as np

from dpcore._random import WORD, Source
from dpcore.errors import CalibrationError, InvalidRecord, SchemeError
from dpcore.mechanisms.declaration import Declaration
from dpcore.mechanisms.observation_model import ObservationModel
from dpcore.mechanisms.report_sums import in_ranges
from dpcore.mechanisms.reports import Reports, chunks, sorted_by
from dpcore.privacy.budget import Budget


@dataclass(frozen=True)
class Certificate:
    """The certified privacy loss of a mechanism, exact.

    kind 'ratio': `kept` is the largest ratio of two probabilities of one report, at most e^epsilon (finite channels); infinite
    for a stated channel with an output of probability 0 for one value and not for another.
    kind 'loss': `kept` is the largest privacy loss in natural-log units, at most epsilon (additive noise), and `sensitivity`
    the integer l1 sensitivity of each level.  delta: with Gaussian noise the loss is at most `kept` except with that
    probability, as in (epsilon, delta)-privacy, and `sensitivity` is the squared l2 one.
    """

    kind: str
    kept: Fraction | float
    budget: Budget
    sensitivity: tuple[int, ...] = ()
    delta: Fraction = Fraction(0)

    @property
    def holds(self) -> bool:
        """Whether the certified loss is within the promised one; exact."""
        if self.kept == inf:
            return not self.budget.is_finite
        return self.kept <= (self.budget.ratio_floor if self.kind == "ratio" else self.budget.floor)

    @property
    def text(self) -> str:
        """One line for tables: the certified loss, as a fraction and as a decimal."""
        sign = "e^epsilon" if self.kind == "ratio" else "epsilon"
        text = f"{self.kind} {float(self.kept):.9g} ({self.kept}) <= {sign}, epsilon = {self.budget.text}"
        return text if self.delta == 0 else f"{text}, delta = {float(self.delta):g}"


@dataclass(frozen=True, eq=False)
class Labels:
    """What each entry of a mechanism's statistics is, for tables: arrays of shape (S,)."""

    statistic: np.ndarray  # 'reports' (how many reports of that level), 'count' or 'sum'
    level: np.ndarray
    cell: np.ndarray


_WEIGHT_BITS = 16  # W_out = 2^16 keeps the rounding of e^epsilon below 2^-16


def integer_weights(budget: Budget, inside: int, outside: int) -> tuple[int, int]:
    """Return (W_in, W_out), W_in = floor(W_out E), E <= e^epsilon, with inside W_in + outside W_out <= 2^32.

    inside, outside: how many outcomes have either weight.  W_out is 2^16; more where epsilon is too small for 16 bits to tell
    the weights apart, fewer where 2^32 would not hold the total.  Raises SchemeError where no such weights differ.
    """
    for bits in (*range(_WEIGHT_BITS, 32), *range(_WEIGHT_BITS - 1, -1, -1)):
        weight_out = 1 << bits
        weight_in = int(weight_out * budget.ratio_floor)  # rounds down: the ratio stays within e^epsilon
        if weight_in > weight_out and inside * weight_in + outside * weight_out <= WORD:
            return weight_in, weight_out
    raise SchemeError(
        f"epsilon = {budget.text} does not fit 32-bit weights over {inside + outside} outcomes; it must lie between about "
        "2^-30 times their number and 22"
    )


class Mechanism(ABC):
    """A local randomizer on the input cells 0..inputs-1.

    Each mechanism defines seven members.  The defaults of the others suit reports of one integer, from 0 on, whose statistics
    count the reported integers, level after level.  Mechanisms with other reports or with a faster way override them.

    Subclasses are frozen dataclasses whose constructor checks that the certificate holds and raises CalibrationError
    where it does not.  `name` is what schemes call the mechanism, `declared` what others know of it.
    """

    name: ClassVar[str]  # both are given by `declaration.mechanism`
    declared: ClassVar[Declaration]
    is_ascending: ClassVar[bool] = False  # whether the integers of a report must grow
    budget: Budget

    @property
    @abstractmethod
    def inputs(self) -> int:
        """How many input cells there are; a client's value is first mapped to one of them."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of integers in a report of each level."""
        return (1,)

    @property
    def outputs(self) -> tuple[int, ...]:
        """How many reports of each level there are, where a report is one integer, from 0 on."""
        return tuple(int(self.ranges(level)[1][0]) + 1 for level in range(len(self.sizes)))

    @property
    def delta(self) -> Fraction:
        """The probability with which a loss may exceed the budget; 0 unless noise is Gaussian."""
        return Fraction(0)

    @property
    def tables(self) -> tuple[np.ndarray, ...]:
        """The integers that clients look up by cell, (inputs, K_b) each; none without a table."""
        return ()

    @abstractmethod
    def ranges(self, level: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and the highest each integer of a report of that level may be, two (sizes[level],) of int64."""

    @abstractmethod
    def certificate(self) -> Certificate:
        """Return the certified loss, by enumeration of the integers that clients use."""

    @abstractmethod
    def privatize(self, values: np.ndarray, random: Source, levels: np.ndarray | None = None) -> Reports:
        """Return one report per client; `values` are input cells, shape (n,), each in [0, inputs).

        levels: (n,) the clients' public levels if they are fixed for life (a hash of a token); drawn if None.
        """

    def input_cells(self, values: np.ndarray) -> np.ndarray:
        """Return the values as int64, not to be written to; raises InvalidRecord unless each is an integer in [0, inputs)."""
        values = np.asarray(values)
        if values.dtype.kind not in "iu" or (values.size and (values.min() < 0 or values.max() >= self.inputs)):
            raise InvalidRecord(f"input cells must be integers in 0..{self.inputs - 1}; map values to cells first")
        return np.require(values, np.int64, ["C", "W"])  # a loop is compiled for arrays of one kind

    def draw_levels(self, n: int, random: Source) -> np.ndarray:
        """Return n public levels drawn from the mechanism's distribution, independent of any value, shape (n,), uint8."""
        return np.zeros(n, dtype=np.uint8)

    def public_levels(self, n: int, random: Source, levels: np.ndarray | None) -> np.ndarray:
        """Return n clients' public levels, (n,) uint8: drawn if None are passed; raises SchemeError for an invalid one."""
        if levels is None:
            return self.draw_levels(n, random)
        levels = np.asarray(levels)
        if levels.shape != (n,) or (n and (levels.min() < 0 or levels.max() >= len(self.sizes))):
            raise SchemeError(f"levels must be one per client, each in 0..{len(self.sizes) - 1}")
        return levels.astype(np.uint8)

    def states(self, values: np.ndarray, level: int) -> np.ndarray:
        """Return all of each input cell that a report of that level depends on, shape (n,), int64: the cell, if not less."""
        return self.input_cells(values)

    @abstractmethod
    def simulate(self, counts: np.ndarray, random: Source) -> np.ndarray:
        """Return statistics drawn from the exact distribution of `statistics(privatize(...))`.

        counts: (inputs,) integers, the number of clients in each input cell.
        """

    def accepts(self, reports: Reports) -> np.ndarray:
        """Return which reports a client could have sent, shape (n,), bool."""
        return in_ranges(reports, [self.ranges(level) for level in range(len(self.sizes))])

    def is_likely(self, reports: Reports, clients: int) -> np.ndarray:
        """Return which accepted reports so many honest clients might send, shape (n,), bool; all of a finite channel's.

        Where noise has no end, the chance that any of them sends another is about a hundredth.
        """
        return np.ones(len(reports), dtype=bool)

    def furthest(self, weights: np.ndarray, clients: int) -> Reports:
        """Return, for each level, the report whose statistics add most to `weights @ statistics`: L reports, in order.

        weights: (S,).  clients: as in `is_likely`, whose reports alone are looked at.
        """
        parts = np.split(np.asarray(weights), np.cumsum(self.outputs)[:-1])
        return Reports(np.arange(len(parts), dtype=np.uint8), np.array([np.argmax(part) for part in parts]))

    @abstractmethod
    def statistics(self, reports: Reports) -> np.ndarray:
        """Return the integer sufficient statistics of the reports, shape (S,), int64."""

    @cached_property
    def counts_outputs(self) -> bool:
        """Whether a report is one integer, from 0 on, and the statistics are the counts of the integers, level after level."""
        return set(self.sizes) == {1} and sum(self.outputs) == len(self.labels().level)

    @property
    def reads_outputs(self) -> bool:
        """Whether a report is one integer, from 0 on, and the statistics follow from their counts (`of_outputs`)."""
        return self.counts_outputs

    def of_outputs(self, counts: np.ndarray, axis: int) -> np.ndarray:
        """Return the statistics from the counts of each integer, level after level, along an axis."""
        return counts

    def places(self, reports: Reports) -> np.ndarray:
        """Return the index of each report among the integers of all levels, (n,), int64; only if it `reads_outputs`."""
        if len(self.sizes) == 1:
            return reports.values
        return np.asarray(reports.values + np.cumsum([0, *self.outputs[:-1]])[reports.level])

    def scores(self, reports: Reports) -> np.ndarray:
        """Return the contribution of each report to `statistics`, (n, S), integers."""
        n = len(reports)
        if self.counts_outputs:
            table = np.zeros((n, sum(self.outputs)), dtype=np.int8)
            table[np.arange(n), self.places(reports)] = 1
            return table
        alone = (reports.take(np.array([client]), self.sizes) for client in range(n))
        return np.array([self.statistics(one) for one in alone], dtype=np.int64).reshape(n, len(self.labels().level))

    def statistics_by(self, reports: Reports, groups: np.ndarray, many: int) -> np.ndarray:
        """Return `statistics` of each of so many groups, (many, S), int64; groups: of each report, (n,), below `many`."""
        if self.counts_outputs:
            return self._outputs_by(reports, groups, many)
        tables = np.zeros((many, len(self.labels().level)), dtype=np.int64)
        order, ends = sorted_by(groups, many)
        for group in np.flatnonzero(np.diff(ends)):
            tables[group] = self.statistics(reports.take(order[ends[group] : ends[group + 1]], self.sizes))
        return tables

    def _outputs_by(self, reports: Reports, groups: np.ndarray, many: int) -> np.ndarray:
        """Number of reports of each integer by group, level after level, (many, sum of outputs), int64."""
        outputs = self.outputs
        starts, size = np.cumsum([0, *outputs[:-1]]), sum(outputs)
        tables: np.ndarray | None = None
        for part in chunks(len(reports), many * size):  # a table costs as much as so many reports
            place = groups[part] * size
            place += reports.values[part]
            if len(outputs) > 1:
                place += starts[reports.level[part]]
            counted = np.bincount(place, minlength=many * size)
            tables = counted if tables is None else np.add(tables, counted, out=tables)
        return np.zeros((many, size), dtype=np.int64) if tables is None else tables.reshape(many, size)

    def marginal_laws(self) -> tuple[np.ndarray, ...]:
        """Return the distributions of the parts of a report that do not depend on the value, each (H,), of sum one."""
        return ()

    def marginals(self, reports: Reports) -> np.ndarray:
        """Return counts of reports by those parts, int64, in the order of `marginal_laws`; they add like statistics."""
        return np.zeros(0, dtype=np.int64)

    def tally(self, reports: Reports) -> tuple[np.ndarray, np.ndarray]:
        """Return `statistics` and `marginals` of the reports, which some mechanisms find together."""
        return self.statistics(reports), self.marginals(reports)

    def labels(self) -> Labels:
        """Return the description of each entry of the statistics."""
        outputs = self.outputs
        levels = np.repeat(np.arange(len(outputs)), outputs)
        return Labels(np.full(sum(outputs), "count"), levels, np.concatenate([np.arange(size) for size in outputs]))

    @abstractmethod
    def model(self) -> ObservationModel:
        """Return how the statistics depend on the distribution of input cells."""

    def check_certificate(self) -> None:
        """Raise CalibrationError unless the integers that clients use keep the budget; constructors call it."""
        certificate = self.certificate()
        if not certificate.holds:
            promised = "e^epsilon" if certificate.kind == "ratio" else "epsilon"
            raise CalibrationError(
                f"integers of {self.name} give a {certificate.kind} of {float(certificate.kept):.9g} and exceed {promised} "
                f"at epsilon = {self.budget.text}; leave them out to have them computed"
            )

    def channel(self) -> tuple[np.ndarray, ...] | None:
        """Return the integer weights of a finite channel, one (inputs, outputs) matrix per level; None if it is too large.

        Outputs are the reports of the level in lexicographic order.  For the audit, which enumerates them; aggregation and
        estimation do not use it.
        """
        return None

    def total_variation(self) -> Fraction:
        """Return the largest total variation of the reports of two input cells, by enumeration of a channel of one level."""
        channel = self.channel()
        if channel is None or len(channel) > 1:
            raise CalibrationError(f"{self.name}: no channel of one level; define its own `total_variation`")
        rows = [[int(weight) for weight in row] for row in channel[0]]
        laws = [[Fraction(weight, sum(row)) for weight in row] for row in rows]
        pairs = ((first, second) for place, first in enumerate(laws) for second in laws[:place])
        return max(sum((abs(p - q) for p, q in zip(*pair, strict=True)), Fraction(0)) / 2 for pair in pairs)

    def parameters(self) -> Mapping[str, Any]:
        """Return the parameters that both sides must share, as TOML values: the fields, in order, without the budget."""
        return {name: getattr(self, name) for name in agreed(type(self))}

    @classmethod
    def from_parameters(cls, budget: Budget, parameters: Any) -> Self:
        """Return the mechanism that `parameters()` described, the table `client` of a canonical scheme.

        Raises SchemeError where it is no table, incomplete or malformed, CalibrationError where it does not keep the budget.
        """
        if not isinstance(parameters, Mapping):
            raise SchemeError(f"client must be a table of the mechanism's integers, got {parameters!r}")
        try:
            return cls._read(budget, parameters)
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise SchemeError(
                f"client does not hold what {cls.name} needs ({type(error).__name__}: {error}); leave the table out to have it "
                "computed"
            ) from None

    @classmethod
    def _read(cls, budget: Budget, parameters: Mapping[str, Any]) -> Self:
        values = (parameters[name] for name in agreed(cls))
        return cls(budget, *(tuple(value) if isinstance(value, list) else value for value in values))  # type: ignore[call-arg]


def agreed(kind: Any) -> list[str]:
    """Return the names of the shared parameters: the fields of a mechanism, in order, without the budget."""
    return [field.name for field in fields(kind) if field.name != "budget"]
