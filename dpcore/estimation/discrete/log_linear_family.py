"""Laws of points whose logarithm is a smooth curve, heaps, and a part of each point's own: what a log-linear model believes.

Values that people report are counts, ages, rounded incomes.  The logarithm of their law is a smooth curve over the points,
plus what rounding adds to all multiples of 5, 10, 50, ... [Heitjan1990], plus what a value that stands for itself adds (the
ends of the range, where clipped values are, and zero), plus, where points have no order to speak of, a number of each.  Each
part is normal a priori, and how wide it is, is found from the reports (`log_linear_average`).
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
    """order: of the differences that a smooth part has few of.  roughness: their weight; above it the smoother.

    heaps: standard deviation of what rounding adds.  free: of what each point adds.
    multiples: what people round to besides, if at all.  alone: points that stand for themselves besides.
    """

    order: int
    roughness: float
    heaps: float = 0.0
    free: float = 0.0
    multiples: tuple[float, ...] = ()
    alone: tuple[float, ...] = ()

    @property
    def heaped(self) -> tuple[str, ...]:
        """Where heaps are, in words; none of a law without."""
        of_multiples = [f"multiples of {number:,.6g}" for number in self.multiples]
        return (*(["round numbers"] if self.heaps else []), *of_multiples, *(f"{point:,.6g}" for point in self.alone))


@dataclass(frozen=True, eq=False)
class Family:
    """points: (k,), rising.  is_silent: whether there is one entry more, of those who gave no answer.

    rounded: whose multiples people round to; what they round to is found where it is None.

    A law is p = softmax(L u), u standard normal a priori, L `columns`.
    """

    points: np.ndarray
    is_silent: bool = False
    rounded: tuple[float, ...] | None = None

    def columns(self, belief: Belief) -> np.ndarray:
        """Return L, (k, r), or (k + 1, r) where there is silence."""
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
        """Whether some points, and not most, are multiples that people round to."""
        return self._heaps.shape[1] > 0

    @cached_property
    def _heaps(self) -> np.ndarray:
        """Which points are multiples of what people round to, (k, h)."""
        multiples = [self._multiples(number) for number in (_ROUND if self.rounded is None else self.rounded)]
        most = len(self.points) / 2 if self.rounded is None else len(self.points) - 1
        heaped = [points for points in multiples if 2 <= points.sum() <= most]
        return np.array(heaped, dtype=np.float64).reshape(-1, len(self.points)).T

    @cached_property
    def others(self) -> tuple[list[float], np.ndarray]:
        """What else may stand out: multiples, m of them, and which points are so, (k, m + k), each point by itself last.

        Multiples of so many steps, where the scheme does not say what people round to; of silence a row of zeros more.
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
        """The values that stand for themselves, (k, m): the ends, and zero."""
        alone = sorted({0, len(self.points) - 1, *np.flatnonzero(self.points == 0).tolist()})
        return np.eye(len(self.points))[:, alone]


def kinds(beliefs: Iterable[tuple[float, Belief]]) -> tuple[tuple[str, float, str], ...]:
    """Return what a law was found to be: 'heaped' and 'free', what beliefs of that kind count together, and that in words."""
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
    """Return the derivative of a law p = softmax(L u) by u, the shape of L; columns: L."""
    return np.asarray(law[:, None] * (columns - law @ columns))


@lru_cache(maxsize=32)
def _smooth(points: int, order: int) -> tuple[np.ndarray, np.ndarray]:
    """The smoothest functions of the points, (points, r), of mean square one and mean zero, and how rough each is, (r,).

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
