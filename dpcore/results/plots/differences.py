"""Pictures of the changes of an attribute and of the differences between its groups."""

from __future__ import annotations

import textwrap
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from dpcore.results.plots import style
from dpcore.results.plots.comparison import plot_comparison
from dpcore.results.plots.truth import beside_truth
from dpcore.results.text.phrases import by_other, is_share, largest, title_of, whose

_SIDES = ["given", "other_given"]
_WIDE, _NARROW = 46, 38  # characters of a title that fit next to labels of categories and of functionals


def difference_figures(
    attribute: str,
    rows: pd.DataFrame | None,
    truths: pd.DataFrame | None = None,
    unit: str = "",
    *,
    previous: str = "",
    run_id: str = "",
) -> dict[str, Figure]:
    """Return name -> figure of an attribute's rows of `comparisons`; {} without rows.

    Changes since the earlier round are NAME_changes, for proportions if there are any, otherwise for functionals.  With
    proportions, functionals are NAME_changes_numbers; groups are NAME_changes_by_OTHER.  Differences between groups are
    NAME_between_OTHER, with true values if `truths` has them.

    previous: the earlier round's name.  run_id: the run's, to find the comparisons of its own groups.
    """
    if rows is None or rows.empty:
        return {}
    title, since = title_of(attribute), f"since round {previous}" if previous else "since the earlier round"
    is_own, of_group = rows["other_run_id"] == run_id, rows["given"] != ""
    share = rows["functional"].map(is_share)
    shares, numbers = (rows[~is_own & ~of_group & mask] for mask in (share, ~share))
    parts = [
        (f"{attribute}_changes", shares, f"{title}: change {since}"),
        (f"{attribute}_changes{'_numbers' if len(shares) else ''}", numbers, f"{title}: change {since}"),
    ]
    for other, part in by_other(rows[~is_own]):
        parts.append((f"{attribute}_changes_by_{other}", part, f"{title} by {title_of(other)}: {since}"))
    for other, part in by_other(rows[is_own]):
        is_one = len(part[_SIDES].drop_duplicates()) == 1
        subject = f": {whose(*part[_SIDES].iloc[0])}" if is_one else f" by {title_of(other)}: differences"
        parts.append((f"{attribute}_between_{other}", beside_truth(part, truths), f"{title}{subject}"))
    return {name: _figure(part, title, unit) for name, part, title in parts if len(part)}


def difference_pictures(*rows: Any, **options: Any) -> dict[str, bytes]:
    """Return name -> PNG of the figures of `difference_figures`, with the same parameters."""
    return {name: style.png(figure) for name, figure in difference_figures(*rows, **options).items()}


def _figure(rows: pd.DataFrame, title: str, unit: str) -> Figure:
    """A figure of the rows; of too many, those with the largest deviations."""
    shown = largest(rows, "deviations")
    if len(shown) < len(rows):
        title = f"{title} ({len(shown)} of {len(rows):,})"
    figure, axes = style.new_axes(height=style.height_for(len(shown)))
    width = _WIDE if shown["functional"].map(is_share).all() else _NARROW
    plot_comparison(shown, axes, title="\n".join(textwrap.wrap(title, width)), unit=unit)
    return figure
