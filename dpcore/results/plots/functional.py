"""Functionals with their intervals, each row on its own scale, the half-width of its interval; and numbers over rounds.

Mean, entropy and median have different units, so positions are relative to the interval, and coverage of the true value is
visible.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpcore.estimation.functional_estimate import REPEATED
from dpcore.protocol.domain import dates
from dpcore.results.plots import style
from dpcore.results.plots.picture_kind import Kind
from dpcore.results.tables.trend_rows import days_of
from dpcore.results.text.phrases import is_share, phrase, rank, read, records, title_of

_EDGE = 3.0  # half-widths; points further out are arrows at the edge
_PANELS = 2  # numbers over rounds in one picture
_NAME_WIDTH = 30  # characters of a functional's name on one line


def plot_functional(frame: pd.DataFrame, axes: Axes, *, unit: str = "") -> Axes:
    """Draw a dot and an interval for each functional, in the frame's order from the top, and return the Axes.

    frame: rows of `functionals` of one attribute, estimator and group: functional, estimate, low, high, reason if no estimate
    is available, optionally truth.  unit: of the attribute.
    Positions are distances from the estimate in half-widths of its interval.
    Raises ValueError if rows or columns are missing, or for several attributes.
    """
    style.need(frame, ("functional", "estimate", "low", "high"))
    estimate, low, high = (frame[column].to_numpy(float) for column in ("estimate", "low", "high"))
    width = high - low
    half = np.where((width > 0) & np.isfinite(width), width / 2, np.nan)
    rows = np.arange(len(frame))
    drawn = np.isfinite(half) & np.isfinite(estimate)
    ends = (((end - estimate) / half)[drawn] for end in (low, high))
    axes.hlines(rows[drawn], *ends, color=style.ESTIMATE, linewidth=2.4, label=style.share_of(frame, "interval"))
    axes.plot(np.zeros(drawn.sum()), rows[drawn], "o", color=style.ESTIMATE, markersize=7, label="estimate")
    if "truth" in frame and frame["truth"].notna().any():
        at = (frame["truth"].to_numpy(float) - estimate) / half
        inside = np.abs(at) <= _EDGE  # False for nan too
        axes.plot(at[inside], rows[inside], "D", mew=1.5, markersize=6.5, color=style.TRUTH, label="true value")
        for side, arrow in ((1, ">"), (-1, "<")):
            beyond = side * at > _EDGE
            axes.plot(np.full(beyond.sum(), side * _EDGE), rows[beyond], arrow, markersize=8, color=style.TRUTH)
    axes.set_xlim(-_EDGE - 0.25, _EDGE + 0.25)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    lines = [read(row, unit) for row in records(frame)]
    axes.set_yticks(rows, [textwrap.fill(line.text, _NAME_WIDTH) for line in lines])
    for row, line in enumerate(lines):
        if drawn[row]:
            style.in_margin(axes, row, 5, line.value, style.INK, fontweight="bold")
            style.in_margin(axes, row, -7, line.interval, style.FAINT)
        elif line.estimate:
            style.in_margin(axes, row, 5, line.value, style.INK, fontweight="bold")
            style.in_margin(axes, row, -7, "no interval", style.FAINT, fontstyle="italic")
        else:
            style.refusal(axes, row, "no estimate", line.note)
    attribute = title_of(style.only(frame, "attribute"))
    about = style.about(frame, interval="interval")
    style.dress(axes, title=f"Estimates of {attribute}" if attribute else "Estimates", subtitle=about, rules="x")
    style.separate_thousands(axes, "x")
    style.label(axes, x="distance from the estimate, in half-widths of its interval")
    style.legend(axes, below=True)
    return axes


def _draw(rows: pd.DataFrame, numbers: pd.DataFrame, unit: str) -> Figure:
    if "estimator" in rows:
        rows = rows[~rows["estimator"].isin(REPEATED)]  # alternative intervals of the same functionals
    figure, axes = style.new_axes(height=style.height_for(len(rows)))
    plot_functional(rows, axes, unit=unit)
    return figure


def _groups(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield (name for files, rows) of each group."""
    for name, group in rows[rows["given"] != ""].groupby("given", sort=False):
        yield re.sub(r"\W+", "_", str(name)).strip("_"), group


NUMBERS = Kind(table="functionals", draw=_draw, name="{attribute}_numbers")
GROUPS = Kind(table="functionals", draw=_draw, name="{attribute}_numbers_of_{part}", parts=_groups)


def plot_trend(frame: pd.DataFrame, axes: Axes, *, title: str = "", unit: str = "") -> Axes:
    """Draw a point with an interval for each round, and the smoothed curve with its band, and return the Axes.

    frame: rows of the view `trends` of one number, by round: round, number as `functional`, estimate, low, high, smoothed,
    smoothed_low and smoothed_high, and the forecast of the last row.  unit: of the attribute.
    Raises ValueError if rows or columns are missing, or for several numbers.
    """
    style.need(frame, ("round", "functional", "estimate", "smoothed", "smoothed_low", "smoothed_high", "forecast"))
    wording = phrase(style.only(frame, "functional"), unit)
    x, are_dates = days_of(list(frame["round"]))
    estimate, low, high, smoothed, least, most = (
        wording.factor * frame[name].to_numpy(float)
        for name in ("estimate", "low", "high", "smoothed", "smoothed_low", "smoothed_high")
    )
    axes.vlines(x, low, high, color=style.PREVIOUS, linewidth=1.0, alpha=0.6)
    axes.plot(x, estimate, "o", color=style.PREVIOUS, markersize=4)
    axes.fill_between(x, least, most, color=style.ESTIMATE, alpha=0.22, linewidth=0)
    axes.plot(x, smoothed, color=style.ESTIMATE, linewidth=2.0)
    last = wording.factor * frame[["forecast", "forecast_low", "forecast_high"]].iloc[-1].astype(float)
    ahead = x[-1] + np.median(np.diff(x))
    axes.vlines(ahead, last["forecast_low"], last["forecast_high"], color=style.ESTIMATE, linewidth=1.6)
    axes.plot(ahead, last["forecast"], "o", color=style.ESTIMATE, mfc="white", mew=1.6, markersize=6)
    style.dress(axes, title=title or textwrap.fill(wording.text, _NAME_WIDTH))
    style.separate_thousands(axes, "x", "y", unit=dates.DAYS if are_dates else "")
    if not are_dates:
        places = np.unique(np.linspace(0, len(x) - 1, 4).round().astype(int))
        axes.set_xticks(x[places], [frame["round"].iloc[place] for place in places])
    style.label(axes, y=wording.unit)
    return axes


def _smoothed(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield ('', rows for all clients of numbers that are smoothed), if there are any."""
    overall = rows[rows["given"] == ""]
    if len(overall) and overall["smoothed"].notna().any():
        yield "", overall[overall["smoothed"].notna()]


def _draw_trends(rows: pd.DataFrame, numbers: pd.DataFrame, unit: str) -> Figure:
    """A figure with a panel for each number: the largest proportions, then the most common functionals."""
    last = rows[rows["round"] == rows["round"].max()].set_index("functional")["smoothed"]
    names = sorted(last.index, key=lambda name: (rank(name), -last[name] if is_share(name) else 0))[:_PANELS]
    attribute = title_of(style.only(rows, "attribute"))
    figure, panels = style.new_panels(
        len(names),
        title=f"{attribute} over {rows['round'].nunique()} rounds",
        subtitle="grey: each round  ·  blue: smoothed  ·  open: next round",
        width=3.6,
        height=2.5,
        most=2,
    )
    for axes, name in zip(panels, names, strict=True):
        plot_trend(rows[rows["functional"] == name], axes, unit=unit)
    return figure


SMOOTHED = Kind(
    table="smoothed",
    draw=_draw_trends,
    name="{attribute}_trend",
    parts=_smoothed,
    shows="{attribute} over rounds: estimates with their intervals, smoothed values and a forecast",
    query="trends",
)
