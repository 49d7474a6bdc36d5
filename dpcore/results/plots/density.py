"""The density and the distribution function of a numeric attribute with bands, for all clients or by another attribute."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpcore.estimation.functional_estimate import REPEATED
from dpcore.protocol.domain import dates
from dpcore.results.plots import style
from dpcore.results.plots.picture_kind import Kind, with_simultaneous_bands
from dpcore.results.text.phrases import by_other, read, records, rounded, separated, title_of

_DASHED = (0, (5, 2.5))
_ROOM = 2.0  # largest value on the axis relative to the highest curve; bands beyond it are cut off
_BAR, _SIDE = (
    0.04,
    0.1,
)  # width of the bar of a point mass, and of the space for it beyond a bound, relative to the range


def plot_density(frame: pd.DataFrame, axes: Axes, *, atoms: pd.DataFrame | None = None, unit: str = "") -> Axes:
    """Draw an estimated density and its pointwise band, and return the Axes.

    frame: rows of `densities` of one attribute, estimator and group: x in the attribute's unit, density, low and high per
    unit; optionally `truth` (drawn dashed), `before` (the previous round's density), and `bias_aware_low` and
    `bias_aware_high`, a simultaneous band under the assumed smoothness.
    atoms: rows of `functionals` that are atom(X) (functional, estimate, plug_in, low, high, optionally truth).  Each is a bar
    beyond the bound, with its area in proportion to the density and its percentage and interval above.  A bar that would be
    much higher than the density is cut off and marked.  unit: of the attribute, for the labels.
    The vertical axis is in percent of the clients per a round number of units and starts at zero, or lower if an unprojected
    estimate is negative.  Raises ValueError if rows or columns are missing, or for several attributes.
    """
    style.need(frame, ("x", "density", "low", "high"))
    frame = frame.sort_values("x")
    width = percent_width(frame)
    scale = 100 * width  # density per unit -> percent per `width` units
    x = frame["x"].to_numpy(float)
    low, high = frame["low"].to_numpy(float) * scale, frame["high"].to_numpy(float) * scale
    axes.fill_between(x, low, high, color=style.ESTIMATE, alpha=0.2, linewidth=0, label=style.share_of(frame, "band"))
    style.outline(axes, frame, "bias_aware", ("low", "high"), scale)
    _curve(axes, frame, "before", scale, color=style.PREVIOUS, lw=1.5, ls=":", label="previous round")
    _curve(axes, frame, "density", scale, color=style.ESTIMATE, lw=2.2, label="estimate")
    _curve(axes, frame, "truth", scale, color=style.TRUTH, lw=1.6, ls=_DASHED, label="true density")
    lowest = min(0.0, float(np.nanmin(frame["density"])) * scale, float(np.nanmin([0.0, *low[np.isfinite(low)]])))
    _set_range(axes, x, 1.05 * lowest)
    if atoms is not None and len(atoms):
        _draw_atoms(axes, atoms, ends=(x[0], x[-1]), width=width)
    attribute = _dress(axes, frame, unit, f"percent of clients per {separated(width)}")
    style.dress(axes, title=f"Density of {attribute}", subtitle=style.about(frame, interval="pointwise band"))
    style.legend(axes)
    return axes


def plot_groups(frame: pd.DataFrame, axes: Axes, *, unit: str = "") -> Axes:
    """Draw the density of each group with its pointwise band, and return the Axes.

    frame: rows of `densities` of one attribute and estimator, for at most six groups of one other attribute, as for
    `plot_density`; true densities are dashed in the group's colour.
    Raises ValueError if rows or columns are missing, for several attributes, or for more groups than there are colours.
    """
    style.need(frame, ("given", "x", "density", "low", "high"))
    groups, other = style.groups_of(frame)
    width = percent_width(frame)
    scale = 100 * width
    for colour, (group, name) in zip(style.GROUPS, groups, strict=False):
        rows = frame[frame["given"] == group].sort_values("x")
        axes.fill_between(rows["x"], rows["low"] * scale, rows["high"] * scale, color=colour, alpha=0.18, linewidth=0)
        _curve(axes, rows, "density", scale, color=colour, lw=2.2, label=name)
        _curve(axes, rows, "truth", scale, color=colour, lw=1.4, ls=_DASHED, label=f"{name}, true")
    _set_range(axes, frame["x"].sort_values().to_numpy(float), 0.0)
    attribute = _dress(axes, frame, unit, f"percent of the group per {separated(width)}")
    about = style.about(frame.drop(columns="given"), interval="pointwise bands")
    style.dress(axes, title=f"Density of {attribute} by {other}", subtitle=about)
    style.legend(axes)
    return axes


def percent_width(frame: pd.DataFrame) -> float:
    """Return the width in units of x for percentages: the largest power of ten within a tenth of the range."""
    extent = float(frame["x"].max() - frame["x"].min())
    return float(10.0 ** np.floor(np.log10(extent / 10))) if extent > 0 else 1.0


def _curve(axes: Axes, frame: pd.DataFrame, column: str, scale: float, **look: Any) -> None:
    """Draw a column over x, if the frame has it."""
    points = frame.dropna(subset=[column]) if column in frame else frame.iloc[:0]
    if len(points):
        axes.plot(points["x"], points[column] * scale, **look)


def _set_range(axes: Axes, x: np.ndarray, bottom: float) -> None:
    """Limit the vertical axis so that wide bands do not flatten the curves."""
    axes.set_xlim(x[0], x[-1])
    axes.margins(y=0.08)
    axes.autoscale(axis="y")
    axes.set_ylim(bottom=bottom)
    highest = max((float(np.nanmax(curve.get_ydata())) for curve in axes.get_lines()), default=0.0)
    if highest > 0:
        axes.set_ylim(top=min(axes.get_ylim()[1], _ROOM * highest))


def _dress(axes: Axes, frame: pd.DataFrame, unit: str, per: str) -> str:
    """Label the axes and return the attribute's name."""
    attribute = title_of(style.only(frame, "attribute")) or "x"
    style.separate_thousands(axes, "x", "y", unit=unit)
    style.label(
        axes, x=style.with_unit(attribute, unit), y=f"{per} {'days' if unit in dates.EXAMPLES else unit}".strip()
    )
    return attribute


def _draw_atoms(axes: Axes, atoms: pd.DataFrame, *, ends: tuple[float, float], width: float) -> None:
    """Draw bars beyond the bounds; the vertical axis is extended for them, to at most twice its height."""
    style.need(atoms, ("functional", "estimate", "plug_in", "low", "high"))
    extent = ends[1] - ends[0]
    bar, room = _BAR * extent, _SIDE * extent
    per = 100 * width / bar  # share -> height
    ceiling = 2 * axes.get_ylim()[1]
    tops, sides = [axes.get_ylim()[1]], []
    for row in records(atoms):
        at = float(str(row["functional"])[len("atom(") : -1])
        side = -1 if at == ends[0] else 1
        middle = at + side * room / 2
        share = row["plug_in"] if row["estimate"] is None else row["estimate"]
        height = min(per * share, 0.9 * ceiling)
        axes.bar(middle, height, bar, color=style.ESTIMATE, alpha=0.75, linewidth=0)
        top = height
        if height < per * share:
            axes.plot(middle, 0.93 * height, marker="$\\approx$", color="white", markersize=12, linestyle="")
        elif row.get("truth") is not None:
            true = per * row["truth"]
            axes.hlines(true, middle - 0.7 * bar, middle + 0.7 * bar, color=style.TRUTH, linewidth=2.0, zorder=4)
            top = max(top, true)
        line = read(row, "")
        text = f"{line.value}\n{line.interval}" if line.interval else f"{rounded(100 * share, np.nan)} %"
        axes.annotate(
            text,
            (middle, top),
            (0, 5),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=style.SMALL_SIZE,
            color=style.INK,
        )
        tops.append(1.2 * top)
        sides.append(side)
    axes.set_ylim(top=max(tops))
    axes.set_xlim(ends[0] - room * (-1 in sides), ends[1] + room * (1 in sides))
    for end, side in zip(ends, (-1, 1), strict=True):
        if side in sides:
            axes.axvline(end, color=style.FAINT, linewidth=0.8, linestyle=":")


def _draw(rows: pd.DataFrame, numbers: pd.DataFrame, unit: str) -> Figure:
    figure, axes = style.new_axes()
    if len(numbers):
        numbers = numbers[numbers["functional"].str.startswith("atom(") & numbers["plug_in"].notna()]
        numbers = numbers[~numbers["estimator"].isin(REPEATED)] if "estimator" in numbers else numbers
    plot_density(rows, axes, atoms=numbers, unit=unit)
    return figure


def _draw_groups(rows: pd.DataFrame, numbers: pd.DataFrame, unit: str) -> Figure:
    figure, axes = style.new_axes()
    plot_groups(rows[rows["given"].isin(rows["given"].unique()[: len(style.GROUPS)])], axes, unit=unit)
    return figure


EVERYONE = Kind(
    table="densities",
    draw=_draw,
    name="{attribute}",
    parts=with_simultaneous_bands,
    shows="Estimated density of {attribute} with its pointwise band",
    query="density",
)
GROUPS = Kind(
    table="densities",
    draw=_draw_groups,
    name="{attribute}_by_{part}",
    parts=by_other,
    shows="Estimated densities of {attribute} by {part}",
    most=len(style.GROUPS),
    query="group_densities",
)


def plot_distribution(frame: pd.DataFrame, axes: Axes, *, unit: str = "") -> Axes:
    """Draw a distribution function with its pointwise and simultaneous bands, and return the Axes.

    frame: rows of `densities` of one attribute, estimator and group: x in the attribute's unit, cdf, cdf_low and cdf_high, and
    ESTIMATOR_cdf_low and ESTIMATOR_cdf_high of simultaneous bands.  unit: of the attribute.
    Raises ValueError if rows or columns are missing, or for several attributes.
    """
    style.need(frame, ("x", "cdf", "cdf_low", "cdf_high"))
    frame = frame.sort_values("x")
    ends = (100 * frame["cdf_low"], 100 * frame["cdf_high"])
    axes.fill_between(
        frame["x"], *ends, color=style.ESTIMATE, alpha=0.2, linewidth=0, label=style.share_of(frame, "band")
    )
    for estimator in REPEATED:
        style.outline(axes, frame, estimator, ("cdf_low", "cdf_high"), 100)
    axes.plot(frame["x"], 100 * frame["cdf"], color=style.ESTIMATE, linewidth=2.2, label="estimate")
    axes.set_xlim(frame["x"].iloc[0], frame["x"].iloc[-1])
    axes.set_ylim(0, 100)
    attribute = title_of(style.only(frame, "attribute")) or "x"
    style.separate_thousands(axes, "x", unit=unit)
    style.label(axes, x=style.with_unit(attribute, unit), y="percent of clients at or below")
    style.dress(axes, title=f"Distribution of {attribute}", subtitle=style.about(frame, interval="pointwise band"))
    style.legend(axes)
    return axes


def _with_bands(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The rows for all clients without the density, if there is a simultaneous band."""
    if len(rows) and rows["estimator"].isin(REPEATED).any():
        for part, own in with_simultaneous_bands(rows):
            yield part, own.drop(columns=["density", "truth", "before"], errors="ignore")


def _draw_distribution(rows: pd.DataFrame, numbers: pd.DataFrame, unit: str) -> Figure:
    figure, axes = style.new_axes()
    plot_distribution(rows, axes, unit=unit)
    return figure


CURVE = Kind(
    table="densities",
    draw=_draw_distribution,
    name="{attribute}_distribution",
    parts=_with_bands,
    shows="Estimated distribution function of {attribute} with simultaneous bands",
    query="density",
)
