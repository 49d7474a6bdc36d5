"""The inverse sensitivity mechanism: how many records must change for the answer to be t is the loss of t.

D_f(x, t) = min { Hamming distance from x to a database whose answer is t } has sensitivity 1 whatever f, and knows how
sensitive f is at x [AsiDuchi2020].  For two outputs the factor 2 of the exponential mechanism is not needed, for one of the
two distances is 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, exp
from typing import Any, ClassVar

import numpy as np
import scipy

from dpcore._random import Source
from dpcore.errors import CalibrationError, InvalidRecord, SchemeError, check_whole
from dpcore.laboratory.central.base import CuratorMechanism
from dpcore.laboratory.central.exponential import integer_weights
from dpcore.mechanisms.base import Certificate
from dpcore.privacy.budget import Budget


class Target(ABC):
    """A function f of a database with finitely many values, and how far every database is from each of them."""

    @property
    @abstractmethod
    def outputs(self) -> Sequence[Any]:
        """The values of f, in the order of `distances`."""

    @abstractmethod
    def distances(self, records: Any) -> np.ndarray:
        """Return D_f(records, t) for each output t, whole, shape (T,): 0 at f(records) and nowhere else."""


@dataclass(frozen=True)
class Majority(Target):
    """Whether most of an odd number of bits are 1; records: (n,) of 0 and 1, n = 2k + 1."""

    @property
    def outputs(self) -> Sequence[int]:
        return (0, 1)

    def distances(self, records: Any) -> np.ndarray:
        bits = _bits(records)
        if len(bits) % 2 == 0:
            raise InvalidRecord(f"a majority needs an odd number of records, got {len(bits)}")
        half, ones = len(bits) // 2, int(bits.sum())
        return np.array([max(0, ones - half), max(0, half + 1 - ones)])


@dataclass(frozen=True)
class MeanOfBits(Target):
    """The mean of n bits, one of 0, 1/n, .., 1: D = n |t - mean|; records: (n,) of 0 and 1."""

    n: int

    def __post_init__(self) -> None:
        check_whole(1, 1 << 24, n=self.n)

    @property
    def outputs(self) -> Sequence[Fraction]:
        return tuple(Fraction(s, self.n) for s in range(self.n + 1))

    def distances(self, records: Any) -> np.ndarray:
        bits = _bits(records)
        if len(bits) != self.n:
            raise InvalidRecord(f"this target was made for {self.n} records, got {len(bits)}; make one for as many")
        return np.abs(np.arange(self.n + 1) - int(bits.sum()))


@dataclass(frozen=True)
class Quantile(Target):
    """The ceil(t n)-th smallest of n cells 0..cells-1; t in (0, 1], the median at 1/2.

    With a records below an output and b at most it, the output is the r-th smallest where a < r <= b; else a - r + 1 or r - b
    records must move.  Ties and atoms need no special care.
    """

    t: Fraction
    cells: int

    def __post_init__(self) -> None:
        check_whole(1, 1 << 24, cells=self.cells)
        if not 0 < self.t <= 1:
            raise SchemeError(f"t of a quantile must lie in (0, 1], got {self.t}")

    @property
    def outputs(self) -> Sequence[int]:
        return range(self.cells)

    def distances(self, records: Any) -> np.ndarray:
        cells = np.asarray(records)
        is_row = cells.ndim == 1 and len(cells) > 0 and cells.dtype.kind in "iu"
        if not is_row or np.any((cells < 0) | (cells >= self.cells)):
            raise InvalidRecord(f"a quantile wants at least one record, each a cell in 0..{self.cells - 1}")
        rank = ceil(self.t * len(cells))
        up_to = np.bincount(cells, minlength=self.cells).cumsum()
        below = np.concatenate([[0], up_to[:-1]])
        return np.maximum(0, np.maximum(below - rank + 1, rank - up_to))


def median(cells: int) -> Quantile:
    """Return the target of the lower median of cells 0..cells-1."""
    return Quantile(Fraction(1, 2), cells)


@dataclass(frozen=True)
class InverseSensitivity(CuratorMechanism):
    """Release t with probability proportional to q^D_f(x, t), q a rational just above exp(-epsilon / 2).

    halved: False for two outputs only, where q is just above exp(-epsilon) and the answer twice as sure.

    Privacy.  Claim: Pr(A(x) = t) <= e^epsilon Pr(A(y) = t) for all neighbours x, y and all t.
        1. |D_f(x, t) - D_f(y, t)| <= 1: who can reach t from y in d changes can from x in d + 1.
        2. So each weight and their sum move by a factor of at most 1 / q each way: the ratio is at most q^-2 <= e^epsilon.
        3. With two outputs one distance is 0: the other, D, changes by at most 1 while f stays.  The odds 1 : q^D then change
           by at most 1 / q, and so do both probabilities.
        4. Where f changes, D is 1 on both sides: the probabilities 1 / (1 + q) and q / (1 + q) change places, a ratio of 1 / q.
        5. The constructor compares q^-2, or 1 / q, with a rational lower bound of e^epsilon.

    Raises CalibrationError for `halved = False` with more than two outputs.
    """

    name: ClassVar[str] = "inverse_sensitivity"

    budget: Budget
    target: Target
    halved: bool = True

    def __post_init__(self) -> None:
        if not self.halved and len(self.target.outputs) != 2:
            raise CalibrationError(
                f"halved = False is private for 2 outputs only, got {len(self.target.outputs)}; use halved = True"
            )
        self._refuse_unless_kept("leave the weights to the mechanism")

    @cached_property
    def ratio(self) -> Fraction:
        """q."""
        return integer_weights.ratio_above(self.budget, 2 if self.halved else 1)

    def certificate(self) -> Certificate:
        return Certificate("ratio", self.ratio ** (-2 if self.halved else -1), self.budget, (1,))

    def law(self, records: Any) -> tuple[Fraction, ...]:
        """Return the probability of each output, exact."""
        return integer_weights.law(self._weights(records))

    def release(self, records: Any, random: Source) -> Any:
        """Return one output."""
        return self.target.outputs[int(integer_weights.draw(self._weights(records), 1, random)[0])]

    def truth_probability(self, records: Any) -> Fraction:
        """Return Pr(A(x) = f(x)), exact."""
        return self.law(records)[int(np.argmin(self.target.distances(records)))]

    def _weights(self, records: Any) -> list[int]:
        distances = self.target.distances(records)
        weights = integer_weights.powers(self.ratio, distances.tolist())
        return [weights[int(d)] for d in distances]


def truth_upper_bound(distances: np.ndarray, epsilon: float) -> float:
    """Return 1 / sum_t exp(-2 D_f(x, t) epsilon): no unbiased epsilon-private mechanism returns the true value more often.

    Unbiased: no output is likelier than f(x), whatever x.
    """
    return float(1 / np.exp(-2 * epsilon * np.asarray(distances, dtype=np.float64)).sum())


@dataclass(frozen=True)
class Optimality:
    """How often the mechanism returns the true value at epsilon, and the best of unbiased mechanisms at `share` of epsilon.

    bound: `truth_upper_bound` at share * epsilon.  best: the optimum over all of them, where it was computed.
    """

    share: float
    truth_probability: float
    bound: float
    best: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the mechanism is at least as accurate, but for the 2^-16 of epsilon that rounding leaves unspent."""
        rivals = self.bound if self.best is None else min(self.bound, self.best)
        return self.truth_probability >= rivals - 1e-4


def optimality(mechanism: InverseSensitivity, records: Any) -> Optimality:
    """Return how a mechanism does at one database beside epsilon / 4 (two outputs without the factor 2: epsilon / 2)."""
    share = 0.25 if mechanism.halved else 0.5
    distances = mechanism.target.distances(records)
    truth = float(mechanism.truth_probability(records))
    return Optimality(share, truth, truth_upper_bound(distances, share * float(mechanism.budget)))


def most_truthful(values: Sequence[int], outputs: int, epsilon: float, at: int) -> float:
    """Return the largest Pr(A(s) = f(s)) of any unbiased epsilon-private A, for databases of bits known by their sum s = 0..n.

    values: f(s) as a number 0..outputs-1, one for each s; neighbours are s and s + 1 (a bit may also change nothing).
    at: the s asked about.  By linear programming over all channels from sums to outputs: averaging a mechanism over the order
    of its records keeps it private and unbiased, so that nothing is lost.

    >>> round(most_truthful([0, 0, 1, 1], 2, 1.0, 1), 4)   # majority of three bits, next to the edge: 1 - 1 / (2 e)
    0.8161
    """
    states = len(values)
    size = states * outputs
    rows = []
    for s in range(states):
        for t in range(outputs):
            for other in (s - 1, s + 1):
                if 0 <= other < states:
                    row = np.zeros(size)
                    row[s * outputs + t], row[other * outputs + t] = 1.0, -exp(epsilon)
                    rows.append(row)
            if t != values[s]:
                row = np.zeros(size)
                row[s * outputs + t], row[s * outputs + values[s]] = 1.0, -1.0
                rows.append(row)
    aim = np.zeros(size)
    aim[at * outputs + values[at]] = -1.0
    solution = scipy.optimize.linprog(
        aim,
        A_ub=np.array(rows),
        b_ub=np.zeros(len(rows)),
        A_eq=np.kron(np.eye(states), np.ones(outputs)),
        b_eq=np.ones(states),
        bounds=(0, 1),
    )
    return -float(solution.fun or 0.0)


def _bits(records: Any) -> np.ndarray:
    bits = np.asarray(records)
    if bits.ndim != 1 or not len(bits) or not np.all((bits == 0) | (bits == 1)):
        raise InvalidRecord("records must be at least one bit, each 0 or 1")
    return bits.astype(np.int64)
