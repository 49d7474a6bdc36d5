"""Functionals with their intervals, each row on its own scale: the half-width of its interval.

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
from dpcore.results.plots import style
from dpcore.results.plots.picture_kind import Kind
from dpcore.results.text.phrases import read, records, title_of

_EDGE = 3.0  # half-widths; points further out are arrows at the edge
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
