"""Distributions on support points whose logarithm is a smooth curve, heaps, and a free part of each point, with their priors.

Reported values are counts, ages, rounded incomes.  The log probability is a smooth curve over the points, plus heaps at all
multiples of 5, 10, 50, ... [Heitjan1990], plus terms of single values (the ends of the range, where clipped values are, and
zero), plus, where the order of points is uninformative, a term of each.  Each part is normal a priori, with a standard
deviation selected by the reports (`log_linear_average`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import scipy

from dpcore.estimation import constants

_MULTIPLES = (*range(2, 26), 30, 60)  # steps of the points whose multiples respondents may round to besides
_ROUND = tuple(digit * 10**power for power in range(9) for digit in (5, 10))  # whose multiples people round to
_SMOOTH_BESIDE = "the law is smooth beside its heaps"


@dataclass(frozen=True)
class Belief:
    """A prior.  order: of the differences penalised in the smooth part.  roughness: the penalty.

    heaps: standard deviation of heaps.  free: of each point's own term.
    multiples: further numbers to whose multiples respondents round.  alone: further single values with terms of their own.
    """

    order: int
    roughness: float
    heaps: float = 0.0
    free: float = 0.0
    multiples: tuple[float, ...] = ()
    alone: tuple[float, ...] = ()

    @property
    def heaped(self) -> tuple[str, ...]:
        """Locations of heaps in words; empty without."""
        of_multiples = [f"multiples of {number:,.6g}" for number in self.multiples]
        return (*(["round numbers"] if self.heaps else []), *of_multiples, *(f"{point:,.6g}" for point in self.alone))


@dataclass(frozen=True, eq=False)
class Family:
    """points: (k,), ascending.  is_silent: whether nonresponse is one more entry.

    rounded: numbers to whose multiples respondents round; None to search for them.

    The distribution is p = softmax(L u), u standard normal a priori, L `columns`.
    """

    points: np.ndarray
    is_silent: bool = False
    rounded: tuple[float, ...] | None = None

    def columns(self, belief: Belief) -> np.ndarray:
        """Return L, (k, r), or (k + 1, r) with nonresponse."""
        rough, functions = _smooth(len(self.points), belief.order)
        is_null = np.arange(len(rough)) < belief.order
        spread = np.where(
            is_null,
            constants.NULL_SPREAD,
            np.minimum(constants.MAX_SPREAD, 1 / np.sqrt(np.maximum(belief.roughness * rough, 1e-12))),
        )
        columns = [functions * spread, self._own * constants.FEATURE_SPREADS[-1]]
        if belief.multiples:
            columns.append(
                np.array([self._multiples(number) for number in belief.multiples]).T * constants.FEATURE_SPREADS[-1]
            )
        if belief.alone:
            columns.append(np.array([self.points == point for point in belief.alone]).T * constants.FEATURE_SPREADS[-1])
        if belief.heaps:
            columns.append(self._heaps * belief.heaps)
        if belief.free:
            columns.append(np.eye(len(self.points)) * belief.free)
        matrix = np.hstack(columns)
        if not self.is_silent:
            return matrix
        silence = np.zeros((len(matrix) + 1, 1))
        silence[-1] = constants.FEATURE_SPREADS[-1]
        return np.hstack([silence, np.vstack([matrix, np.zeros((1, matrix.shape[1]))])])

    @property
    def has_heaps(self) -> bool:
        """Whether some points, and at most half, are multiples to which respondents round."""
        return self._heaps.shape[1] > 0

    @cached_property
    def _heaps(self) -> np.ndarray:
        """Which points are multiples to which respondents round, (k, h)."""
        multiples = [self._multiples(number) for number in (_ROUND if self.rounded is None else self.rounded)]
        most = len(self.points) / 2 if self.rounded is None else len(self.points) - 1
        heaped = [points for points in multiples if 2 <= points.sum() <= most]
        return np.array(heaped, dtype=np.float64).reshape(-1, len(self.points)).T

    @cached_property
    def others(self) -> tuple[list[float], np.ndarray]:
        """Candidate features: m multiples, and their points, (k, m + k), each single point last.

        Multiples in steps of the points, unless the scheme declares them; nonresponse adds a row of zeros.
        """
        step, k = float(np.diff(self.points).min()), len(self.points)
        patterns, candidates = {column.tobytes() for column in self._heaps.T}, {}
        for number in (times * step for times in (_MULTIPLES if self.rounded is None else ())):
            column = self._multiples(number).astype(np.float64)
            if 2 <= column.sum() <= (k + 1) / 2 and column.tobytes() not in patterns:
                patterns.add(column.tobytes())
                candidates[number] = column
        columns = np.vstack([*candidates.values(), np.eye(k)]).T
        return list(candidates), np.vstack([columns, np.zeros((int(self.is_silent), columns.shape[1]))])

    def _multiples(self, number: float) -> np.ndarray:
        return np.asarray(np.abs(self.points / number - np.round(self.points / number)) < constants.ROUNDING)

    @cached_property
    def _own(self) -> np.ndarray:
        """Single values with terms of their own, (k, m): the ends, and zero."""
        alone = sorted({0, len(self.points) - 1, *np.flatnonzero(self.points == 0).tolist()})
        return np.eye(len(self.points))[:, alone]


def kinds(beliefs: Iterable[tuple[float, Belief]]) -> tuple[tuple[str, float, str], ...]:
    """Return 'heaped' and 'free' with the posterior weight of priors of that kind and a description."""
    heaped, free, places = 0.0, 0.0, Counter[str]()
    for weight, belief in beliefs:
        heaped += weight * bool(belief.heaped)
        free += weight * bool(belief.free)
        places.update(dict.fromkeys(belief.heaped, weight))
    likely = [place for place, weight in places.items() if weight > heaped / 2]
    at = " and ".join(likely) or "some values"
    open_ = "reports leave open whether"
    return (
        (
            "heaped",
            heaped,
            _in_words(heaped, f"heaps at {at} were found", "no heaps were found", f"{open_} {at} have heaps"),
        ),
        ("free", free, _in_words(free, "values have shares of their own", _SMOOTH_BESIDE, f"{open_} {_SMOOTH_BESIDE}")),
    )


def _in_words(weight: float, sure: str, never: str, unsure: str) -> str:
    if weight >= constants.CONFIDENCE:
        return sure
    return never if weight <= constants.SIGNIFICANCE else f"{unsure}, and laws of both kinds are averaged"


def slope(columns: np.ndarray, law: np.ndarray) -> np.ndarray:
    """Return the derivative of p = softmax(L u) by u, of the shape of L; columns: L."""
    return np.asarray(law[:, None] * (columns - law @ columns))


@lru_cache(maxsize=32)
def _smooth(points: int, order: int) -> tuple[np.ndarray, np.ndarray]:
    """The smoothest functions of the points, (points, r), of mean square one and mean zero, and their roughness, (r,).

    Eigenvectors of D'D, D the differences of that order, in units of the range.
    """
    many = min(points, (1 << constants.FIT_LEVEL) + order)
    differences = np.diff(np.eye(points), order, axis=0) if points > order else np.zeros((1, points))
    square = differences.T @ differences
    bands = np.zeros((order + 1, points))
    for lower in range(min(order, points - 1) + 1):
        bands[lower, : points - lower] = np.diagonal(square, -lower)
    rough, functions = scipy.linalg.eig_banded(bands, lower=True, select="i", select_range=(0, many - 1))
    functions = functions - functions.mean(axis=0)
    return np.maximum(rough, 0.0) * (points / np.pi) ** (2 * order), functions * np.sqrt(points)
