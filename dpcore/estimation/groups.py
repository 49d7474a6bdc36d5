"""Groups of one aggregate: their numbers of reports, refusals, and which may be shown.

A group by a privatized attribute is the clients whose value of it is truly c, known only through reported categories.  A row w
of the inverse of that attribute's channel makes sums over reported categories unbiased for the group.  Its share of n reports
is P = w' m / n, m the reports by reported category; they are worth n P^2 / E w^2 reports of clients known to belong to it.

Groups by public labels may be shown unless that reveals the sums of fewer reports than a minimum.  Published sums of groups
and of all clients can be added and subtracted; the results are sums over clients with weights v = x_0 + sum_g x_g 1_g, of
either sign.  A small group is protected if every such v that counts one client fully has sum |v| of at least the minimum: a
linear program for each combination of labels with too few reports.  If one has a smaller sum, the smallest group in it is
hidden, and the check is repeated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpcore.estimation import constants
from dpcore.estimation.diagnostics.evidence import Sample
from dpcore.estimation.joint.conditioning import Pair
from dpcore.functionals.group import Group


def everyone(aggregate: Any, attribute: str) -> Sample:
    """Return the sample of an estimate of the whole aggregate."""
    return Sample(aggregate=aggregate.fingerprint, n=aggregate.reports(attribute))


def groups(aggregate: Any, attribute: str, by: str) -> dict[str, Sample]:
    """Return category -> the sample of the group's estimate."""
    pair = Pair.from_aggregate(aggregate, attribute, by)
    reported = np.asarray(aggregate.statistics[by], dtype=np.float64)
    fingerprint, n = aggregate.fingerprint, aggregate.reports(attribute)
    return {
        category: Sample(aggregate=fingerprint, n=n, weights=row, reported=reported)
        for category, row in zip(pair.categories, pair.inverse, strict=True)
    }


def reports_by_category(aggregate: Any, by: str) -> dict[str, int]:
    """Return category -> number of reports that name it; respondents to one attribute of a pair also respond to the other."""
    counts = aggregate.statistics[by].tolist()
    return dict(zip(aggregate.scheme.attributes[by].categories, counts, strict=True))


def is_withheld(aggregate: Any, by: str, fewest: int) -> bool:
    """Return whether a group has reports but fewer than `fewest`: the sums of all groups would reveal its own."""
    return any(0 < n < fewest for n in reports_by_category(aggregate, by).values())


def refusal(sample: Sample, reporting: int, fewest: int) -> str:
    """Return why a group with these reports has no estimate, and a remedy: its share must exceed three standard errors.

    reporting: number of reports that name it or, if that is withheld, the smallest group next to it; each needs `fewest`.
    """
    if reporting < fewest:
        return f"{reporting:,} reports name this group or one beside it, which needs {fewest:,} (min_clients); collect more"
    share, error = sample.size / max(1, sample.n), sample.error / max(1, sample.n)
    noise = f"the group is {share:.2%} of the clients with a standard error of {error:.2%}"
    if share <= 0:
        return f"{noise}, not above zero; collect more reports or raise the other attribute's epsilon"
    more = max(1.0, (constants.CLEAR_ERRORS * error / share) ** 2)
    return (
        f"{noise}: its {sample.effective_n:,.0f} effective reports are within three standard errors of none at every level; "
        f"collect about {2 * more:,.1f} times as many, or use a larger epsilon of the other attribute"
    )


def shown(
    counts: np.ndarray, groups: Mapping[Any, np.ndarray], fewest: int, fixed: Sequence[np.ndarray] = ()
) -> set[Any]:
    """Return the groups that may be shown next to the total; all of them if `fewest` is 0.

    counts: (C,) reports of each combination of labels.  groups: name -> (C,) bool, its combinations.  An empty group is shown.
    fixed: (C,) each, other published sums.
    """
    there = np.flatnonzero(counts)
    sizes = {name: int(counts[cells].sum()) for name, cells in groups.items()}
    seen = sorted((name for name in groups if sizes[name]), key=lambda name: sizes[name])
    while seen:
        rows = [*(groups[name][there] for name in seen), *(cells[there] for cells in fixed)]
        needed = _disclosive(counts[there], np.array(rows, dtype=np.float64), fewest)[: len(seen)]
        if not needed.any():
            break
        del seen[int(needed.argmax())]
    return {*seen, *(name for name in groups if not sizes[name])}


def seen(aggregate: Any, cells: Mapping[Group, np.ndarray], fewest: int) -> list[tuple[str, Group]]:
    """Return (attribute, group) of labels whose sums of the attribute's reports may be shown and are not empty.

    cells: group -> (C,) bool, its combinations of labels.  Groups of pairs are published as well.
    """
    held, pairs = aggregate.labelled, aggregate.scheme.grouped
    shown_groups: dict[bytes, set[Group]] = {}
    groups = []
    for name, answered in () if held is None else held.answered.items():
        may = set(cells)
        others = [other for own, other in pairs if own == name and not is_withheld(aggregate, other, fewest)]
        for counts in (answered[:, None], *(held.statistics[other] for other in others)):  # by other attributes
            key, many = counts.tobytes(), counts.shape[1]
            if key not in shown_groups:
                fixed = [np.tile(np.arange(many) == category, len(counts)) for category in range(many) if many > 1]
                wide = {group: np.repeat(own, many) for group, own in cells.items()}
                shown_groups[key] = shown(counts.ravel(), wide, fewest, fixed)
            may &= shown_groups[key]
        groups += [(name, group) for group, own in cells.items() if group in may and answered[own].any()]
    return groups


def is_disclosive(counts: np.ndarray, weights: np.ndarray, groups: Mapping[Any, np.ndarray], fewest: int) -> bool:
    """Return whether a weighted sum of all clients, published next to the total and the groups, reveals too few reports.

    counts, groups: as in `shown`, all of them published.  weights: (C,), of a report of each combination.
    """
    return are_disclosive(counts, [weights, *groups.values()], fewest)


def are_disclosive(counts: np.ndarray, sums: Sequence[np.ndarray], fewest: int) -> bool:
    """Return whether sums of clients, published next to the total, reveal too few reports.

    counts: (C,) reports of each combination of labels.  sums: (C,) each, the weights of a report of each combination.
    """
    there = np.flatnonzero(counts)
    rows = np.array([weights[there] for weights in sums], dtype=np.float64)
    return bool(_disclosive(counts[there], rows, fewest).any())


def _disclosive(counts: np.ndarray, groups: np.ndarray, fewest: int) -> np.ndarray:
    """Which of the groups, (G, C), a weighted sum of too few clients uses, (G,) bool; none if there is no such sum.

    counts: (C,), all above 0.  All if the program has no solution.
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
