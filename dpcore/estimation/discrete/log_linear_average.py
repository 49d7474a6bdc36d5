"""Distribution on support points: its fit under one prior, and the average over priors by their evidence.

Priors are tried along paths: from straight lines to rough ones, with heaps at round numbers and without, then with a free part
of each point.  Further features, other multiples or single values, are searched for; their prior probability accounts for the
number of candidates.

The fit under one prior is the posterior mode; further features have score tests.  The evidence of a prior is its marginal
likelihood by Laplace's method, l(p) - |u|^2 / 2 - log det(I + B'FB) / 2 at the mode, B the derivative of the distribution by u.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import scipy

from dpcore.estimation import constants
from dpcore.estimation.discrete.log_linear_family import Belief, Family, slope
from dpcore.mechanisms.fisher_information import Information


@dataclass(frozen=True, eq=False)
class Mode:
    """The posterior mode under a prior: coordinates u, norms of L's columns, distribution, and evidence of the prior.

    cost: subtracted from the evidence, minus the log prior probability of the features.
    """

    belief: Belief
    coordinates: np.ndarray
    widths: np.ndarray
    law: np.ndarray
    evidence: float
    cost: float = 0.0


def fit(family: Family, belief: Belief, information: Information, start: Mode | None = None, cost: float = 0.0) -> Mode:
    """Return the posterior mode under a prior by Newton's method, started near a mode, with halved steps where needed."""
    columns = family.columns(belief)
    u, widths = np.zeros(columns.shape[1]), np.linalg.norm(columns, axis=0) + constants.ROUNDING
    if start is not None:  # the same logarithms; a part of each point's own comes last
        u[: len(start.widths)] = start.coordinates * start.widths / widths[: len(start.widths)]
    law, value = _at(columns, u, information)
    for _ in range(constants.NEWTON_STEPS):
        moved = information.root @ slope(columns, law)
        gradient = moved.T @ (information.numbers - information.root @ law) - u
        step, uncertain = _solved(moved, gradient)
        length, tried = 1.0, _at(columns, u + step, information)
        while tried[1] < value and length > constants.MIN_STEP:
            length /= 2
            tried = _at(columns, u + length * step, information)
        if tried[1] < value:
            break
        u, (law, value) = u + length * step, tried
        if gradient @ step < constants.NEWTON_GAIN:
            break
    return Mode(belief, u, widths, law, value - uncertain - cost, cost)


def _solved(moved: np.ndarray, gradient: np.ndarray) -> tuple[np.ndarray, float]:
    """(I + B'B)^-1 g and log det(I + B'B) / 2, B (q, r): in q dimensions if q < r."""
    is_wide = len(moved) < moved.shape[1]
    inner = moved @ moved.T if is_wide else moved.T @ moved
    inner[np.diag_indices_from(inner)] += 1.0
    factor, _ = scipy.linalg.lapack.dpotrf(inner)
    solved, _ = scipy.linalg.lapack.dpotrs(factor, moved @ gradient if is_wide else gradient)
    return gradient - moved.T @ solved if is_wide else solved, float(np.log(np.diagonal(factor)).sum())


def _at(columns: np.ndarray, u: np.ndarray, information: Information) -> tuple[np.ndarray, float]:
    """The distribution at u, and its log-likelihood plus log prior."""
    logarithms = columns @ u
    law = np.exp(logarithms - logarithms.max())
    law /= law.sum()
    return law, information(law) - float(u @ u) / 2


def excess(family: Family, information: Information, mode: Mode, columns: np.ndarray) -> np.ndarray:
    """Return one-sided chi-squared, (m,), of additional mass at each of the columns, (k, m); 0 for less mass."""
    moved = information.root @ slope(family.columns(mode.belief), mode.law)
    more = information.root @ slope(columns, mode.law)
    left = information.numbers - information.root @ mode.law
    inner = moved @ moved.T
    inner[np.diag_indices_from(inner)] += 1.0
    information_left = np.sum(more * np.linalg.solve(inner, more), axis=0)
    return np.asarray(np.maximum(left @ more, 0.0) ** 2 / np.maximum(information_left, constants.ROUNDING))


@dataclass(frozen=True, eq=False)
class Average:
    """law: (k,).  beliefs: weights and priors, largest first.  apart: (m, k), their differences from the average.

    The rows of `apart` are weighted, so that apart' apart is the covariance between priors.
    """

    law: np.ndarray
    beliefs: list[tuple[float, Belief]]
    apart: np.ndarray


def average(family: Family, seen: Callable[[np.ndarray], Information]) -> Average:
    """Return the distribution averaged over priors; seen: the reports' information at one near the true one."""
    size = len(family.points) + family.is_silent
    kinds = [Belief(1, 1.0, heaps) for heaps in _heaps(family)]
    information = seen(np.full(size, 1 / size))
    information = seen(_best(mode for kind in kinds for mode in _smooth(family, information, kind)).law)
    smooth = [list(_smooth(family, information, kind)) for kind in kinds]
    modes = [mode for path in smooth for mode in path]
    top = _best(modes).evidence
    free = [mode for path in smooth for mode in _free(family, information, path, top)]
    modes += [*free, *_others(family, information, _best([*modes, *free] if size <= constants.FEW_POINTS else modes))]
    top = _best(modes).evidence
    modes = sorted(
        (mode for mode in modes if mode.evidence > top - constants.evidence_margin()), key=lambda mode: -mode.evidence
    )
    weights = np.exp([mode.evidence - top for mode in modes])
    weights /= weights.sum()
    laws = np.array([mode.law for mode in modes])
    law = weights @ laws
    beliefs = [(float(weight), mode.belief) for weight, mode in zip(weights, modes, strict=True)]
    return Average(law, beliefs, np.sqrt(weights)[:, None] * (laws - law))


def _heaps(family: Family) -> tuple[float, ...]:
    """Standard deviations of heaps to try: never 0 if the scheme declares them."""
    if not family.has_heaps:
        return (0.0,)
    return constants.FEATURE_SPREADS if family.rounded else (0.0, *constants.FEATURE_SPREADS)


def _best(modes: Iterable[Mode]) -> Mode:
    return max(modes, key=lambda mode: mode.evidence)


def _smooth(family: Family, information: Information, kind: Belief, cost: float = 0.0) -> Iterator[Mode]:
    """The modes along paths of roughness, of each order, without free parts."""
    for order in range(1, constants.DEGREE + 1):
        start, most, worse = None, -np.inf, 0
        for roughness in constants.ROUGHNESS:
            belief = replace(kind, order=order, roughness=float(roughness), free=0.0)
            mode = fit(family, belief, information, start, cost)
            yield mode
            start, worse = mode, worse + 1 if mode.evidence <= most else 0
            most = max(most, mode.evidence)
            if worse == constants.WORSE_STEPS:
                break


def _free(family: Family, information: Information, smooth: list[Mode], top: float) -> Iterator[Mode]:
    """The modes with a free part of each point, added to the best smooth one and a smoother one; top: the best evidence."""
    best = _best(smooth)
    is_unlikely = len(family.points) > constants.FEW_POINTS and best.evidence < top - constants.evidence_margin()
    for factor in () if is_unlikely or len(family.points) > constants.MAX_FREE_POINTS else constants.SMOOTHER:
        start = best
        for free in constants.FREE_SPREADS:
            belief = replace(best.belief, roughness=best.belief.roughness * factor, free=free)
            start = fit(family, belief, information, start, best.cost)
            yield start


def _others(family: Family, information: Information, best: Mode) -> list[Mode]:
    """The modes with further features of the best one, one after the other: other multiples, or a single point."""
    multiples, columns = family.others
    costs = np.log(2 * np.repeat([len(multiples), len(family.points)], [len(multiples), len(family.points)]))
    modes: list[Mode] = []
    for _ in range(0 if family.rounded == () else constants.MAX_FEATURES):
        most = int(np.argmax(excess(family, information, best, columns) / 2 - costs))
        if most < len(multiples):
            kind = replace(best.belief, multiples=(*best.belief.multiples, multiples[most]))
        else:
            kind = replace(best.belief, alone=(*best.belief.alone, float(family.points[most - len(multiples)])))
        cost = best.cost + float(costs[most])
        parts = product({0.0, kind.heaps} if family.rounded is None else {kind.heaps}, {0.0, kind.free})
        tried = [fit(family, replace(kind, heaps=heaps, free=free), information, None, cost) for heaps, free in parts]
        modes += tried
        if _best(tried).evidence < best.evidence - constants.evidence_bound():
            break
        smooth = list(_smooth(family, information, _best(tried).belief, cost))
        more = [*smooth, *_free(family, information, smooth, best.evidence)]
        modes += more
        if _best(more).evidence <= best.evidence:
            break
        best = _best(more)
    return modes
