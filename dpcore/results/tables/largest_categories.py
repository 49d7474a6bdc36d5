"""The largest of many categories, with intervals that are valid after the selection.

With more than `SHOWN` categories, a table or picture lists those with the largest estimates.  Its intervals are simultaneous
for all categories (`FrequencyEstimate.simultaneous`).  The intervals in `frequencies.low` and `high` are for a category that
was chosen before the estimates were seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from dpcore.estimation.frequency.proportion_intervals import differs_from_equal
from dpcore.estimation.registry import names_where
from dpcore.results.text.phrases import FEW_VALUES, is_law, is_silence, largest, separated

_BOUNDS = ["simultaneous_low", "simultaneous_high"]
_UNADJUSTED = (
    "with intervals of single categories. These do not account for the selection and cover less often than stated. The round "
    "landed before version 35 of the warehouse; estimate it again for simultaneous intervals."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Listed:
    """Listed rows of `frequencies`; low and high are simultaneous limits if categories were selected.

    rows: for all clients or for groups, in their own order.  categories: their total number.  confidence: of the intervals, in
    words.  is_selection: whether only the largest are listed.  is_simultaneous: whether the intervals account for the
    selection. significant: number of proportions, over all categories and groups, that differ significantly from an equal
    proportion.  are_options: whether one respondent may have chosen several, or there are others.
    """

    rows: pd.DataFrame
    categories: int
    confidence: str
    is_selection: bool = False
    is_simultaneous: bool = False
    significant: int = 0
    are_options: bool = False

    @property
    def equal(self) -> float | None:
        """An equal proportion of all categories, in percent; None for options, where a respondent may choose several."""
        return None if self.are_options else 100 / self.categories

    @property
    def kind(self) -> str:
        """'simultaneous' or ''."""
        return "simultaneous" if self.is_simultaneous else ""

    @property
    def interval(self) -> str:
        """Name of the intervals, such as 'simultaneous 95 % interval'."""
        return " ".join(filter(None, (self.kind, self.confidence, "interval")))

    @property
    def note(self) -> str:
        """A short remark on the list, or ''."""
        if self.is_selection and not self.is_simultaneous:
            return "intervals do not account for the selection"
        is_level = self.is_simultaneous and not self.significant and not self.are_options
        return "none differs significantly from an equal share" if is_level else ""

    @property
    def sentence(self) -> str:
        """A sentence on the selection and its intervals; '' if all categories are listed."""
        if not self.is_selection:
            return ""
        shown, groups = self.rows["category"].nunique(), self.rows["given"].nunique()
        about = f"The {shown} largest of {self.categories:,} categories"
        if not self.is_simultaneous:
            return f"{about}, {_UNADJUSTED}"
        about += f", with {self.interval}s for {self.categories:,} categories{' of each group' if groups > 1 else ''}."
        if self.equal is None:
            return about
        equal = f"an equal share ({separated(float(f'{self.equal:.2g}'))} %)"
        shares = f"{self.categories * groups:,} {'shares' if groups > 1 else 'categories'}"
        if not self.significant:
            return f"{about} None of the {shares} differs significantly from {equal}: the order may be due to chance."
        verb = "differs" if self.significant == 1 else "differ"
        by_group = ", each group tested by itself" if groups > 1 else ""
        return f"{about} {self.significant:,} of the {shares} {verb} significantly from {equal}{by_group}."


def listed(rows: pd.DataFrame) -> Listed:
    """Return the rows that a table lists: the largest categories; for a numeric attribute with many values, nonresponse only.

    rows: of `frequencies`, for one attribute and estimator; for groups, the largest categories of the first group.
    """
    categories = len(_first_group(rows))
    if categories > FEW_VALUES and is_law(rows).all():
        return Listed(rows=rows[is_silence(rows)], categories=categories, confidence=confidence_of(rows["confidence"]))
    return largest_shares(rows)


def largest_shares(rows: pd.DataFrame) -> Listed:
    """Return the rows of the largest categories, or all rows if there are at most `SHOWN`; rows: as for `listed`."""
    first = _first_group(rows)
    shown, confidence = largest(first), confidence_of(rows["confidence"])
    if len(shown) == len(first):
        return Listed(rows=rows, categories=len(first), confidence=confidence, is_simultaneous=bool(kind_of(rows)))
    selected = rows[rows["category"].isin(shown["category"])]
    if not (set(_BOUNDS) <= set(rows) and rows[_BOUNDS].notna().all(axis=None)):
        return Listed(rows=selected, categories=len(first), confidence=confidence, is_selection=True)
    groups = (rows.loc[rows["given"] == group, _BOUNDS].to_numpy(float).T for group in rows["given"].unique())
    significant = sum(int(differs_from_equal(low, high).sum()) for low, high in groups)
    return Listed(
        rows=selected.assign(low=selected["simultaneous_low"], high=selected["simultaneous_high"]),
        categories=len(first),
        confidence=confidence,
        is_selection=True,
        is_simultaneous=True,
        significant=significant,
        are_options=_are_all(rows, sums_to_one=False),
    )


def kind_of(rows: pd.DataFrame) -> str:
    """Return the kind of the intervals `low` and `high`: 'simultaneous' for texts, otherwise ''."""
    return "simultaneous" if _are_all(rows, is_selected=True) else ""


def _are_all(rows: pd.DataFrame, **traits: bool) -> bool:
    """Whether all rows are of estimators with these traits."""
    return "estimator" in rows and bool(rows["estimator"].isin(names_where(**traits)).all())


def _first_group(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the first group, or for all clients."""
    return rows[rows["given"] == rows["given"].iloc[0]] if "given" in rows and len(rows) else rows


def by_category(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of groups sorted by category, in the order of the first group."""
    order = list(dict.fromkeys(rows["category"]))
    return rows.sort_values("category", key=lambda column: column.map(order.index), kind="stable")


def confidence_of(column: pd.Series) -> str:
    """Return the common confidence of a table's intervals as a percentage; '' if they differ or there are none."""
    confidences = column.dropna().unique()
    return f"{100 * float(confidences[0]):.4g} %" if len(confidences) == 1 else ""
