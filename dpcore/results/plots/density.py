"""The density of a numeric attribute with its band."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from dpcore.results.plots import style

_ROOM = 2.0  # times the highest curve is what the axis shows at most; a band that goes beyond is cut by the frame
_BAR, _SIDE = 0.04, 0.1  # of the interval: an atom's bar, and the room beyond the bound in whose middle it stands


def plot_density(
    frame: pd.DataFrame,
    axes: Axes,
    *,
    truth: pd.DataFrame | None = None,
    previous: pd.DataFrame | None = None,
    atoms: pd.DataFrame | None = None,
    true_atoms: pd.DataFrame | None = None,
    unit: str = "",
    title: str = "",
) -> Axes:
    """Draw an estimated density and its pointwise band, and return the Axes.

    frame: rows of `densities` of one attribute, estimator and group: x in the attribute's unit, density, low and high
    per unit.  truth: rows of `truths` whose quantity is `density` (x, value), drawn dashed.  previous: rows of
    `densities` of an earlier round.  atoms: rows of `functionals` that are atom(X) (functional, estimate, plug_in, low, high);
    each is a bar beyond the bound, of the area that its share has on this axis, under its percentage and interval; one that
    would dwarf the density is cut off, marked.  true_atoms: rows of `truths` (quantity, value) of the same names.
    unit: of the attribute, for the labels.
    The vertical axis counts percent of the clients per a round number of units and starts at zero, or lower where an
    unprojected estimate does.  Raises ValueError when rows or columns are missing, or are of several attributes.
    """
    style.need(frame, ("x", "density", "low", "high"))
    frame = frame.sort_values("x")
    attribute = style.in_words(style.only(frame, "attribute")) or "x"
    width = percent_width(frame)
    scale = 100 * width  # density per unit -> percent per `width` units

    x = frame["x"].to_numpy(float)
    low, high = frame["low"].to_numpy(float) * scale, frame["high"].to_numpy(float) * scale
    axes.fill_between(x, low, high, color=style.ESTIMATE, alpha=0.2, linewidth=0, label=style.share_of(frame, "band"))
    if previous is not None:
        style.need(previous, ("x", "density"))
        before = previous.sort_values("x")
        axes.plot(before["x"], before["density"] * scale, color=style.PREVIOUS, lw=1.5, ls=":", label="previous round")
    axes.plot(x, frame["density"] * scale, color=style.ESTIMATE, linewidth=2.2, label="estimate")
    if truth is not None:
        style.need(truth, ("x", "value"))
        known = truth.sort_values("x")
        axes.plot(known["x"], known["value"] * scale, color=style.TRUTH, lw=1.6, ls=(0, (5, 2.5)), label="truth")

    axes.set_xlim(x[0], x[-1])
    axes.margins(y=0.08)
    axes.autoscale(axis="y")
    lowest = min(0.0, float(np.nanmin(frame["density"])) * scale, float(np.nanmin([0.0, *low[np.isfinite(low)]])))
    axes.set_ylim(bottom=1.05 * lowest)
    keep_curves_large(axes)
    if atoms is not None and len(atoms):
        _draw_atoms(axes, atoms, true_atoms, ends=(x[0], x[-1]), width=width)
    style.dress(axes, title=title or f"Density of {attribute}", subtitle=style.about(frame, interval="pointwise band"))
    style.separate_thousands(axes, "x", "y")
    units = f" {unit}" if unit else ""
    style.label(
        axes,
        x=f"{attribute} ({unit})" if unit else attribute,
        y=f"percent of clients per {style.separated(width)}{units}",
    )
    style.legend(axes)
    return axes


def percent_width(frame: pd.DataFrame) -> float:
    """Return how many units of x percentages are per: the largest power of ten within a tenth of the range."""
    extent = float(frame["x"].max() - frame["x"].min())
    return float(10.0 ** np.floor(np.log10(extent / 10))) if extent > 0 else 1.0


def keep_curves_large(axes: Axes) -> None:
    """Let bands that go far beyond every curve leave the picture, so that the curves do not lie flat on its ground."""
    highest = max((float(np.nanmax(curve.get_ydata())) for curve in axes.get_lines()), default=0.0)
    if highest > 0:
        axes.set_ylim(top=min(axes.get_ylim()[1], _ROOM * highest))


def _draw_atoms(
    axes: Axes, atoms: pd.DataFrame, truth: pd.DataFrame | None, *, ends: tuple[float, float], width: float
) -> None:
    """Bars beside the bounds; the axis of densities grows to hold them, but to no more than twice its height."""
    style.need(atoms, ("functional", "estimate", "plug_in", "low", "high"))
    known = {} if truth is None else dict(zip(truth["quantity"], truth["value"], strict=True))
    extent = ends[1] - ends[0]
    bar, room = _BAR * extent, _SIDE * extent
    per = 100 * width / bar  # share -> height
    ceiling = 2 * axes.get_ylim()[1]
    tops, sides = [axes.get_ylim()[1]], []
    for row in atoms.to_dict("records"):
        at = float(str(row["functional"])[len("atom(") : -1])
        side = -1 if at == ends[0] else 1
        middle = at + side * room / 2
        share = row["plug_in"] if pd.isna(row["estimate"]) else row["estimate"]
        height = min(per * share, 0.9 * ceiling)
        is_cut = height < per * share
        axes.bar(middle, height, bar, color=style.ESTIMATE, alpha=0.75, linewidth=0)
        true, top = known.get(str(row["functional"])), height
        if is_cut:
            axes.plot(middle, 0.93 * height, marker="$\\approx$", color="white", markersize=12, linestyle="")
        elif true is not None:
            axes.hlines(per * true, middle - 0.7 * bar, middle + 0.7 * bar, color=style.TRUTH, linewidth=2.0, zorder=4)
            top = max(top, per * true)
        told = f"{style.rounded(100 * share, np.nan)} %"
        if not pd.isna(row["low"]):
            low, high = 100 * row["low"], 100 * row["high"]
            told = f"{style.rounded(100 * share, high - low)} %\n"
            told += f"{style.rounded(low, high - low)} to {style.rounded(high, high - low)}"
        axes.annotate(
            told,
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
