"""The densities of an attribute within the categories of another, in one picture."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from dpcore.results.plots import style
from dpcore.results.plots.density import keep_curves_large, percent_width

_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#5F6670")  # Okabe and Ito's, but for the truth's
MOST_GROUPS = len(_COLOURS)  # in one picture; all of them are in the table


def plot_groups(
    frame: pd.DataFrame, axes: Axes, *, truth: pd.DataFrame | None = None, unit: str = "", title: str = ""
) -> Axes:
    """Draw the density of each group with its pointwise band, and return the Axes.

    frame: rows of `densities` of one attribute and estimator and of groups of one other attribute, at most six: given, x in
    the attribute's unit, density, low and high per unit.  truth: rows of `truths` whose quantity is `density` (given, x,
    value), dashed in the group's colour.
    Raises ValueError when rows or columns are missing, are of several attributes, or of more groups than there are colours.
    """
    style.need(frame, ("given", "x", "density", "low", "high"))
    attribute = style.in_words(style.only(frame, "attribute")) or "x"
    groups = list(dict.fromkeys(frame["given"]))
    others = {given.partition("=")[0] for given in groups}
    if len(groups) > MOST_GROUPS or len(others) > 1:
        raise ValueError(f"a picture shows up to {MOST_GROUPS} groups of one attribute, the frame holds {len(groups)}")
    width = percent_width(frame)
    scale = 100 * width
    for colour, given in zip(_COLOURS, groups, strict=False):
        rows = frame[frame["given"] == given].sort_values("x")
        x, name = rows["x"].to_numpy(float), given.partition("=")[2]
        axes.fill_between(x, rows["low"] * scale, rows["high"] * scale, color=colour, alpha=0.18, linewidth=0)
        axes.plot(x, rows["density"] * scale, color=colour, linewidth=2.2, label=name)
        known = pd.DataFrame() if truth is None else truth[truth["given"] == given]
        if len(known):
            known = known.sort_values("x")
            axes.plot(
                known["x"], known["value"] * scale, color=colour, lw=1.4, ls=(0, (5, 2.5)), label=f"{name}, truth"
            )
    axes.set_xlim(float(frame["x"].min()), float(frame["x"].max()))
    axes.margins(y=0.08)
    axes.set_ylim(bottom=0.0)
    keep_curves_large(axes)
    (other,) = others
    about = style.about(frame.drop(columns="given"), interval="pointwise bands")
    style.dress(axes, title=title or f"Density of {attribute} by {style.in_words(other)}", subtitle=about)
    style.separate_thousands(axes, "x", "y")
    style.label(
        axes,
        x=f"{attribute} ({unit})" if unit else attribute,
        y=f"percent of the group per {style.separated(width)}{f' {unit}' if unit else ''}",
    )
    style.legend(axes)
    return axes
