"""The discrete distribution of a numeric attribute: a bar for each support point."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from dpcore.results.plots import style
from dpcore.results.text.phrases import title_of

_BAR = 0.8  # width of a bar, relative to the distance of support points
_THINNEST = 0.005  # minimum width of a bar with a line for its interval, relative to the axis
_TICKS = 6  # support points up to which each has a tick
_WHISKERS = 64  # support points up to which intervals are lines; beyond, a band
_ROOM = 2.5  # largest value on the axis relative to the highest bar


def plot_law(frame: pd.DataFrame, axes: Axes, *, unit: str = "") -> Axes:
    """Draw a bar with an interval for each value, and return the Axes; item nonresponse is in the subtitle.

    frame: rows of `frequencies` of one attribute, estimator and group: category, estimate, low, high as probabilities;
    optionally `truth` and `before`, drawn as marks.  unit: of the attribute.
    Raises ValueError if rows or columns are missing, or for several attributes.
    """
    style.need(frame, ("category", "estimate", "low", "high"))
    numbers = pd.to_numeric(frame["category"], errors="coerce")
    missing, frame = frame[numbers.isna()], frame[numbers.notna()].assign(x=numbers.dropna()).sort_values("x")
    x = frame["x"].to_numpy(float)
    share, low, high = (100 * frame[column].to_numpy(float) for column in ("estimate", "low", "high"))
    width = _BAR * float(np.diff(x).min())
    if len(x) <= _WHISKERS:
        width = max(width, _THINNEST * float(np.ptp(x)))
    axes.bar(x, share, width=width, color=style.ESTIMATE, alpha=0.35, linewidth=0, label="estimate")
    interval = style.share_of(frame, "interval")
    if len(x) <= _WHISKERS:
        axes.vlines(x, low, high, color=style.ESTIMATE, linewidth=1.8, label=interval)
    else:
        axes.fill_between(x, low, high, step="mid", color=style.ESTIMATE, alpha=0.15, linewidth=0, label=interval)
    tops = [share]
    for column, colour, name in (("before", style.PREVIOUS, "previous round"), ("truth", style.TRUTH, "true value")):
        if column in frame and frame[column].notna().any():
            at = 100 * frame[column].to_numpy(float)
            tops.append(at)
            marks = axes.hlines(at, x - width / 2, x + width / 2, colour, linewidth=1.8, label=name, zorder=3)
            marks.set_linestyle("dotted" if column == "before" else "solid")
    top = float(np.nanmax(np.concatenate(tops)))
    axes.set_ylim(0.0, min(_ROOM * top, 1.05 * max(top, float(np.nanmax(high)))))
    attribute = title_of(style.only(frame, "attribute"))
    nonresponse = "".join(f"  ·  no answer {100 * share:.3g} %" for share in missing["estimate"].to_numpy(float))
    subtitle = style.about(frame, interval="interval") + nonresponse
    style.dress(axes, title=f"Distribution of {attribute}", subtitle=subtitle)
    if len(x) <= _TICKS and width > _BAR * np.ptp(x) / (2 * _TICKS):
        axes.set_xticks(x)
    style.whole_ticks(axes, frame["category"])
    style.separate_thousands(axes, "x", "y", unit=unit)
    style.label(axes, x=style.with_unit(attribute, unit), y="percent of clients")
    style.legend(axes)
    return axes
