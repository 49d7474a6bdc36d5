"""Which groups may be shown so that nobody can tell what fewer reports than so many say.

Groups are categories of public labels, whose sums anybody may add and subtract as they are published, everyone's among them.
What comes of it is a sum over people with weights v = x_0 + sum_g x_g 1_g, of either sign.  Nothing is told of few where every
such v that counts one person whole counts so many people at least, sum |v|: a linear program for each combination of labels of
too few reports.  Where one finds fewer, the smallest of the groups that it needs is hidden, and all is looked at again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpcore.estimation import constants
from dpcore.estimation.groups import is_withheld
from dpcore.functionals.group import Group


def shown(
    counts: np.ndarray, groups: Mapping[Any, np.ndarray], fewest: int, fixed: Sequence[np.ndarray] = ()
) -> set[Any]:
    """Return the groups that may be shown beside everyone; all of them where `fewest` is 0.

    counts: (C,) reports of each combination of labels.  groups: name -> (C,) bool, its combinations.  An empty group is shown:
    there is nobody in it.  fixed: (C,) each, what is shown besides.
    """
    there = np.flatnonzero(counts)
    sizes = {name: int(counts[cells].sum()) for name, cells in groups.items()}
    seen = sorted((name for name in groups if sizes[name]), key=lambda name: sizes[name])
    while seen:
        rows = [*(groups[name][there] for name in seen), *(cells[there] for cells in fixed)]
        needed = _tells(counts[there], np.array(rows, dtype=np.float64), fewest)[: len(seen)]
        if not needed.any():
            break
        del seen[int(needed.argmax())]
    return {*seen, *(name for name in groups if not sizes[name])}


def seen(aggregate: Any, cells: Mapping[Group, np.ndarray], fewest: int) -> list[tuple[str, Group]]:
    """Return (attribute, group) of labels whose sums of the attribute's reports may be shown, and are of any.

    cells: group -> (C,) bool, the combinations of labels that are its own.  Groups of pairs are shown besides.
    """
    held, pairs = aggregate.labelled, aggregate.scheme.grouped
    shown_groups: dict[bytes, set[Group]] = {}
    groups = []
    for name, answered in () if held is None else held.answered.items():
        may = set(cells)
        others = [other for own, other in pairs if own == name and not is_withheld(aggregate, other, fewest)]
        for counts in (answered[:, None], *(held.statistics[other] for other in others)):  # by what else is said
            key, many = counts.tobytes(), counts.shape[1]
            if key not in shown_groups:
                fixed = [np.tile(np.arange(many) == category, len(counts)) for category in range(many) if many > 1]
                wide = {group: np.repeat(own, many) for group, own in cells.items()}
                shown_groups[key] = shown(counts.ravel(), wide, fewest, fixed)
            may &= shown_groups[key]
        groups += [(name, group) for group, own in cells.items() if group in may and answered[own].any()]
    return groups


def tells(counts: np.ndarray, weights: np.ndarray, groups: Mapping[Any, np.ndarray], fewest: int) -> bool:
    """Return whether a weighted sum of everyone, published beside everyone's and the groups', tells what too few reports say.

    counts, groups: as of `shown`, all of them seen.  weights: (C,), what a report of each combination counts for.
    """
    there = np.flatnonzero(counts)
    rows = [weights[there], *(cells[there] for cells in groups.values())]
    return bool(_tells(counts[there], np.array(rows, dtype=np.float64), fewest).any())


def _tells(counts: np.ndarray, groups: np.ndarray, fewest: int) -> np.ndarray:
    """Which of the groups, (G, C), a weighted sum of fewer people needs, (G,) bool; none where there is none.

    counts: (C,), all above 0.  Where the program has no answer, all are needed.
    """
    from scipy.optimize import linprog  # asked for labels alone

    kinds, kind = np.unique(groups, axis=1, return_inverse=True)  # alike in what is shown: of one weight
    people = np.minimum(np.bincount(kind.ravel(), counts), constants.MANY * fewest)
    size = len(people)
    weights = np.hstack([np.ones((size, 1)), kinds.T])
    cost = np.concatenate([np.zeros(weights.shape[1]), people, people])  # v = p - q, p and q >= 0
    bounds = [(None, None)] * weights.shape[1] + [(0, None)] * (2 * size)
    equal = np.vstack([np.hstack([weights, -np.eye(size), np.eye(size)]), np.zeros((1, len(cost)))])
    for one in np.flatnonzero(people < fewest):
        equal[-1] = 0.0
        equal[-1, : weights.shape[1]] = weights[one]
        program = linprog(cost, A_eq=equal, b_eq=np.append(np.zeros(size), 1.0), bounds=bounds)
        if program.x is None:
            return np.ones(len(groups), dtype=bool)
        if cost @ program.x < fewest - constants.SOLVER_ROUNDING:
            return np.asarray(np.abs(program.x[1 : weights.shape[1]]) > constants.SOLVER_ROUNDING)
    return np.zeros(len(groups), dtype=bool)
