"""The largest of many categories, as a table or a picture lists them: with intervals that hold for what was selected.

Of more than `SHOWN` categories a list shows those with the largest estimates.  Its intervals are the simultaneous ones of all
categories (`FrequencyEstimate.simultaneous`).  The interval of a single category, which `frequencies.low` and `high` have, is
for a category that was named before the estimates were seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from dpcore.estimation.frequency.proportion_intervals import differs_from_equal
from dpcore.results.text.phrases import FEW_VALUES, is_law, is_silence, largest, separated

_BOUNDS = ["simultaneous_low", "simultaneous_high"]
_UNADJUSTED = (
    "with intervals of single categories. These do not account for the selection and cover less often than stated. The round "
    "landed before version 35 of the warehouse; estimate it again for simultaneous intervals."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Listed:
    """Rows of `frequencies` as they are listed; low and high are the simultaneous bounds where categories were selected.

    rows: of everyone or of groups, in their own order.  categories: how many exist.  confidence: of the intervals, in words.
    is_selection: whether only the largest are listed.  is_simultaneous: whether the intervals of a selection hold for it.
    significant: how many shares, of all categories and groups, differ significantly from an equal share.
    """

    rows: pd.DataFrame
    categories: int
    confidence: str
    is_selection: bool = False
    is_simultaneous: bool = False
    significant: int = 0

    @property
    def kind(self) -> str:
        """What distinguishes the intervals from those of single categories; '' where nothing does."""
        return "simultaneous" if self.is_simultaneous else ""

    @property
    def interval(self) -> str:
        """What the intervals are called, such as 'simultaneous 95 % interval'."""
        return " ".join(filter(None, (self.kind, self.confidence, "interval")))

    @property
    def note(self) -> str:
        """What the list does not show, in a few words; '' where there is nothing to say."""
        if self.is_selection and not self.is_simultaneous:
            return "intervals do not account for the selection"
        return "none differs significantly from an equal share" if self.is_simultaneous and not self.significant else ""

    @property
    def sentence(self) -> str:
        """What holds for a list of the largest; '' where all categories are listed."""
        if not self.is_selection:
            return ""
        shown, groups = self.rows["category"].nunique(), self.rows["given"].nunique()
        about = f"The {shown} largest of {self.categories:,} categories"
        if not self.is_simultaneous:
            return f"{about}, {_UNADJUSTED}"
        about += f", with {self.interval}s for {self.categories:,} categories{' of each group' if groups > 1 else ''}."
        equal = f"an equal share ({separated(float(f'{100 / self.categories:.2g}'))} %)"
        shares = f"{self.categories * groups:,} {'shares' if groups > 1 else 'categories'}"
        if not self.significant:
            return f"{about} None of the {shares} differs significantly from {equal}: the order may be due to chance."
        verb = "differs" if self.significant == 1 else "differ"
        by_group = ", each group tested by itself" if groups > 1 else ""
        return f"{about} {self.significant:,} of the {shares} {verb} significantly from {equal}{by_group}."


def listed(rows: pd.DataFrame) -> Listed:
    """Return the rows that a table lists: the largest categories; of a number with more than a few values, silence alone.

    rows: of `frequencies`, of one attribute and estimator; of groups, the categories are the largest of the first one.
    """
    categories = len(_first_group(rows))
    if categories > FEW_VALUES and is_law(rows).all():
        return Listed(rows=rows[is_silence(rows)], categories=categories, confidence=confidence_of(rows["confidence"]))
    return largest_shares(rows)


def largest_shares(rows: pd.DataFrame) -> Listed:
    """Return the rows of the largest categories, or all rows where a list has room for them; rows: as for `listed`."""
    first = _first_group(rows)
    shown, confidence = largest(first), confidence_of(rows["confidence"])
    if len(shown) == len(first):
        return Listed(rows=rows, categories=len(first), confidence=confidence)
    selected = rows[rows["category"].isin(shown["category"])]
    if not (set(_BOUNDS) <= set(rows) and rows[_BOUNDS].notna().all(axis=None)):
        return Listed(rows=selected, categories=len(first), confidence=confidence, is_selection=True)
    groups = (rows.loc[rows["given"] == given, _BOUNDS].to_numpy(float).T for given in rows["given"].unique())
    significant = sum(int(differs_from_equal(low, high).sum()) for low, high in groups)
    return Listed(
        rows=selected.assign(low=selected["simultaneous_low"], high=selected["simultaneous_high"]),
        categories=len(first),
        confidence=confidence,
        is_selection=True,
        is_simultaneous=True,
        significant=significant,
    )


def _first_group(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the first group, or of everyone."""
    return rows[rows["given"] == rows["given"].iloc[0]] if "given" in rows and len(rows) else rows


def by_category(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of groups sorted by category, in the order of the first group."""
    order = list(dict.fromkeys(rows["category"]))
    return rows.sort_values("category", key=lambda column: column.map(order.index), kind="stable")


def confidence_of(column: pd.Series) -> str:
    """Return the one confidence of a table's intervals as a percentage; '' where they differ or there are none."""
    confidences = column.dropna().unique()
    return f"{100 * float(confidences[0]):.4g} %" if len(confidences) == 1 else ""
