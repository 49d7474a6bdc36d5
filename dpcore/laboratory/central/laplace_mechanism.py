"""The Laplace mechanism in k dimensions, report noisy max, and the most common value [Dwork2006].

Noise is discrete Laplace on the lattice of the query, exact: floating-point noise distinguishes neighbours [Mironov2012].
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from dpcore._random import WORD, Source
from dpcore.errors import InvalidRecord, check_whole
from dpcore.laboratory.central.base import CuratorMechanism, laplace_scale
from dpcore.laboratory.central.queries import PARTS, Histogram, Query
from dpcore.mechanisms.base import Certificate
from dpcore.mechanisms.noise import discrete_laplace
from dpcore.privacy.budget import Budget

_LARGEST = 1 << 40  # of a score


@dataclass(frozen=True, eq=False)
class Answer:
    """A noisy statistic; values: (k,), standard_errors: (k,) of the noise alone, in the query's unit.

    noise_scale: b of each coordinate's Laplace density exp(-|v| / b) / (2b), in the query's unit.
    """

    values: np.ndarray
    standard_errors: np.ndarray
    noise_scale: np.ndarray


@dataclass(frozen=True)
class LaplaceMechanism(CuratorMechanism):
    """f(x) + Y on the query's lattice, Y of k independent discrete Laplace variables of scale `scale` steps.

    scale: >= 1, whole; `design` takes the least that keeps the budget.

    Privacy.  Claim: Pr(A(x) = z) <= e^epsilon Pr(A(y) = z) for all neighbours x, y and all z.
        1. f(x) and f(y) are integers with |f(x) - f(y)|_1 <= D, the query's `lattice_sensitivity`.
        2. Pr(A(x) = z) = prod_j c exp(-|z_j - f_j(x)| / t), c the same for x and y: the lattice is that of both.
        3. So Pr(A(x) = z) / Pr(A(y) = z) = exp((|z - f(y)|_1 - |z - f(x)|_1) / t).
        4. By the triangle inequality that is at most exp(D / t).
        5. The constructor refuses D / t > a rational lower bound of epsilon.

    Raises CalibrationError where the scale breaks the claim.
    """

    name: ClassVar[str] = "laplace_mechanism"

    budget: Budget
    query: Query
    scale: int

    def __post_init__(self) -> None:
        check_whole(1, WORD, scale=self.scale)
        self._refuse_unless_kept("take the noise's scale from `design`")

    @classmethod
    def design(cls, budget: Budget, query: Query) -> LaplaceMechanism:
        """Return the mechanism with the least noise that keeps `budget`."""
        return cls(budget, query, laplace_scale(query.lattice_sensitivity, budget))

    def certificate(self) -> Certificate:
        sensitivity = self.query.lattice_sensitivity
        return Certificate("loss", Fraction(sensitivity, self.scale), self.budget, (sensitivity,))

    def release(self, records: Any, random: Source) -> Answer:
        """Return the answer with its noise; records as the query wants them, at least one."""
        n = len(records)
        if n == 0:
            raise InvalidRecord("a statistic needs at least one record, got none")
        integers = self.query.integers(records)
        noise = discrete_laplace.sample(self.scale, len(integers), random)
        unit = np.broadcast_to(self.query.unit(n), integers.shape)
        error = sqrt(discrete_laplace.variance(self.scale)) * unit
        return Answer(self.query.answer(integers + noise, n), error, self.scale * unit)


@dataclass(frozen=True)
class ReportNoisyMax(CuratorMechanism):
    """The number of the largest of k noisy scores, and nothing else; scores: (k,) integers that one record moves by <= 1 each.

    sensitivity: the most that one record moves any one score, whole.  Lap(2 sensitivity / epsilon) goes to each score; the
    noise does not depend on k, and neither does what is spent.

    Privacy.  Claim: Pr(i wins | x) <= e^epsilon Pr(i wins | y) for all neighbours x, y and all i.
        1. Fix the noise of all scores but the i-th: then i wins where Y_i is at least a threshold c(x), ties by number.
        2. A neighbour moves the i-th score by at most D and the largest other by at most D: c(y) <= c(x) + 2D.
        3. A discrete Laplace tail has Pr(Y >= c) <= exp(s / t) Pr(Y >= c + s), since each of its terms has.
        4. So Pr(i wins | x, rest) <= exp(2D / t) Pr(i wins | y, rest), and so on average over the rest.
        5. The constructor refuses 2D / t > a rational lower bound of epsilon.

    Raises CalibrationError where the scale breaks the claim.
    """

    name: ClassVar[str] = "report_noisy_max"

    budget: Budget
    scale: int
    sensitivity: int = 1

    def __post_init__(self) -> None:
        check_whole(1, 1 << 32, sensitivity=self.sensitivity)
        check_whole(1, WORD, scale=self.scale)
        self._refuse_unless_kept("take the noise's scale from `design`")

    @classmethod
    def design(cls, budget: Budget, sensitivity: int = 1) -> ReportNoisyMax:
        """Return the mechanism with the least noise that keeps `budget`."""
        check_whole(1, 1 << 32, sensitivity=sensitivity)
        return cls(budget, laplace_scale(2 * PARTS * sensitivity, budget), sensitivity)

    def certificate(self) -> Certificate:
        sensitivity = 2 * PARTS * self.sensitivity
        return Certificate("loss", Fraction(sensitivity, self.scale), self.budget, (sensitivity,))

    def release(self, records: np.ndarray, random: Source) -> int:
        """Return the number of the winner; records: here the scores, (k,) integers."""
        scores = np.asarray(records)
        if scores.ndim != 1 or scores.dtype.kind not in "iu" or not len(scores):
            raise InvalidRecord(f"scores must be one row of integers, got shape {scores.shape}")
        if np.any((scores > _LARGEST) | (scores < -_LARGEST)):
            raise InvalidRecord("scores must lie within 2^40 of 0, beyond which they would not fit the lattice")
        noisy = PARTS * scores.astype(np.int64) + discrete_laplace.sample(self.scale, len(scores), random)
        return int(np.argmax(noisy))


def most_common_value(cells: np.ndarray, values: int, budget: Budget, random: Source) -> int:
    """Return the most common of the values 0..values-1 of (n,) cells, by `ReportNoisyMax` on their counts.

    Privacy.  epsilon: a changed record moves any one count by at most 1.
    """
    counts = Histogram(values).integers(cells) // PARTS
    return ReportNoisyMax.design(budget).release(counts, random)


def winning_probabilities(scores: np.ndarray, scale: int, parts: int = PARTS) -> np.ndarray:
    """Return the law of report noisy max on (k,) integer scores, by summation over the noise; for tests and tables.

    scale: of the noise, in lattice steps; parts: lattice steps to a unit of the scores.
    """
    at = parts * np.asarray(scores, dtype=np.int64)
    reach = 40 * scale
    span = np.arange(at.min() - reach, at.max() + reach + 1)
    mass = np.array([discrete_laplace.pmf(span - score, scale) for score in at])
    up_to = mass.cumsum(axis=1)
    result = np.empty(len(at))
    for i in range(len(at)):  # ties go to the smaller number: j < i must be below, j > i at most equal
        others = [up_to[j] - mass[j] if j < i else up_to[j] for j in range(len(at)) if j != i]
        result[i] = float((mass[i] * np.prod(others, axis=0)).sum()) if others else 1.0
    return result
