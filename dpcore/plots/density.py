"""The density of a numeric attribute with its band."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from dpcore.plots import style


def plot_density(
    frame: pd.DataFrame,
    axes: Axes,
    *,
    truth: pd.DataFrame | None = None,
    previous: pd.DataFrame | None = None,
    unit: str = "",
    title: str = "",
) -> Axes:
    """Draw an estimated density and its pointwise band, and return the Axes.

    frame: rows of `densities` of one attribute, estimator and group: x in the attribute's unit, density, low and high
    per unit.  truth: rows of `truths` whose quantity is `density` (x, value), drawn dashed.  previous: rows of
    `densities` of an earlier round.  unit: of the attribute, for the labels.
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
