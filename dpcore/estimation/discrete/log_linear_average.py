"""Distribution on support points, averaged over smoothness, heaping and freedom of each point by the evidence of each prior.

Priors are tried along paths: from straight lines to rough ones, with heaps at round numbers and without, then with a free part
of each point.  Further features, other multiples or single values, are searched for; their prior probability accounts for the
number of candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from dpcore.estimation import constants
from dpcore.estimation.discrete.log_linear_family import Belief, Family
from dpcore.estimation.discrete.log_linear_fit import Mode, excess, fit
from dpcore.mechanisms.fisher_information import Information


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
