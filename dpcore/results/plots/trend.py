"""Numbers of an attribute over rounds: estimates with intervals, smoothed values with their band, and a forecast."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpcore.protocol.domain import dates
from dpcore.results.plots import style
from dpcore.results.plots.picture_kind import Kind
from dpcore.results.tables.trend_rows import days_of
from dpcore.results.text.phrases import in_words, is_share, phrase, rank

_PANELS = 4
_TITLE = 30  # characters on a line of a panel's title


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
    style.dress(axes, title=title or textwrap.fill(wording.text, _TITLE))
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


def _draw(rows: pd.DataFrame, numbers: pd.DataFrame, unit: str) -> Figure:
    """A figure with a panel for each number: the largest proportions, then the most common functionals."""
    last = rows[rows["round"] == rows["round"].max()].set_index("functional")["smoothed"]
    names = sorted(last.index, key=lambda name: (rank(name), -last[name] if is_share(name) else 0))[:_PANELS]
    attribute = in_words(style.only(rows, "attribute"))
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
    draw=_draw,
    name="{attribute}_trend",
    parts=_smoothed,
    shows="{attribute} over rounds: estimates with their intervals, smoothed values and a forecast",
    query="trends",
)
