"""Curves of a table: one line for each name, error bars, and theory dashed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from dpcore.results.plots import style

_COLOURS = (style.ESTIMATE, "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8B5A2B", style.INK, style.PREVIOUS)
_MARKERS = "osD^v<>Ph"
_STATED = (0, (4, 3))  # dashes
_WIDE = 10.0  # from end to end, where powers of ten are labels enough, if there are
_FEWEST = 3  # of them; else these are between
_BETWEEN = (1.0, 2.0, 5.0)
_COLUMNS = ("curve", "x", "value", "error", "stated")


def plot_curves(
    frame: pd.DataFrame,
    axes: Axes,
    *,
    x: str,
    y: str,
    names: Sequence[str] = (),
    logarithmic: str = "",
    slope: bool = False,
    title: str = "",
) -> Axes:
    """Draw `value` against `x`, a line for each `curve`, and `stated` dashed in its colour, and return the Axes.

    frame: columns curve, x, value, error (standard errors, drawn as 95 % intervals where they are above 0) and stated; NaN
    where there is none.  x, y: what the axes are, with units.  names: of curves, in the order of their colours; by default
    those of the frame.  logarithmic: '', 'x', 'y' or 'xy'.  slope: whether the legend shows slopes of log value in log x.
    Raises ValueError when rows or columns are missing.
    """
    style.need(frame, _COLUMNS)
    order = list(names or dict.fromkeys(frame["curve"]))
    for curve, rows in frame.sort_values("x").groupby("curve", sort=False):
        place = order.index(str(curve))
        colour = _COLOURS[place % len(_COLOURS)]
        at, value, error, stated = (rows[name].to_numpy(dtype=float) for name in _COLUMNS[1:])
        has_values = np.isfinite(value).any()
        text = str(curve)
        if slope:
            slopes = {"": value, "stated ": stated}
            text += ": " + ", ".join(f"{word}{_slope(at, y):.2f}" for word, y in slopes.items() if np.isfinite(y).any())
        if has_values:
            spread = 1.96 * np.where(error > 0, error, 0.0)
            axes.errorbar(
                at,
                value,
                yerr=spread if spread.any() else None,
                color=colour,
                marker=_MARKERS[place % len(_MARKERS)],
                ms=4.5,
                lw=1.2,
                elinewidth=1.0,
                label=text,
            )
        if np.isfinite(stated).any():
            axes.plot(at, stated, color=colour, lw=1.3, ls=_STATED, label=None if has_values else text)
    for side in logarithmic:
        (axes.set_xscale if side == "x" else axes.set_yscale)("log")
        low, high = axes.get_xlim() if side == "x" else axes.get_ylim()
        axis = axes.xaxis if side == "x" else axes.yaxis
        if high > _WIDE * low:
            axis.set_minor_formatter(NullFormatter())
            if np.floor(np.log10(high)) - np.ceil(np.log10(low)) < _FEWEST - 1:
                axis.set_major_locator(LogLocator(subs=_BETWEEN))
                axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    style.dress(axes, title=title)
    axes.tick_params(which="minor", length=0, labelsize=style.SMALL_SIZE, labelcolor=style.INK)
    style.label(axes, x=x, y=y)
    handles, labels = axes.get_legend_handles_labels()
    order_shown = sorted(range(len(labels)), key=lambda i: order.index(_named(labels[i], order)))
    axes.legend(
        [handles[i] for i in order_shown],
        [labels[i] for i in order_shown],
        loc="upper left",
        bbox_to_anchor=(0.0, -0.2),
        borderaxespad=0.0,
        frameon=False,
        fontsize=style.SMALL_SIZE,
        labelcolor=style.INK,
    )
    return axes


def _named(label: str, names: Sequence[str]) -> str:
    return label if label in names else label.rsplit(":", 1)[0]


def _slope(x: np.ndarray, y: np.ndarray) -> float:
    is_positive = (x > 0) & (y > 0)
    return (
        float(np.polyfit(np.log(x[is_positive]), np.log(y[is_positive]), 1)[0])
        if np.unique(x[is_positive]).size > 1
        else float("nan")
    )
