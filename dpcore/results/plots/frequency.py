"""The frequencies of a categorical attribute with their intervals."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpcore.results.plots import style
from dpcore.results.plots.kind import Kind
from dpcore.results.plots.law import plot_law
from dpcore.results.reading import in_words, is_law, largest, rounded

_BAR = 0.62  # height in rows
_TICKS: tuple[tuple[str, str, Literal[":", "-"], str], ...] = (
    ("before", style.PREVIOUS, ":", "previous round"),
    ("truth", style.TRUTH, "-", "truth"),
)


def plot_frequency(frame: pd.DataFrame, axes: Axes, *, title: str = "") -> Axes:
    """Draw one bar per category, in the frame's order from the top, with interval and truth, and return the Axes.

    frame: rows of `frequencies` of one attribute, estimator and group: category, estimate, low, high as probabilities; with
    `truth`, drawn as a tick, and `before`, the round before's estimate, as a dotted one, where they are known.
    Bars start at zero.  Raises ValueError when rows or columns are missing, or are of several attributes.
    """
    style.need(frame, ("category", "estimate", "low", "high"))
    rows = np.arange(len(frame))
    share, low, high = (100 * frame[column].to_numpy(float) for column in ("estimate", "low", "high"))
    axes.barh(rows, share, height=_BAR, color=style.ESTIMATE, alpha=0.22, linewidth=0)
    axes.hlines(rows, low, high, color=style.ESTIMATE, linewidth=2.4, label=style.share_of(frame, "interval"))
    axes.plot(share, rows, "o", color=style.ESTIMATE, markersize=6, label="estimate")
    ends = [share, high]
    for column, colour, line, name in _TICKS:
        if column in frame and frame[column].notna().any():
            at = 100 * frame[column].to_numpy(float)
            ends.append(at)
            axes.vlines(at, rows - _BAR / 2, rows + _BAR / 2, colour, line, label=name, linewidth=2.0, zorder=3)
    axes.set_yticks(rows, [in_words(str(name)) for name in frame["category"]])
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
    attribute = in_words(style.only(frame, "attribute")) or "category"
    style.dress(
        axes, title=title or f"Shares of {attribute}", subtitle=style.about(frame, interval="interval"), rules="x"
    )
    style.separate_thousands(axes, "x")
    style.label(axes, x="percent of clients")
    style.legend(axes, below=True)
    return axes


def _draw(rows: pd.DataFrame, numbers: pd.DataFrame, unit: str) -> Figure:
    """Of many categories the largest; of a number's values all, along an axis."""
    if is_law(rows).all():
        figure, axes = style.new_axes()
        plot_law(rows, axes, unit=unit)
        return figure
    shown = largest(rows)
    figure, axes = style.new_axes(height=style.height_for(len(shown)))
    title = f"Shares of {in_words(style.only(rows, 'attribute'))}: the {len(shown)} largest of {len(rows):,}"
    plot_frequency(shown, axes, title=title if len(shown) < len(rows) else "")
    return figure


SHARES = Kind(
    table="frequencies",
    draw=_draw,
    name="{attribute}",
    shows="Estimated shares of {attribute} with their intervals",
    query="frequencies",
)
