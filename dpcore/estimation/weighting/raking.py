"""Weights by public labels from known totals of the population.

A *cell* is a combination of all labels' categories.  Weights w with sum w n = n, n the reports of each cell, give the weighted
reports the population's share of every category of every margin.  One margin, of a label alone or of all labels together, is
post-stratification [HoltSmith1979]: w_c = n P_c / n_c.  Several are raked in turn until all agree [DemingStephan1940]; of all
weights that agree, the result is closest to equal weights in Kullback-Leibler divergence.

Assumption: within a cell respondents do not differ from nonrespondents.  Margins describe the population, and labels are
public: the shares of a privatized attribute are estimates, and cannot be a margin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation import constants

JOINED = "*"  # between the labels, and the categories, of a margin of several


@dataclass(frozen=True, eq=False)
class Weights:
    """Weight of one report of each cell.

    labels: with known totals, in the scheme's order.  values: w, (C,), 0 where a cell has no report.  counts: n, (C,).
    places: per margin, the category of each cell, (C,); empty for equal weights.
    """

    labels: tuple[str, ...]
    values: np.ndarray
    counts: np.ndarray
    places: tuple[np.ndarray, ...] = ()

    @property
    def effective_n(self) -> float:
        """Number of equal-weight reports of the same precision, if cells do not differ: (sum w n)^2 / sum w^2 n [Kish1965]."""
        return float((self.values @ self.counts) ** 2 / (self.values**2 @ self.counts))

    @property
    def design_effect(self) -> float:
        """n / effective_n = 1 + cv^2, the factor of variances due to weights, if cells do not differ [Kish1965]."""
        return float(self.counts.sum() / self.effective_n)

    @cached_property
    def columns(self) -> np.ndarray:
        """Indicators that raking holds fixed for a report of each cell, (C, m): a constant, and each margin's categories."""
        cells = np.arange(len(self.counts))
        parts = [np.ones((len(cells), 1))]
        for place in self.places:
            part = np.zeros((len(cells), int(place.max()) + 1))
            part[cells, place] = 1.0
            parts.append(part)
        return np.hstack(parts)


@dataclass(frozen=True, eq=False)
class Margins:
    """Known shares of the population, by label or by several labels together.

    shares: labels in the scheme's order -> (k1[, k2, ...]), of sum one.  Each label is in one of them at most.
    categories: label -> its categories, for all of the scheme's labels.
    """

    shares: Mapping[tuple[str, ...], np.ndarray]
    categories: Mapping[str, tuple[str, ...]]

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[str, str, float]], labels: Mapping[str, Any]) -> Margins:
        """Return the margins of rows (label, category, total); labels: the scheme's, name -> an object with `.categories`.

        For several labels together a row is ("region*sex", "north*male", total).  Every category needs a row, with total 0 if
        it is empty.  Totals are normalised to shares; the sums of margins may differ by rounding, up to 1 %.
        Raises SchemeError for unknown or repeated labels and categories, or sums that differ by more.
        """
        categories = {name: tuple(label.categories) for name, label in labels.items()}
        totals: dict[str, dict[str, float]] = {}
        for label, category, total in rows:
            margin = totals.setdefault(label, {})
            if category in margin:
                raise SchemeError(f"margins have {label}={category} twice; give each category one total")
            if isinstance(total, bool) or not 0 <= float(total) < float("inf"):
                raise SchemeError(f"the total of {label}={category} must be a number of at least 0, got {total}")
            margin[category] = float(total)
        if not totals:
            raise SchemeError("margins need a row (label, category, total) at least, got none")
        shares: dict[tuple[str, ...], np.ndarray] = {}
        sums: dict[str, float] = {}
        for label, margin in totals.items():
            names, table = _table(label, margin, categories)
            for name in names:
                if any(name in others for others in shares):
                    raise SchemeError(f"{name} is in two margins; give it once, alone or together with others")
            sums[label] = float(table.sum())
            if sums[label] <= 0:
                raise SchemeError(f"the totals of {label} are all 0; give at least one above 0")
            shares[names] = table / sums[label]
        least, most = min(sums, key=lambda label: sums[label]), max(sums, key=lambda label: sums[label])
        if sums[least] < (1 - constants.TOTALS_ROUNDING) * sums[most]:
            raise SchemeError(
                f"margins must be of one population, but {most} adds up to {sums[most]:,.10g} and {least} to "
                f"{sums[least]:,.10g}; totals may differ by {constants.TOTALS_ROUNDING:.0%}, for rounding"
            )
        return cls(shares, categories)

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels with known totals, in the scheme's order."""
        return tuple(name for name in self.categories if any(name in names for names in self.shares))

    def by_category(self) -> dict[tuple[str, str], float]:
        """Return (label, category) -> its share of the population, for labels with known totals."""
        shares: dict[tuple[str, str], float] = {}
        for names, table in self.shares.items():
            for axis, name in enumerate(names):
                alone = table.sum(axis=tuple(other for other in range(table.ndim) if other != axis))
                shares |= {
                    (name, category): float(share) for category, share in zip(self.categories[name], alone, strict=True)
                }
        return shares

    def places(self) -> tuple[np.ndarray, ...]:
        """Return per margin the category of each cell, (C,)."""
        shape = tuple(len(labels) for labels in self.categories.values())
        cell = dict(zip(self.categories, np.indices(shape).reshape(len(shape), -1), strict=True))
        return tuple(
            np.ravel_multi_index([cell[name] for name in names], table.shape) for names, table in self.shares.items()
        )

    def name(self, names: tuple[str, ...], place: int) -> str:
        """Return a category of a margin as in rows: LABEL=CATEGORY."""
        at = np.unravel_index(place, self.shares[names].shape)
        categories = (self.categories[name][int(i)] for name, i in zip(names, at, strict=True))
        return f"{JOINED.join(names)}={JOINED.join(categories)}"


def _table(
    label: str, totals: Mapping[str, float], categories: Mapping[str, tuple[str, ...]]
) -> tuple[tuple[str, ...], np.ndarray]:
    """A margin's labels in the scheme's order, and its totals by their categories."""
    asked = [name.strip() for name in label.split(JOINED)]
    for name in asked:
        if name not in categories:
            has = ", ".join(categories) or "none"
            raise SchemeError(f"margins are of the scheme's labels, got {name!r}; it has {has}")
    if len(set(asked)) < len(asked):
        raise SchemeError(f"a margin names each label once, got {label}")
    wanted = {JOINED.join(one): one for one in product(*(categories[name] for name in asked))}
    spelled = totals
    if len(asked) > 1:
        spelled = {
            JOINED.join(part.strip() for part in category.split(JOINED)): total for category, total in totals.items()
        }
    for category in spelled.keys() - wanted.keys():
        raise SchemeError(f"{label} has no category {category!r}; the scheme has {_listed(wanted)}")
    if absent := [category for category in wanted if category not in spelled]:
        raise SchemeError(f"margins of {label} lack {_listed(absent)}; write 0 where the population has nobody")
    names = tuple(name for name in categories if name in asked)
    table = np.zeros([len(categories[name]) for name in names])
    for category, one in wanted.items():
        table[tuple(categories[name].index(one[asked.index(name)]) for name in names)] = spelled[category]
    return names, table


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def rake(counts: np.ndarray, margins: Margins) -> Weights:
    """Return the weights of reports by cell that give every margin's categories the population's shares.

    counts: (C,), reports of each cell.  Cells without reports have weight 0.
    Raises NotEstimable if a category of the population has no reports, if an empty one has some, or if no weights of the cells
    with reports satisfy all margins.

    Source: [DemingStephan1940]
    """
    counts = np.asarray(counts, dtype=np.float64)
    places, n = margins.places(), float(counts.sum())
    wanted = [table.ravel() * n for table in margins.shares.values()]
    for names, place, want in zip(margins.shares, places, wanted, strict=True):
        _check(margins, names, np.bincount(place, counts, len(want)), want)
    weights = np.where(counts > 0, 1.0, 0.0)
    worst: tuple[float, tuple[str, ...], int] = (0.0, (), 0)
    for _ in range(constants.MAX_ITERATIONS):
        for place, want in zip(places, wanted, strict=True):
            has = np.bincount(place, weights * counts, len(want))
            weights *= np.where(has > 0, want / np.where(has > 0, has, 1.0), 0.0)[place]
        worst = (0.0, (), 0)
        for names, place, want in zip(margins.shares, places, wanted, strict=True):
            has = np.bincount(place, weights * counts, len(want))
            off = np.abs(has / np.where(want > 0, want, 1.0) - (want > 0))
            if off.max() > worst[0]:
                worst = float(off.max()), names, int(off.argmax())
        if worst[0] <= constants.RANK_ROUNDING:
            break
    else:
        raise NotEstimable(
            f"no weights give all margins their shares: {margins.name(*worst[1:])} stays {worst[0]:.2%} off its own, with "
            f"{np.count_nonzero(counts == 0)} combinations of labels without a report; leave a margin out, or collect more"
        )
    return Weights(margins.labels, weights * (n / (weights @ counts)), counts, places)


def _check(margins: Margins, names: tuple[str, ...], has: np.ndarray, want: np.ndarray) -> None:
    """Raise NotEstimable if reports and population do not have the same categories of a margin."""
    n = has.sum()
    if n <= 0:
        raise NotEstimable("there is no report to weight; collect some first")
    for place in np.flatnonzero((has == 0) & (want > 0)).tolist():
        raise NotEstimable(
            f"no report is of {margins.name(names, place)}, which is {want[place] / n:.3g} of the population; collect some, or "
            "leave its label out of the margins"
        )
    for place in np.flatnonzero((has > 0) & (want == 0)).tolist():
        raise NotEstimable(
            f"reports are of {margins.name(names, place)}, whose total in the margins is 0; give a total above 0"
        )
