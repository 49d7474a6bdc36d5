"""The study of malicious clients in pictures: how often each check sees an attack, by the share of clients behind it."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from dpcore.results.plots import style
from dpcore.results.text.phrases import in_words

_COLOURS = {
    "levels": "#009E73",
    "marginals": "#D55E00",
    "possible": "#CC79A7",
    "consistency": style.ESTIMATE,
    "homogeneity": "#E69F00",
}
_SPREAD = ", spread"  # malicious clients come in all batches, not in one
_APART = 0.02  # of a decade, between the checks' intervals
_COLUMNS = ("check", "beta", "value", "low", "high")


def plot_power(frame: pd.DataFrame, axes: Axes, *, title: str, subtitle: str = "") -> Axes:
    """Draw the share of rounds that each check does not pass against beta, and return the Axes.

    frame: check, beta (above 0), value, low and high, all shares; lines are 95 % intervals.  "CHECK, spread" is dashed.
    Raises ValueError when rows or columns are missing.
    """
    style.need(frame, _COLUMNS)
    groups = frame.sort_values(["check", "beta"]).groupby("check", sort=False)
    for place, (check, rows) in enumerate(groups):
        name = str(check)
        colour = _COLOURS.get(name.removesuffix(_SPREAD), style.INK)
        beta, value, low, high = (rows[column].to_numpy(dtype=float) for column in _COLUMNS[1:])
        # Side by side, or the last would hide the others.
        beta = beta * 10 ** (_APART * (place - (len(groups) - 1) / 2))
        look = "--" if name.endswith(_SPREAD) else "-"
        axes.vlines(beta, low, high, color=colour, lw=1.0, alpha=0.5)
        axes.plot(beta, value, look, color=colour, marker="o", ms=3.5, lw=1.3, label=in_words(name))
    axes.set_xscale("log")
    axes.set_xticks([0.001, 0.01, 0.1], ["0.1 %", "1 %", "10 %"])
    axes.set_ylim(-0.03, 1.03)
    axes.set_yticks([0.0, 0.5, 1.0], ["0", "50 %", "100 %"])
    style.dress(axes, title=title, subtitle=subtitle)
    axes.tick_params(which="minor", length=0, labelbottom=False)
    style.label(axes, x="malicious clients, of all", y="rounds that fail the check")
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(0.0, -0.2),
        borderaxespad=0.0,
        ncols=2,
        frameon=False,
        fontsize=style.SMALL_SIZE,
        labelcolor=style.INK,
    )
    return axes
