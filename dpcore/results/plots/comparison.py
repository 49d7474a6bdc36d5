"""Differences with their intervals around a line at zero: what has changed since a round, or how groups differ.

Each row has two intervals: the thick one holds alone, with its own confidence; the thin one holds together with every other
row of the two runs.  A row differs where the thin one leaves zero out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dpcore.estimation.functional_estimate import normal_quantile
from dpcore.results.plots import style
from dpcore.results.text.phrases import SHOWN, Line, in_words, is_share, read, records

_QUIET = "#9AA1AB"  # of a row that is not told from zero
_LOOKS = {  # of a verdict: what it is called, its colour, and that of the dot's inside
    "yes": ("more than chance", style.ESTIMATE, style.ESTIMATE),
    "perhaps": ("perhaps: by its own interval", style.ESTIMATE, "white"),
    "no": ("not told from zero", _QUIET, _QUIET),
}


def plot_comparison(frame: pd.DataFrame, axes: Axes, *, title: str = "", unit: str = "") -> Axes:
    """Draw one dot and its two intervals per row, in the frame's order from the top, with its numbers; return the Axes.

    frame: rows of `comparisons` of one attribute, at most 30: given, other_given, functional, difference, standard_error,
    confidence, low, high, threshold, differs and reason; with `truth`, the true difference, where it is known.
    Shares are drawn in percentage points; other numbers, which have nothing in common but that each has an error, in standard
    errors, and are written beside in their own unit.  unit: of the attribute.
    Raises ValueError when rows or columns are missing, or are of several attributes.
    """
    style.need(
        frame, ("given", "other_given", "functional", "difference", "standard_error", "low", "high", "threshold")
    )
    if len(frame) > SHOWN:
        raise ValueError(f"a picture shows up to {SHOWN} differences, the frame holds {len(frame)}")
    frame = frame.reset_index(drop=True)
    of_shares = bool(frame["functional"].map(is_share).all())
    errors = frame["standard_error"].to_numpy(float)
    scale = np.full(len(frame), 100.0) if of_shares else 1 / np.where(errors > 0, errors, np.nan)
    values = [frame[name].to_numpy(float) * scale for name in ("difference", "low", "high")]
    drawn = np.isfinite(values[0]) & np.isfinite(scale)
    lines = [read(row, unit) for row in records(frame.drop(columns="truth", errors="ignore"))]
    axes.axvline(0.0, color=style.INK, linewidth=1.1, zorder=1.5)
    for row, record in enumerate(records(frame)):
        if drawn[row]:
            _draw_row(axes, row, record, lines[row].verdict, *(value[row] for value in values))
    verdicts = {line.verdict for line, is_drawn in zip(lines, drawn, strict=True) if is_drawn}
    handles = [_handle(*look) for verdict, look in _LOOKS.items() if verdict in verdicts]
    if "truth" in frame and frame["truth"].notna().any():
        truths = frame["truth"].to_numpy(float) * scale
        axes.plot(truths[drawn], np.flatnonzero(drawn), "D", color=style.TRUTH, markersize=5.5, zorder=4, label="truth")
        handles.append(Line2D([], [], marker="D", color=style.TRUTH, linewidth=0, markersize=5.5, label="truth"))
    one_pair = frame[["given", "other_given"]].nunique().max() == 1
    names = [line.text if one_pair or not line.group else f"{line.text}\n{line.group}" for line in lines]
    axes.set_yticks(range(len(frame)), names)
    axes.set_ylim(len(frame) - 0.4, -0.6)
    _set_range(axes, drawn.any())
    for row, line in enumerate(lines):
        _write_numbers(axes, row, line, drawn[row])
    confidence = style.only(frame[drawn], "confidence")
    thick = f"thick: {100 * float(confidence):.4g} % interval of the row alone" if confidence else ""
    about = "  ·  ".join(part for part in (thick, "thin: of all rows at once" if drawn.any() else "") if part)
    attribute = in_words(style.only(frame, "attribute"))
    style.dress(axes, title=title or f"Differences of {attribute}".strip(), subtitle=about, rules="x")
    style.separate_thousands(axes, "x")
    style.label(axes, x="difference, in percentage points" if of_shares else "difference, in its standard errors")
    if handles:
        style.place_below(axes, handles)
    return axes


def _draw_row(
    axes: Axes, row: int, record: dict[str, Any], verdict: str, value: float, low: float, high: float
) -> None:
    _, colour, face = _LOOKS[verdict]
    if record.get("confidence"):
        wider = record["threshold"] / normal_quantile(record["confidence"])
        axes.hlines(row, value - wider * (value - low), value + wider * (high - value), color=colour, linewidth=1.0)
    axes.hlines(row, low, high, color=colour, linewidth=3.2)
    axes.plot(value, row, "o", color=colour, mfc=face, mew=1.8, markersize=7.5, zorder=3)


def _handle(name: str, colour: str, face: str) -> Line2D:
    return Line2D([], [], marker="o", color=colour, mfc=face, mew=1.8, linewidth=3.2, markersize=7.5, label=name)


def _set_range(axes: Axes, is_drawn: bool) -> None:
    if not is_drawn:
        axes.set_xlim(-1, 1)
        return
    axes.margins(x=0.04)
    axes.autoscale_view(scalex=True, scaley=False)
    left, right = axes.get_xlim()
    least = 0.15 * (right - left)  # on either side of zero, which is never the edge of the picture
    axes.set_xlim(min(left, -least), max(right, least))


def _write_numbers(axes: Axes, row: int, line: Line, is_drawn: bool) -> None:
    if is_drawn:
        weight = "bold" if line.verdict == "yes" else "normal"
        style.in_margin(axes, row, 5, line.value, style.INK, fontweight=weight)
        style.in_margin(axes, row, -7, line.interval, style.FAINT)
    else:
        style.refusal(axes, row, "no difference", line.note)
