"""The frequencies of a categorical attribute, or of the support points of a numeric one, with their intervals."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpcore.results.plots import style
from dpcore.results.plots.picture_kind import Kind
from dpcore.results.tables.largest_categories import Listed, kind_of, largest_shares
from dpcore.results.text.phrases import by_other, is_law, rounded, title_of

_BAR = 0.62  # height in rows
_TICKS: tuple[tuple[str, str, Literal[":", "-"], str], ...] = (
    ("before", style.PREVIOUS, ":", "previous round"),
    ("truth", style.TRUTH, "-", "true value"),
)
_BAR_WIDTH = 0.8  # width of a bar, relative to the distance of support points
_THINNEST = 0.005  # minimum width of a bar with a line for its interval, relative to the axis
_TICKED = 6  # support points up to which each has a tick
_WHISKERS = 64  # support points up to which intervals are lines; beyond, a band
_ROOM = 2.5  # largest value on the axis relative to the highest bar


def plot_frequency(frame: pd.DataFrame, axes: Axes, *, title: str = "", selection: Listed | None = None) -> Axes:
    """Draw a bar with an interval for each category, in the frame's order from the top, and return the Axes.

    frame: rows of `frequencies` of one attribute, estimator and group: category, estimate, low, high as probabilities;
    optionally `truth`, drawn as a tick, and `before`, the previous round's estimate, as a dotted tick.
    selection: the largest categories, if the frame has only these; a line then shows an equal proportion, if there is one.
    Bars start at zero.  Raises ValueError if rows or columns are missing, or for several attributes.
    """
    style.need(frame, ("category", "estimate", "low", "high"))
    rows = np.arange(len(frame))
    share, low, high = (100 * frame[column].to_numpy(float) for column in ("estimate", "low", "high"))
    axes.barh(rows, share, height=_BAR, color=style.ESTIMATE, alpha=0.22, linewidth=0)
    kind = selection.kind if selection else kind_of(frame)
    axes.hlines(rows, low, high, color=style.ESTIMATE, linewidth=2.4, label=style.share_of(frame, "interval", kind))
    if selection and selection.equal is not None:
        axes.axvline(
            selection.equal, color=style.FAINT, linewidth=1.0, linestyle=(0, (4, 3)), label="equal share", zorder=1
        )
    axes.plot(share, rows, "o", color=style.ESTIMATE, markersize=6, label="estimate")
    ends = [share, high]
    for column, colour, line, name in _TICKS:
        if column in frame and frame[column].notna().any():
            at = 100 * frame[column].to_numpy(float)
            ends.append(at)
            axes.vlines(at, rows - _BAR / 2, rows + _BAR / 2, colour, line, label=name, linewidth=2.0, zorder=3)
    axes.set_yticks(rows, [title_of(style.only(frame, "attribute"), str(name)) for name in frame["category"]])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    furthest = np.fmax.reduce(ends)
    for row, (value, spread, end) in enumerate(zip(share, high - low, furthest, strict=True)):
        axes.annotate(
            f"{rounded(value, spread)} %",
            (end, row),
            (8, 0),
            textcoords="offset points",
            va="center",
            fontsize=style.SMALL_SIZE,
            color=style.INK,
        )
    axes.set_xlim(min(0.0, float(np.nanmin(np.concatenate([share, low])))), 1.14 * float(np.nanmax(furthest)))
    attribute = title_of(style.only(frame, "attribute")) or "category"
    about = style.about(frame, interval="interval", kind=kind)
    subtitle = "\n".join(filter(None, (about, selection.note if selection else "")))
    style.dress(axes, title=title or f"Proportions of {attribute}", subtitle=subtitle, rules="x")
    style.separate_thousands(axes, "x")
    style.label(axes, x="percent of clients")
    style.legend(axes, below=True)
    return axes


def _draw(rows: pd.DataFrame, numbers: pd.DataFrame, unit: str) -> Figure:
    """A figure of the largest categories, or of all values of a discrete numeric attribute."""
    if is_law(rows).all():
        figure, axes = style.new_axes()
        plot_law(rows, axes, unit=unit)
        return figure
    largest = largest_shares(rows)
    figure, axes = style.new_axes(height=style.height_for(len(largest.rows)))
    attribute = title_of(style.only(rows, "attribute"))
    title = f"Proportions of {attribute}: the {len(largest.rows)} largest of {len(rows):,}"
    selection = largest if largest.is_selection else None
    plot_frequency(largest.rows, axes, title=title if selection else "", selection=selection)
    return figure


def plot_group_shares(frame: pd.DataFrame, axes: Axes, *, unit: str = "", selection: Listed | None = None) -> Axes:
    """Draw the proportions of each group with their intervals, categories from the top, and return the Axes.

    frame: rows of `frequencies` of one attribute and estimator, for at most six groups of one other attribute or label, as for
    `plot_frequency`; a true value is a tick.  The values of a numeric attribute are along the x axis.  unit: of the attribute.
    selection: the largest categories, if the frame has only these.
    Raises ValueError if rows or columns are missing, for several attributes, or for more groups than there are colours.
    """
    style.need(frame, ("given", "category", "estimate", "low", "high"))
    groups, other = style.groups_of(frame)
    is_number, names = is_law(frame).all(), list(dict.fromkeys(frame["category"]))
    for place, (colour, (group, name)) in enumerate(zip(style.GROUPS, groups, strict=False)):
        rows = frame[frame["given"] == group]
        share, low, high = (100 * rows[column].to_numpy(float) for column in ("estimate", "low", "high"))
        truth = 100 * rows["truth"].to_numpy(float) if "truth" in rows else np.full(len(rows), np.nan)
        if is_number:
            x = pd.to_numeric(rows["category"], errors="coerce").to_numpy(float)
            axes.fill_between(x, low, high, step="mid", color=colour, alpha=0.15, linewidth=0)
            axes.plot(x, share, color=colour, linewidth=1.6, drawstyle="steps-mid", label=name)
            axes.plot(x, truth, color=colour, linewidth=1.2, linestyle="--")
            continue
        at = np.array([names.index(category) for category in rows["category"]])
        at = at + _BAR * ((place + 0.5) / len(groups) - 0.5)
        axes.hlines(at, low, high, color=colour, linewidth=2.0)
        axes.plot(share, at, "o", color=colour, markersize=5, label=name)
        axes.plot(
            truth, at, "|", color=style.TRUTH, markersize=9, markeredgewidth=1.6, label=None if place else "true value"
        )
    attribute = title_of(name := style.only(frame, "attribute"))
    kind, of_all = (
        (selection.kind, f": the {len(names)} largest of {selection.categories:,}")
        if selection
        else (kind_of(frame), "")
    )
    about = style.about(frame.drop(columns="given"), interval="interval", kind=kind)
    about = "\n".join(filter(None, (about, selection.note if selection else "")))
    if is_number:
        axes.set_ylim(bottom=0.0)
        style.whole_ticks(axes, frame["category"])
        style.label(axes, x=style.with_unit(attribute, unit), y="percent of the group")
    else:
        axes.set_yticks(range(len(names)), [title_of(name, str(category)) for category in names])
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlim(left=min(0.0, 100 * float(frame["low"].min())))
        style.label(axes, x="percent of the group")
    style.dress(
        axes, title=f"Proportions of {attribute} by {other}{of_all}", subtitle=about, rules="y" if is_number else "x"
    )
    style.separate_thousands(axes, "x", unit=unit if is_number else "")
    style.legend(axes, below=not is_number)
    return axes


def _draw_groups(rows: pd.DataFrame, numbers: pd.DataFrame, unit: str) -> Figure:
    rows = rows[rows["given"].isin(rows["given"].unique()[: len(style.GROUPS)])]
    selection = None
    if is_law(rows).all():
        figure, axes = style.new_axes()
        rows = rows[pd.to_numeric(rows["category"], errors="coerce").notna()]
    else:
        largest = largest_shares(rows)
        rows, selection = largest.rows, largest if largest.is_selection else None
        lines = rows["category"].nunique() * max(1, rows["given"].nunique() // 2)
        figure, axes = style.new_axes(height=style.height_for(lines))
    plot_group_shares(rows, axes, unit=unit, selection=selection)
    return figure


def plot_law(frame: pd.DataFrame, axes: Axes, *, unit: str = "") -> Axes:
    """Draw a bar with an interval for each value, and return the Axes; item nonresponse is in the subtitle.

    frame: rows of `frequencies` of one attribute, estimator and group: category, estimate, low, high as probabilities;
    optionally `truth` and `before`, drawn as marks.  unit: of the attribute.
    Raises ValueError if rows or columns are missing, or for several attributes.
    """
    style.need(frame, ("category", "estimate", "low", "high"))
    numbers = pd.to_numeric(frame["category"], errors="coerce")
    missing, frame = frame[numbers.isna()], frame[numbers.notna()].assign(x=numbers.dropna()).sort_values("x")
    x = frame["x"].to_numpy(float)
    share, low, high = (100 * frame[column].to_numpy(float) for column in ("estimate", "low", "high"))
    width = _BAR_WIDTH * float(np.diff(x).min())
    if len(x) <= _WHISKERS:
        width = max(width, _THINNEST * float(np.ptp(x)))
    axes.bar(x, share, width=width, color=style.ESTIMATE, alpha=0.35, linewidth=0, label="estimate")
    interval = style.share_of(frame, "interval")
    if len(x) <= _WHISKERS:
        axes.vlines(x, low, high, color=style.ESTIMATE, linewidth=1.8, label=interval)
    else:
        axes.fill_between(x, low, high, step="mid", color=style.ESTIMATE, alpha=0.15, linewidth=0, label=interval)
    tops = [share]
    for column, colour, name in (("before", style.PREVIOUS, "previous round"), ("truth", style.TRUTH, "true value")):
        if column in frame and frame[column].notna().any():
            at = 100 * frame[column].to_numpy(float)
            tops.append(at)
            marks = axes.hlines(at, x - width / 2, x + width / 2, colour, linewidth=1.8, label=name, zorder=3)
            marks.set_linestyle("dotted" if column == "before" else "solid")
    top = float(np.nanmax(np.concatenate(tops)))
    axes.set_ylim(0.0, min(_ROOM * top, 1.05 * max(top, float(np.nanmax(high)))))
    attribute = title_of(style.only(frame, "attribute"))
    nonresponse = "".join(f"  ·  no answer {100 * share:.3g} %" for share in missing["estimate"].to_numpy(float))
    subtitle = style.about(frame, interval="interval") + nonresponse
    style.dress(axes, title=f"Distribution of {attribute}", subtitle=subtitle)
    if len(x) <= _TICKED and width > _BAR_WIDTH * np.ptp(x) / (2 * _TICKED):
        axes.set_xticks(x)
    style.whole_ticks(axes, frame["category"])
    style.separate_thousands(axes, "x", "y", unit=unit)
    style.label(axes, x=style.with_unit(attribute, unit), y="percent of clients")
    style.legend(axes)
    return axes


SHARES = Kind(
    table="frequencies",
    draw=_draw,
    name="{attribute}",
    shows="Estimated proportions of {attribute} with their intervals",
    query="frequencies",
)
GROUPS = Kind(
    table="frequencies",
    draw=_draw_groups,
    name="{attribute}_by_{part}",
    parts=by_other,
    shows="Estimated proportions of {attribute} by {part}",
    query="frequencies",
)
