"""The fit of a log-linear model to what reports say of its points, averaged over how smooth, heaped and free the law may be.

Each belief is judged by its marginal likelihood in Laplace's approximation, l(p) - |u|^2 / 2 - log det(I + B'FB) / 2 at the
mode, B the derivative of the law by u; beliefs are averaged by it.  None of it is chosen by eye.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import scipy

from dpcore.estimation.estimators.log_linear_family import ORDERS, Belief, Family, slope
from dpcore.mechanisms.information import Information

_ROUGHNESS = 10.0 ** np.arange(2, -7, -0.5)  # from straight lines to nearly anything, in half decades
_WORSE = 3  # steps on that path that do not help, before it ends
_FREE = (0.1, 0.3, 1.0)  # what each point's own part is tried with
_MOST_FREE = 256  # points of which each may have one: of more, reports tell neighbours apart too little
_FEW = 32  # points, of which heaps are looked for beside it however unlikely they were without
_SMOOTHER = (1.0, 30.0)  # beside a part of each point's own the rest may be smoother
_HEAPS = (1.0, 3.0)  # of what rounding adds, where some round, and where nearly all do
_UNLIKELY = 8.0  # log of a factor by which beliefs worse than the best do not count
_TINY = 1e-9  # a column that is none moves nothing
_STEPS, _SMALL, _LEAST_STEP = 40, 1e-2, 1e-4  # Newton's, until it gains so little, or is cut so short


@dataclass(frozen=True, eq=False)
class Mode:
    """The most likely law under a belief: its coordinates u, the norms of L's columns, the law, and the belief's evidence."""

    belief: Belief
    coordinates: np.ndarray
    widths: np.ndarray
    law: np.ndarray
    evidence: float


def average(family: Family, seen: Callable[[np.ndarray], Information]) -> tuple[np.ndarray, list[tuple[float, Belief]]]:
    """Return the law averaged over beliefs, (k,), and what each belief counts, the most first.

    seen: what the reports say, given a law near the true one.
    """
    size = len(family.points) + family.is_silent
    modes = list(_smooth(family, seen(np.full(size, 1 / size))))
    information = seen(_best(modes).law)
    modes = list(_smooth(family, information))
    if len(family.points) <= _MOST_FREE:
        modes += _free(family, information, modes)
    top = _best(modes).evidence
    modes = sorted((mode for mode in modes if mode.evidence > top - _UNLIKELY), key=lambda mode: -mode.evidence)
    weights = np.exp([mode.evidence - top for mode in modes])
    weights /= weights.sum()
    law = weights @ np.array([mode.law for mode in modes])
    return law, [(float(weight), mode.belief) for weight, mode in zip(weights, modes, strict=True)]


def _best(modes: list[Mode]) -> Mode:
    return max(modes, key=lambda mode: mode.evidence)


def _smooth(family: Family, information: Information) -> Iterator[Mode]:
    """The modes along paths of roughness, with heaps and without, without a part of each point's own."""
    for heaps, order in product((0.0, *_HEAPS) if family.has_heaps else (0.0,), ORDERS):
        start, most, worse = None, -np.inf, 0
        for roughness in _ROUGHNESS:
            mode = fit(family, Belief(order, float(roughness), heaps), information, start)
            yield mode
            start, worse = mode, worse + 1 if mode.evidence <= most else 0
            most = max(most, mode.evidence)
            if worse == _WORSE:
                break


def _free(family: Family, information: Information, smooth: list[Mode]) -> Iterator[Mode]:
    """The modes with a part of each point's own, beside the best smooth one with heaps and without, and a smoother one."""
    top = _best(smooth).evidence
    for heaps in sorted({mode.belief.heaps for mode in smooth}):
        best = _best([mode for mode in smooth if mode.belief.heaps == heaps])
        if len(family.points) > _FEW and best.evidence < top - _UNLIKELY:
            continue
        for factor in _SMOOTHER:
            start = best
            for free in _FREE:
                belief = replace(best.belief, roughness=best.belief.roughness * factor, free=free)
                start = fit(family, belief, information, start)
                yield start


def fit(family: Family, belief: Belief, information: Information, start: Mode | None = None) -> Mode:
    """Return the most likely law under a belief, by Newton's steps from near a mode, halved where they do not help."""
    columns = family.of(belief)
    u, widths = np.zeros(columns.shape[1]), np.linalg.norm(columns, axis=0) + _TINY
    if start is not None:  # the same logarithms; a part of each point's own comes last
        u[: len(start.widths)] = start.coordinates * start.widths / widths[: len(start.widths)]
    law, value = _at(columns, u, information)
    for _ in range(_STEPS):
        moved = information.root @ slope(columns, law)
        gradient = moved.T @ (information.numbers - information.root @ law) - u
        step, uncertain = _solved(moved, gradient)
        length, tried = 1.0, _at(columns, u + step, information)
        while tried[1] < value and length > _LEAST_STEP:
            length /= 2
            tried = _at(columns, u + length * step, information)
        if tried[1] < value:
            break
        u, (law, value) = u + length * step, tried
        if gradient @ step < _SMALL:
            break
    return Mode(belief, u, widths, law, value - uncertain)


def _solved(moved: np.ndarray, gradient: np.ndarray) -> tuple[np.ndarray, float]:
    """(I + B'B)^-1 g and log det(I + B'B) / 2, B (q, r): in q dimensions where they are fewer."""
    is_wide = len(moved) < moved.shape[1]
    inner = moved @ moved.T if is_wide else moved.T @ moved
    inner[np.diag_indices_from(inner)] += 1.0
    factor = scipy.linalg.cho_factor(inner, check_finite=False)
    solved = scipy.linalg.cho_solve(factor, moved @ gradient if is_wide else gradient, check_finite=False)
    return gradient - moved.T @ solved if is_wide else solved, float(np.log(np.diagonal(factor[0])).sum())


def _at(columns: np.ndarray, u: np.ndarray, information: Information) -> tuple[np.ndarray, float]:
    """The law at u, and its log likelihood with its prior."""
    law = scipy.special.softmax(columns @ u)
    return law, information(law) - float(u @ u) / 2
