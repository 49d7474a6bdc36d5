"""The pictures of what has changed of an attribute, and of how its groups differ."""

from __future__ import annotations

import textwrap

import pandas as pd

from dpcore.results.plots import style
from dpcore.results.plots.comparison import MOST_ROWS, plot_comparison, sides

_SIDES = ["given", "other_given"]
_TITLE_WIDTH = 46  # characters that fit beside the labels of rows


def difference_pictures(
    attribute: str,
    rows: pd.DataFrame | None,
    truths: pd.DataFrame | None = None,
    unit: str = "",
    *,
    previous: str = "",
    run_id: str = "",
) -> dict[str, bytes]:
    """Return name -> PNG of an attribute's rows of `comparisons`; {} without any.

    Changes since the earlier round are NAME_changes (of shares where there are any, else of functionals), those of functionals
    beside shares NAME_changes_numbers, those of groups NAME_changes_by_OTHER.  Groups against each other are
    NAME_between_OTHER, with the truth where `truths` has it.

    previous: the earlier round's name.  run_id: the run's, by which comparisons of its own groups are known.
    """
    if rows is None or rows.empty:
        return {}
    is_own = rows["other_run_id"] == run_id
    title = style.in_words(attribute).capitalize()
    return _changes(attribute, title, rows[~is_own], previous, unit) | _between(
        attribute, title, rows[is_own], truths, unit
    )


def _changes(attribute: str, title: str, rows: pd.DataFrame, previous: str, unit: str) -> dict[str, bytes]:
    since = f"since round {previous}" if previous else "since the earlier round"
    is_share, of_group = rows["functional"].str.startswith("frequency("), rows["given"] != ""
    shares, numbers = rows[is_share & ~of_group], rows[~is_share & ~of_group]
    pictures = {}
    if len(shares):
        pictures[f"{attribute}_changes"] = _picture(shares, f"{title}: change {since}", unit)
    if len(numbers):
        name = f"{attribute}_changes_numbers" if len(shares) else f"{attribute}_changes"
        pictures[name] = _picture(numbers, f"{title}: change {since}", unit)
    for other, found in _by_other(rows[of_group]):
        pictures[f"{attribute}_changes_by_{other}"] = _picture(
            found, f"{title} by {style.in_words(other)}: {since}", unit
        )
    return pictures


def _between(
    attribute: str, title: str, rows: pd.DataFrame, truths: pd.DataFrame | None, unit: str
) -> dict[str, bytes]:
    pictures = {}
    for other, found in _by_other(rows):
        is_one = len(found[_SIDES].drop_duplicates()) == 1
        what = f": {sides(*found[_SIDES].iloc[0])}" if is_one else f" by {style.in_words(other)}: differences"
        pictures[f"{attribute}_between_{other}"] = _picture(found, f"{title}{what}", unit, _true(found, truths))
    return pictures


def _by_other(rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """The rows of the groups of each other attribute."""
    if rows.empty:
        return []
    others = rows["given"].str.partition("=")[0]
    return [(str(other), rows[others == other]) for other in others.unique()]


def _true(rows: pd.DataFrame, truths: pd.DataFrame | None) -> pd.DataFrame | None:
    """The true differences of the rows, null where they are unknown."""
    if truths is None or truths.empty:
        return None
    values = truths[truths["x"].isna()].set_index(["given", "quantity"])["value"]
    ours, theirs = (values.reindex(pd.MultiIndex.from_frame(rows[[side, "functional"]])) for side in _SIDES)
    return rows[[*_SIDES, "functional"]].assign(value=ours.to_numpy() - theirs.to_numpy())


def _picture(rows: pd.DataFrame, title: str, unit: str, truth: pd.DataFrame | None = None) -> bytes:
    """The rows; where they are too many, those furthest from zero."""
    if len(rows) > MOST_ROWS:
        title = f"{title} ({MOST_ROWS} of {len(rows):,})"
        rows = rows.loc[rows["deviations"].nlargest(MOST_ROWS).index.sort_values()]
    figure, axes = style.new_axes(height=style.height_for(len(rows)))
    plot_comparison(rows, axes, truth=truth, title="\n".join(textwrap.wrap(title, _TITLE_WIDTH)), unit=unit)
    return style.png(figure)
