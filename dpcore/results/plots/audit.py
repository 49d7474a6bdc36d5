"""Pictures of an audit: stated epsilon, exact loss and empirical lower bound; and guesses from repeated reports."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dpcore.results.plots import style
from dpcore.results.text.phrases import in_words

_MEASURED, _FRESH = style.ESTIMATE, style.TRUTH
_BAR = 0.5  # height of a bar, in rows


def plot_audit(frame: pd.DataFrame, axes: Axes, *, title: str = "") -> Axes:
    """Draw the stated epsilon, exact loss and lower bound of each attribute, and return the Axes.

    frame: rows of `audits` of one scheme: attribute, promised, epsilon, lower_bound (NaN if not measured).
    A bar is the lower bound from reports, a diamond the exact loss, a line the stated epsilon.
    Raises ValueError if rows or columns are missing.
    """
    style.need(frame, ["attribute", "promised", "epsilon", "lower_bound"])
    for row, (promised, proven, shown) in enumerate(
        zip(frame["promised"], frame["epsilon"], frame["lower_bound"], strict=True)
    ):
        ends = (row - _BAR / 2, row + _BAR / 2)
        if shown == shown:
            axes.barh(row, shown, height=_BAR, color=_MEASURED if shown <= promised else _FRESH, lw=0)
        axes.plot([promised, promised], [ends[0] - 0.12, ends[1] + 0.12], color=style.INK, lw=1.4)
        axes.plot(proven, row, marker="D", color="white", mec=style.INK, ms=5, lw=0, clip_on=False)
    axes.set_yticks(range(len(frame)), [in_words(str(name)) for name in frame["attribute"]])
    axes.set_ylim(len(frame) - 0.5, -0.5)
    axes.set_xlim(0, 1.08 * float(frame[["promised", "epsilon", "lower_bound"]].max().max()))
    style.dress(axes, title=title or "One report", rules="x")
    style.label(axes, x="epsilon, natural-log units")
    handles = [
        Line2D([], [], color=_MEASURED, lw=6, label="lower bound from reports"),
        Line2D([], [], color="white", mec=style.INK, marker="D", lw=0, ms=5, label="exact loss"),
        Line2D([], [], color=style.INK, lw=1.4, label="stated"),
    ]
    style.place_below(axes, handles)
    return axes


def plot_averaging(frame: pd.DataFrame, axes: Axes, *, title: str = "") -> Axes:
    """Draw the proportion of clients whose answer is guessed correctly after each round, and return the Axes.

    frame: rows with round (1, 2, ..), right and fresh: proportions for clients with a secret and for clients without one, which
    draw fresh noise every time.  Raises ValueError if rows or columns are missing.
    """
    style.need(frame, ["round", "right", "fresh"])
    axes.axhline(0.5, color=style.FAINT, lw=0.8)
    axes.annotate(
        "chance", xy=(1, 0.5), xytext=(0, 3), textcoords="offset points", fontsize=style.SMALL_SIZE, color=style.FAINT
    )
    series = (("fresh", _FRESH, "s--", "fresh noise every time"), ("right", _MEASURED, "o-", "the client"))
    for column, colour, line, name in series:
        axes.plot(frame["round"], frame[column], line, color=colour, lw=1.8, ms=5, label=name, clip_on=False)
    axes.set_ylim(0.45, 1.0)
    axes.set_xticks(frame["round"].tolist())
    style.dress(axes, title=title or "Repeated reports")
    style.label(axes, x="rounds answered", y="proportion guessed correctly")
    style.legend(axes, below=True)
    return axes
