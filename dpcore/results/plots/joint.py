"""Pictures of pairs of attributes: their two-way table with its uncertainty, and conditional means."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from dpcore.results.plots import style
from dpcore.results.text.phrases import records, rounded, separated
from dpcore.results.text.relation_phrases import Side

_DARKEST = 0.6  # maximum opacity of a cell, so that its text is readable
_CELL = 0.62  # height of a cell, inches
_CERTAINTY = 0.95  # simultaneous confidence of the marks in all cells
_ROOM, _TURNED = 30, 8  # letters of all names along x, and of one, beyond which they are smaller or rotated
_WIDE = 9  # parts of the second attribute beyond which cells have no room for their errors


def plot_joint(frame: pd.DataFrame, axes: Axes, first: Side, second: Side) -> Axes:
    """Draw the two-way table with the second attribute along x, and return the Axes.

    frame: rows of `joint` of one pair with `independent`, the expected proportion under independence.  Cells show percentages
    with their margin of error.  A triangle marks cells that are significantly above (upwards) or below that proportion.
    Raises ValueError if rows or columns are missing.
    """
    style.need(frame, ("first_part", "second_part", "share", "estimate", "standard_error", "confidence", "independent"))
    names, others = (list(dict.fromkeys(frame[f"{side}_part"])) for side in ("first", "second"))
    confidence = float(style.only(frame, "confidence"))
    z, critical = (NormalDist().inv_cdf((1 + p) / 2) for p in (confidence, 1 - (1 - _CERTAINTY) / len(frame)))
    largest, upside_down = float(frame["share"].max()), first.range(names[0]) is None  # categories from the top
    widest, up = 100 * z * float(frame["standard_error"].max()), -1 if upside_down else 1
    marks: dict[str, list[tuple[float, float]]] = {"^": [], "v": []}
    for row in records(frame):
        x, y = others.index(row["second_part"]), names.index(row["first_part"])
        shade = _DARKEST * float(row["share"]) / largest
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor=style.ESTIMATE, alpha=shade, linewidth=0))
        off = 100 * z * row["standard_error"]
        percent = rounded(100 * row["share"], widest)
        axes.text(
            x + 0.5, y + 0.5 + 0.1 * up, percent, ha="center", va="center", fontsize=style.SMALL_SIZE, color=style.INK
        )
        if len(others) <= _WIDE:
            beside = f"±{rounded(off, widest)}"
            axes.text(
                x + 0.5,
                y + 0.5 - 0.23 * up,
                beside,
                ha="center",
                va="center",
                fontsize=style.SMALL_SIZE - 2,
                color=style.INK,
            )
        more = row["estimate"] - row["independent"]
        if abs(more) > critical * row["standard_error"]:
            marks["^" if more > 0 else "v"].append((x + 0.87, y + 0.5 + 0.32 * up))
    for marker, name in (("^", "significantly above independence"), ("v", "significantly below")):
        if marks[marker]:
            axes.plot(
                *zip(*marks[marker], strict=True), marker, color=style.TRUTH, markersize=4.5, linestyle="", label=name
            )
    axes.set_xlim(0, len(others))
    axes.set_ylim(0, len(names))
    if upside_down:
        axes.invert_yaxis()
    _ticks(axes, "y", names, first)
    _ticks(axes, "x", others, second)
    about = f"percent, ± its {100 * confidence:.4g} % interval"
    style.dress(axes, title=f"{first.words} and {second.words}", subtitle=about, rules="")
    axes.spines["bottom"].set_visible(False)
    style.label(axes, x=_named(second), y=_named(first))
    if any(marks.values()):
        style.legend(axes, below=True)
    return axes


def plot_along(frame: pd.DataFrame, axes: Axes, first: Side, second: Side) -> Axes:
    """Draw the mean of the first attribute conditional on the second, with intervals, and return the Axes.

    frame: rows of `associations` of one pair for conditional_mean.  The line is the mean of the fitted joint distribution.
    Raises ValueError if there are no rows.
    """
    style.need(frame, ("second_part", "estimate", "plug_in", "low", "high", "confidence"))
    ranges = [second.range(part) for part in frame["second_part"]]
    is_number = all(ends is not None for ends in ranges)
    places = np.arange(len(frame)) + 0.5
    value, low, high, shown = (frame[column].to_numpy(float) for column in ("estimate", "low", "high", "plug_in"))
    axes.vlines(places, low, high, color=style.ESTIMATE, linewidth=2.4, label=style.share_of(frame, "interval"))
    axes.plot(places, value, "o", color=style.ESTIMATE, markersize=6, label="estimate")
    name = "of the fitted smooth distribution"
    if is_number:
        axes.plot(places, shown, "-", color=style.PREVIOUS, linewidth=1.4, label=name, zorder=1)
    else:
        axes.hlines(shown, places - 0.3, places + 0.3, color=style.PREVIOUS, linewidth=1.4, label=name, zorder=1)
    bottom = axes.get_ylim()[0]
    for place in places[np.isnan(value)]:
        axes.annotate(
            "too\nfew", (place, bottom), (0, 3), textcoords="offset points", ha="center", fontsize=style.SMALL_SIZE - 1.5,
            color=style.FAINT, fontstyle="italic",
        )  # fmt: skip
    axes.set_xlim(0, len(frame))
    _ticks(axes, "x", list(frame["second_part"]), second)
    style.dress(axes, title=f"Mean {first.words} by {second.words}", subtitle="clients who answered both")
    style.separate_thousands(axes, "y")
    style.label(axes, x=_named(second), y=f"mean {_named(first)}")
    style.legend(axes, below=True)
    return axes


def _named(side: Side) -> str:
    return f"{side.words} ({side.unit})" if side.unit else side.words


def _ticks(axes: Axes, along: str, parts: list[str], side: Side) -> None:
    """Ticks at the bounds of adjacent ranges; otherwise each part's name at its middle."""
    ranges = [side.range(part) for part in parts]
    ends = [ends for ends in ranges if ends is not None]
    touch = len(ends) == len(parts) and all(left[1] == right[0] for left, right in pairwise(ends))
    if touch and len(ends) > 1:
        at: list[float] = list(range(0, len(parts) + 1, 1 if along == "y" else 2))
        edges = [ends[0][0], *(end for _, end in ends)]
        names = [separated(edges[int(place)]) for place in at]
    else:
        at = [place + 0.5 for place in range(len(parts))]
        both = zip(parts, ranges, strict=True)
        names = [f"{separated(e[0])}–{separated(e[1])}" if e and e[0] != e[1] else side.part(part) for part, e in both]
    if along == "y":
        axes.set_yticks(at, names)
        return
    is_tight = sum(map(len, names)) > _ROOM
    size = style.SMALL_SIZE - 2 if is_tight else style.SMALL_SIZE
    axes.set_xticks(at, names, fontsize=size)
    if is_tight and max(map(len, names)) > _TURNED:
        axes.tick_params(axis="x", labelrotation=30)


def joint_figure(rows: pd.DataFrame, first: Side, second: Side) -> Figure:
    """Return the picture of a two-way table; rows: as `plot_joint` takes them."""
    names = rows["first_part"].nunique()
    figure, axes = style.new_axes(height=1.6 + _CELL * max(names, 3))
    plot_joint(rows, axes, first, second)
    return figure


def along_figure(rows: pd.DataFrame, first: Side, second: Side) -> Figure:
    """Return the picture of conditional means; rows: as `plot_along` takes them."""
    figure, axes = style.new_axes()
    plot_along(rows, axes, first, second)
    return figure


def means(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `associations` that are conditional means."""
    return rows[rows["functional"].str.startswith("conditional_mean(")]


def pair_pictures(tables: Mapping[str, pd.DataFrame], sides: Mapping[str, Side]) -> dict[str, bytes]:
    """Return name -> PNG of every pair's pictures: FIRST_and_SECOND and FIRST_along_SECOND.

    tables: landed frames of one run.  sides: attribute -> its description.
    """
    drawn: dict[str, Any] = {}
    for (first, second), rows in _by_pair(tables.get("joint")):
        drawn[f"{first}_and_{second}"] = joint_figure(with_independent(rows), sides[first], sides[second])
    for (first, second), rows in _by_pair(tables.get("associations")):
        if len(conditional := means(rows)):
            drawn[f"{first}_along_{second}"] = along_figure(conditional, sides[first], sides[second])
    return {name: style.png(figure) for name, figure in drawn.items()}


def with_independent(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows of `joint` of one pair with `independent`, the expected proportion under independence."""
    margins = [rows.groupby(f"{side}_part")["share"].transform("sum") for side in ("first", "second")]
    return rows.assign(independent=margins[0] * margins[1])


def _by_pair(rows: pd.DataFrame | None) -> Any:
    return [] if rows is None or rows.empty else rows.groupby(["first", "second"], sort=False)
