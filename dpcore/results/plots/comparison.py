"""Differences with their intervals around a line at zero: what has changed since a round, or how groups differ.

Each row has two intervals: the thick one holds alone, with its own confidence; the thin one holds together with every other
row of the two runs.  A row differs where the thin one leaves zero out.
"""

from __future__ import annotations

import textwrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dpcore.estimation.functional_estimate import normal_quantile
from dpcore.results.plots import style

MOST_ROWS = 30  # that a picture can hold; all of them are in the table
_SHARE = "frequency("
_REASON_WIDTH = 52  # characters of a refusal's reason on one line
_QUIET = "#9AA1AB"  # of a row that is not told from zero


def plot_comparison(
    frame: pd.DataFrame, axes: Axes, *, truth: pd.DataFrame | None = None, title: str = "", unit: str = ""
) -> Axes:
    """Draw one dot and its two intervals per row, in the frame's order from the top, with its numbers; return the Axes.

    frame: rows of `comparisons` of one attribute, at most 30: given, other_given, functional, difference, standard_error,
    confidence, low, high, threshold, differs and reason.  Shares are drawn in percentage points; other numbers, which have
    nothing in common but that each has an error, in standard errors, and are written beside in their own unit.
    truth: the same rows' true differences: given, other_given, functional, value.
    unit: of the attribute, written after means and quantiles.
    Raises ValueError when rows or columns are missing, or are of several attributes.
    """
    style.need(
        frame, ("given", "other_given", "functional", "difference", "standard_error", "low", "high", "threshold")
    )
    if len(frame) > MOST_ROWS:
        raise ValueError(f"a picture shows up to {MOST_ROWS} differences, the frame holds {len(frame)}")
    frame = frame.reset_index(drop=True)
    is_share = bool(frame["functional"].str.startswith(_SHARE).all())
    errors = frame["standard_error"].to_numpy(float)
    scale = np.full(len(frame), 100.0) if is_share else 1 / np.where(errors > 0, errors, np.nan)
    values = {name: frame[name].to_numpy(float) * scale for name in ("difference", "low", "high")}
    drawn = np.isfinite(values["difference"]) & np.isfinite(scale)
    axes.axvline(0.0, color=style.INK, linewidth=1.1, zorder=1.5)
    for row, (_, line) in enumerate(frame.iterrows()):
        if drawn[row]:
            _draw_row(axes, row, line, *(values[name][row] for name in values))
    if truth is not None and len(truth):
        keys = ["given", "other_given", "functional"]
        known = frame[keys].merge(truth, on=keys, how="left")["value"].to_numpy(float) * scale
        axes.plot(known[drawn], np.flatnonzero(drawn), "D", color=style.TRUTH, markersize=5.5, zorder=4, label="truth")

    rows = np.arange(len(frame))
    one_pair = frame[["given", "other_given"]].nunique().max() == 1
    axes.set_yticks(rows, [_name(line, "" if one_pair else "\n") for _, line in frame.iterrows()])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    _set_range(axes, drawn.any())
    _write_numbers(axes, frame, drawn, unit)
    confidence = style.only(frame[drawn], "confidence")
    said = f"thick: {100 * float(confidence):.4g} % interval of the row alone" if confidence else ""
    about = "  ·  ".join(part for part in (said, "thin: of all rows at once" if drawn.any() else "") if part)
    attribute = style.in_words(style.only(frame, "attribute"))
    style.dress(axes, title=title or f"Differences of {attribute}".strip(), subtitle=about, rules="x")
    style.separate_thousands(axes, "x")
    style.label(axes, x="difference, in percentage points" if is_share else "difference, in its standard errors")
    _legend(axes, frame[drawn], truth is not None and len(truth) > 0)
    return axes


def _draw_row(axes: Axes, row: int, line: pd.Series, value: float, low: float, high: float) -> None:
    verdict = _verdict(line)
    colour = _QUIET if verdict == "no" else style.ESTIMATE
    wider = float(line["threshold"]) / normal_quantile(float(line["confidence"])) if "confidence" in line else np.nan
    if np.isfinite(wider):
        axes.hlines(row, value - wider * (value - low), value + wider * (high - value), color=colour, linewidth=1.0)
    axes.hlines(row, low, high, color=colour, linewidth=3.2)
    face = colour if verdict != "perhaps" else "white"
    axes.plot(value, row, "o", color=colour, mfc=face, mew=1.8, markersize=7.5, zorder=3)


def _verdict(line: pd.Series) -> str:
    if pd.notna(line.get("differs")) and bool(line["differs"]):
        return "yes"
    return "no" if line["low"] <= 0 <= line["high"] else "perhaps"


def sides(given: str, other: str) -> str:
    """Return which groups a row is of, '' for everyone's."""
    here, there = (style.in_words(side.partition("=")[2]) for side in (given, other))
    return here if here == there else f"{here} − {there}"


def _name(line: pd.Series, separator: str) -> str:
    """The functional, or the category; and, behind the separator, whose it is."""
    functional = str(line["functional"])
    name = style.in_words(functional[len(_SHARE) : -1]) if functional.startswith(_SHARE) else functional
    whose = sides(str(line["given"]), str(line["other_given"]))
    return f"{name}{separator}{whose}" if separator and whose else name


def _set_range(axes: Axes, is_drawn: bool) -> None:
    if not is_drawn:
        axes.set_xlim(-1, 1)
        return
    axes.margins(x=0.04)
    axes.autoscale_view(scalex=True, scaley=False)
    left, right = axes.get_xlim()
    least = 0.15 * (right - left)  # on either side of zero, which is never the edge of the picture
    axes.set_xlim(min(left, -least), max(right, least))


def _write_numbers(axes: Axes, frame: pd.DataFrame, drawn: np.ndarray, unit: str) -> None:
    for row, (_, line) in enumerate(frame.iterrows()):
        if not drawn[row]:
            style.in_margin(axes, row, 0, "no difference", style.FAINT, fontstyle="italic")
            if isinstance(line.get("reason"), str):
                said = "\n".join(textwrap.wrap(line["reason"], _REASON_WIDTH, max_lines=2, placeholder=" …"))
                middle = float(np.mean(axes.get_xlim()))
                box = {"facecolor": "white", "edgecolor": "none", "pad": 2.0}
                axes.text(
                    middle,
                    row,
                    said,
                    ha="center",
                    va="center",
                    fontsize=style.SMALL_SIZE - 1,
                    color=style.FAINT,
                    bbox=box,
                )
            continue
        times, suffix = 1.0, f" {unit}" if unit and line["functional"].startswith(("mean", "quantile")) else ""
        if line["functional"].startswith(_SHARE):
            times, suffix = 100.0, " pp"
        spread = times * (line["high"] - line["low"]) / 10  # a digit more, or an end would round to zero
        value, low, high = (style.rounded(times * line[name], spread) for name in ("difference", "low", "high"))
        sign = "+" if line["difference"] > 0 else ""
        weight = "bold" if _verdict(line) == "yes" else "normal"
        style.in_margin(axes, row, 5, f"{sign}{value}{suffix}", style.INK, fontweight=weight)
        style.in_margin(axes, row, -7, f"{low} to {high}", style.FAINT)


def _legend(axes: Axes, frame: pd.DataFrame, has_truth: bool) -> None:
    verdicts = {_verdict(line) for _, line in frame.iterrows()}
    known = {
        "yes": ("more than chance", style.ESTIMATE, style.ESTIMATE),
        "perhaps": ("perhaps: by its own interval", style.ESTIMATE, "white"),
        "no": ("not told from zero", _QUIET, _QUIET),
    }
    handles = [
        Line2D([], [], marker="o", color=colour, mfc=face, mew=1.8, linewidth=3.2, markersize=7.5, label=name)
        for verdict, (name, colour, face) in known.items()
        if verdict in verdicts
    ]
    if has_truth:
        handles.append(Line2D([], [], marker="D", color=style.TRUTH, linewidth=0, markersize=5.5, label="truth"))
    if handles:
        style.place_below(axes, handles)
