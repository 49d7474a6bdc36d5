"""A table of numbers with their intervals: each row on its own scale, the half-width of its interval.

Mean, entropy and median have nothing in common but that each has an interval; so the interval is the ruler, and a look
tells whether the truth, or the previous round, lies inside.
"""

from __future__ import annotations

import textwrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from dpcore.results.plots import style

_EDGE = 3.0  # half-widths; what lies further out is drawn at the edge as an arrow
_REASON_WIDTH = 44  # characters of a refusal's reason on one line


def plot_functional(
    frame: pd.DataFrame,
    axes: Axes,
    *,
    truth: pd.DataFrame | None = None,
    previous: pd.DataFrame | None = None,
    title: str = "",
) -> Axes:
    """Draw one dot and interval per functional, in the frame's order from the top, with its numbers; return the Axes.

    frame: rows of `functionals` of one attribute, estimator and group: functional, estimate, low, high, and reason
    for refused ones.  truth: rows of `truths` (quantity, value).  previous: rows of `functionals` of an earlier round.
    Positions are distances from the estimate in half-widths of its interval.
    Raises ValueError when rows or columns are missing, or are of several attributes.
    """
    style.need(frame, ("functional", "estimate", "low", "high"))
    names = [str(name) for name in frame["functional"]]
    estimate, low, high = (frame[column].to_numpy(float) for column in ("estimate", "low", "high"))
    width = high - low
    half = np.where((width > 0) & np.isfinite(width), width / 2, np.nan)
    rows = np.arange(len(names))
    drawn = np.isfinite(half) & np.isfinite(estimate)

    axes.hlines(
        rows[drawn],
        ((low - estimate) / half)[drawn],
        ((high - estimate) / half)[drawn],
        color=style.ESTIMATE,
        linewidth=2.4,
        label=style.share_of(frame, "interval"),
    )
    axes.plot(np.zeros(drawn.sum()), rows[drawn], "o", color=style.ESTIMATE, markersize=7, label="estimate")
    if previous is not None:
        style.need(previous, ("functional", "estimate"))
        before = previous.set_index("functional")["estimate"].reindex(names).to_numpy(float)
        _marks(axes, (before - estimate) / half, rows, "o", style.PREVIOUS, "previous round", hollow=True)
    if truth is not None:
        style.need(truth, ("quantity", "value"))
        known = truth.set_index("quantity")["value"].reindex(names).to_numpy(float)
        _marks(axes, (known - estimate) / half, rows, "D", style.TRUTH, "truth", hollow=False)

    axes.set_xlim(-_EDGE - 0.25, _EDGE + 0.25)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(rows, names)
    _write_numbers(axes, frame, drawn)
    attribute = style.in_words(style.only(frame, "attribute"))
    style.dress(
        axes,
        title=title or (f"Numbers of {attribute}" if attribute else "Numbers"),
        subtitle=style.about(frame, interval="interval"),
        rules="x",
    )
    style.separate_thousands(axes, "x")
    style.label(axes, x="distance from the estimate, in half-widths of its interval")
    style.legend(axes, below=True)
    return axes


def _marks(axes: Axes, at: np.ndarray, rows: np.ndarray, marker: str, colour: str, name: str, *, hollow: bool) -> None:
    inside = np.abs(at) <= _EDGE  # False for nan too
    face = "white" if hollow else colour
    axes.plot(at[inside], rows[inside], marker, color=colour, mfc=face, mew=1.5, markersize=6.5, label=name)
    for side, arrow in ((1, ">"), (-1, "<")):
        beyond = side * at > _EDGE
        axes.plot(np.full(beyond.sum(), side * _EDGE), rows[beyond], arrow, color=colour, mfc=face, markersize=8)


def _write_numbers(axes: Axes, frame: pd.DataFrame, drawn: np.ndarray) -> None:
    for row, (_, line) in enumerate(frame.iterrows()):
        if drawn[row]:
            spread = line["high"] - line["low"]
            value, low, high = (style.rounded(line[name], spread) for name in ("estimate", "low", "high"))
            style.in_margin(axes, row, 5, value, style.INK, fontweight="bold")
            style.in_margin(axes, row, -7, f"{low} to {high}", style.FAINT)
        elif np.isfinite(line["estimate"]):
            style.in_margin(axes, row, 5, style.rounded(line["estimate"], np.nan), style.INK, fontweight="bold")
            style.in_margin(axes, row, -7, "no interval", style.FAINT, fontstyle="italic")
        else:
            style.in_margin(axes, row, 0, "no estimate", style.FAINT, fontstyle="italic")
            reason = line.get("reason")
            if isinstance(reason, str):
                said = "\n".join(textwrap.wrap(reason, _REASON_WIDTH, max_lines=2, placeholder=" …"))
                axes.text(0, row, said, ha="center", va="center", fontsize=style.SMALL_SIZE - 1, color=style.FAINT)
