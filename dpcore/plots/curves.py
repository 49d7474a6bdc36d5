"""Curves of a table: one line for each name, error bars, and what theory says beside them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from dpcore.plots import style

_COLOURS = (style.ESTIMATE, "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_MARKERS = "osD^v<"


def plot_curves(
    frame: pd.DataFrame,
    axes: Axes,
    *,
    x: str,
    y: str,
    by: str,
    error: str = "",
    logarithmic: str = "",
    slopes: Mapping[str, float] | None = None,
    title: str = "",
    subtitle: str = "",
    labels: tuple[str, str] | None = None,
) -> Axes:
    """Draw column `y` against column `x`, a line for each value of `by`, and return the Axes.

    error: the column of standard errors, drawn as 95 % intervals; '' for none.  logarithmic: '', 'x', 'y' or 'xy'.
    slopes: for a value of `by`, the exponent that theory states, drawn dashed through the middle of its points.
    labels: of the two axes, with their units; the columns' names else.
    Raises ValueError when rows or columns are missing.
    """
    style.need(frame, [x, y, by, *([error] if error else [])])
    names = [str(name) for name in dict.fromkeys(frame[by])]
    for name, colour, marker in zip(names, cycle(_COLOURS), cycle(_MARKERS), strict=False):
        rows = frame[frame[by].astype(str) == name].sort_values(x)
        at, value = rows[x].to_numpy(dtype=float), rows[y].to_numpy(dtype=float)
        spread = 1.96 * rows[error].to_numpy(dtype=float) if error else None
        axes.errorbar(at, value, yerr=spread, color=colour, marker=marker, ms=4.5, lw=1.2, elinewidth=1.0, label=name)
        if slopes and name in slopes:
            height = np.mean(np.log(value) - slopes[name] * np.log(at))
            stated = np.exp(height) * at ** slopes[name]
            axes.plot(at, stated, color=colour, lw=1.0, ls=(0, (4, 3)), label=f"{name}: slope {slopes[name]:.3g}")
    for side in logarithmic:
        (axes.set_xscale if side == "x" else axes.set_yscale)("log")
    style.dress(axes, title=title, subtitle=subtitle)
    axes.tick_params(which="minor", length=0, labelsize=style.SMALL_SIZE, labelcolor=style.INK)
    style.label(axes, x=labels[0] if labels else style.in_words(x), y=labels[1] if labels else style.in_words(y))
    axes.legend(
        loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=style.SMALL_SIZE, labelcolor=style.INK
    )
    return axes


def plot_noise(by_sensitivity: pd.DataFrame, by_budget: pd.DataFrame, left: Axes, right: Axes) -> tuple[Axes, Axes]:
    """Draw what noise depends on, the two implications of [HuOverview] side by side, and return both Axes.

    by_sensitivity: query, sensitivity, noise_scale at one budget.  by_budget: query, epsilon, noise_scale.
    """
    style.need(by_sensitivity, ["query", "sensitivity", "noise_scale"])
    rows = by_sensitivity.sort_values("sensitivity")
    ends = rows["sensitivity"].to_numpy(dtype=float)
    ratio = float((rows["noise_scale"] / rows["sensitivity"]).iloc[0])
    left.plot(ends, ratio * ends, color=style.FAINT, lw=1.0)
    order = [str(name) for name in dict.fromkeys(by_budget["query"])]
    for query, sensitivity, scale in rows[["query", "sensitivity", "noise_scale"]].itertuples(index=False):
        i = order.index(str(query))
        left.plot(sensitivity, scale, marker=_MARKERS[i], color=_COLOURS[i], ms=6, lw=0)
    left.set_xscale("log")
    left.set_yscale("log")
    style.dress(left, title="Noise grows with sensitivity", subtitle=f"at epsilon = {1 / ratio:.3g}")
    left.tick_params(which="minor", length=0)
    style.label(left, x="sensitivity, units or USD", y="scale of the noise, units or USD")
    plot_curves(
        by_budget,
        right,
        x="epsilon",
        y="noise_scale",
        by="query",
        logarithmic="xy",
        title="and falls with the budget",
        subtitle="each line falls as 1 / epsilon",
        labels=("epsilon", ""),
    )
    return left, right
