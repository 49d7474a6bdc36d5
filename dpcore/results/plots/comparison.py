"""Differences with their intervals around a line at zero: changes since a round, or differences between groups.

Each row has two intervals: the thick one is pointwise, the thin one simultaneous over all rows of the two runs.  A difference
is significant if the thin interval excludes zero.
"""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dpcore.estimation.functional_estimate import normal_quantile
from dpcore.results.plots import style
from dpcore.results.plots.truth import beside_truth
from dpcore.results.text.phrases import SHOWN, Line, by_other, is_share, largest, read, records, title_of, whose

_QUIET = "#9AA1AB"  # colour of rows that are not significant
_LOOKS = {  # verdict -> its name, the colour, and the colour of the dot's inside
    "yes": ("significant", style.ESTIMATE, style.ESTIMATE),
    "perhaps": ("perhaps: by its own interval only", style.ESTIMATE, "white"),
    "no": ("not significant", _QUIET, _QUIET),
}
_SIDES = ["given", "other_given"]
_WIDE, _NARROW = 46, 38  # characters of a title that fit next to labels of categories and of functionals


def plot_comparison(frame: pd.DataFrame, axes: Axes, *, title: str = "", unit: str = "") -> Axes:
    """Draw a dot and two intervals for each row, in the frame's order from the top, and return the Axes.

    frame: at most 30 rows of `comparisons` of one attribute: given, other_given, functional, difference, standard_error,
    confidence, low, high, threshold, differs and reason; optionally `truth`, the true difference.
    Proportions are drawn in percentage points.  Other functionals have different units: they are drawn in standard errors, with
    the values in their units in the margin.  unit: of the attribute.
    Raises ValueError if rows or columns are missing, or for several attributes.
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
        axes.plot(
            truths[drawn], np.flatnonzero(drawn), "D", color=style.TRUTH, markersize=5.5, zorder=4, label="true value"
        )
        handles.append(Line2D([], [], marker="D", color=style.TRUTH, linewidth=0, markersize=5.5, label="true value"))
    one_pair = frame[["given", "other_given"]].nunique().max() == 1
    names = [line.text if one_pair or not line.group else f"{line.text}\n{line.group}" for line in lines]
    axes.set_yticks(range(len(frame)), names)
    axes.set_ylim(len(frame) - 0.4, -0.6)
    _set_range(axes, drawn.any())
    for row, line in enumerate(lines):
        _write_numbers(axes, row, line, drawn[row])
    confidence = style.only(frame[drawn], "confidence")
    thick = f"thick: pointwise {100 * float(confidence):.4g} % interval" if confidence else ""
    about = "  ·  ".join(part for part in (thick, "thin: simultaneous for all rows" if drawn.any() else "") if part)
    attribute = title_of(style.only(frame, "attribute"))
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
    least = 0.15 * (right - left)  # smallest distance of zero from either edge
    axes.set_xlim(min(left, -least), max(right, least))


def _write_numbers(axes: Axes, row: int, line: Line, is_drawn: bool) -> None:
    if is_drawn:
        weight = "bold" if line.verdict == "yes" else "normal"
        style.in_margin(axes, row, 5, line.value, style.INK, fontweight=weight)
        style.in_margin(axes, row, -7, line.interval, style.FAINT)
    else:
        style.refusal(axes, row, "no difference", line.note)


def difference_figures(
    attribute: str,
    rows: pd.DataFrame | None,
    truths: pd.DataFrame | None = None,
    unit: str = "",
    *,
    previous: str = "",
    run_id: str = "",
) -> dict[str, Figure]:
    """Return name -> figure of an attribute's rows of `comparisons`; {} without rows.

    Changes since the earlier round are NAME_changes, for proportions if there are any, otherwise for functionals.  With
    proportions, functionals are NAME_changes_numbers; groups are NAME_changes_by_OTHER.  Differences between groups are
    NAME_between_OTHER, with true values if `truths` has them.

    previous: the earlier round's name.  run_id: the run's, to find the comparisons of its own groups.
    """
    if rows is None or rows.empty:
        return {}
    title, since = title_of(attribute), f"since round {previous}" if previous else "since the earlier round"
    is_own, of_group = rows["other_run_id"] == run_id, rows["given"] != ""
    share = rows["functional"].map(is_share)
    shares, numbers = (rows[~is_own & ~of_group & mask] for mask in (share, ~share))
    parts = [
        (f"{attribute}_changes", shares, f"{title}: change {since}"),
        (f"{attribute}_changes{'_numbers' if len(shares) else ''}", numbers, f"{title}: change {since}"),
    ]
    for other, part in by_other(rows[~is_own]):
        parts.append((f"{attribute}_changes_by_{other}", part, f"{title} by {title_of(other)}: {since}"))
    for other, part in by_other(rows[is_own]):
        is_one = len(part[_SIDES].drop_duplicates()) == 1
        subject = f": {whose(*part[_SIDES].iloc[0])}" if is_one else f" by {title_of(other)}: differences"
        parts.append((f"{attribute}_between_{other}", beside_truth(part, truths), f"{title}{subject}"))
    return {name: _figure(part, title, unit) for name, part, title in parts if len(part)}


def difference_pictures(*rows: Any, **options: Any) -> dict[str, bytes]:
    """Return name -> PNG of the figures of `difference_figures`, with the same parameters."""
    return {name: style.png(figure) for name, figure in difference_figures(*rows, **options).items()}


def _figure(rows: pd.DataFrame, title: str, unit: str) -> Figure:
    """A figure of the rows; of too many, those with the largest deviations."""
    shown = largest(rows, "deviations")
    if len(shown) < len(rows):
        title = f"{title} ({len(shown)} of {len(rows):,})"
    figure, axes = style.new_axes(height=style.height_for(len(shown)))
    width = _WIDE if shown["functional"].map(is_share).all() else _NARROW
    plot_comparison(shown, axes, title="\n".join(textwrap.wrap(title, width)), unit=unit)
    return figure
