"""The frequencies of a categorical attribute with their intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from dpcore.results.plots import style

_BAR = 0.62  # height in rows


def plot_frequency(
    frame: pd.DataFrame,
    axes: Axes,
    *,
    truth: pd.DataFrame | None = None,
    previous: pd.DataFrame | None = None,
    title: str = "",
) -> Axes:
    """Draw one bar per category, in the frame's order from the top, with interval and truth, and return the Axes.

    frame: rows of `frequencies` of one attribute, estimator and group: category, estimate, low, high as probabilities.
    truth: rows of `truths` whose quantity is frequency(CATEGORY), drawn as a tick.  previous: rows of `frequencies` of
    an earlier round, drawn as a dotted tick.  Bars start at zero.
    Raises ValueError when rows or columns are missing, or are of several attributes.
    """
    style.need(frame, ("category", "estimate", "low", "high"))
    categories = [str(category) for category in frame["category"]]
    rows = np.arange(len(categories))
    share = 100 * frame["estimate"].to_numpy(float)
    low, high = 100 * frame["low"].to_numpy(float), 100 * frame["high"].to_numpy(float)

    axes.barh(rows, share, height=_BAR, color=style.ESTIMATE, alpha=0.22, linewidth=0)
    axes.hlines(rows, low, high, color=style.ESTIMATE, linewidth=2.4, label=style.share_of(frame, "interval"))
    axes.plot(share, rows, "o", color=style.ESTIMATE, markersize=6, label="estimate")
    ends = [share, high]
    if previous is not None:
        style.need(previous, ("category", "estimate"))
        ends.append(100 * previous.set_index("category")["estimate"].reindex(frame["category"]).to_numpy(float))
        _ticks(axes, ends[-1], rows, style.PREVIOUS, ":", "previous round")
    if truth is not None:
        style.need(truth, ("quantity", "value"))
        known = truth.set_index("quantity")["value"].reindex([f"frequency({name})" for name in categories])
        ends.append(100 * known.to_numpy(float))
        _ticks(axes, ends[-1], rows, style.TRUTH, "-", "truth")

    axes.set_yticks(rows, [style.in_words(name) for name in categories])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    furthest = np.fmax.reduce(ends)
    for row, (value, spread, end) in enumerate(zip(share, high - low, furthest, strict=True)):
        text = f"{style.rounded(value, spread)} %"
        axes.annotate(
            text,
            (end, row),
            (8, 0),
            textcoords="offset points",
            va="center",
            fontsize=style.SMALL_SIZE,
            color=style.INK,
        )
    axes.set_xlim(min(0.0, float(np.nanmin(np.concatenate([share, low])))), 1.14 * float(np.nanmax(furthest)))
    attribute = style.in_words(style.only(frame, "attribute")) or "category"
    style.dress(
        axes, title=title or f"Shares of {attribute}", subtitle=style.about(frame, interval="interval"), rules="x"
    )
    style.separate_thousands(axes, "x")
    style.label(axes, x="percent of clients")
    style.legend(axes, below=True)
    return axes


def _ticks(axes: Axes, at: np.ndarray, rows: np.ndarray, colour: str, line: str, name: str) -> None:
    axes.vlines(at, rows - _BAR / 2, rows + _BAR / 2, color=colour, linestyle=line, linewidth=2.0, label=name, zorder=3)
