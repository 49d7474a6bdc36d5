"""The study of rates in pictures: errors against n epsilon^2, with theory."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dpcore.results.plots import style
from dpcore.results.text.phrases import in_words

_COLOURS = (style.ESTIMATE, "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # of functionals, in their order
_MARKERS = "osD^v<"  # the same
_NORMAL = 1.96  # standard errors of a 95 % interval


@dataclass(frozen=True)
class _Place:
    functional: str
    epsilon: float
    effective: float
    error: float
    uncertainty: float
    expected: float
    bias: float
    noise: float
    level: float


def plot_rates(frame: pd.DataFrame, axes: Axes, *, rate: float, title: str = "", subtitle: str = "") -> Axes:
    """Draw errors against n epsilon^2, both in logarithms, and return the Axes.

    frame: rows with functional, epsilon, effective (n epsilon^2), error, uncertainty (of its logarithm), expected, bias, noise
    and level.
    A point is a cell, hollow where epsilon is below one, its line the 95 % interval.  Where `expected` is a number (bias and
    noise together), it is drawn through, bias and noise are dashed and dotted, a line with the slope of the rate is drawn below
    all, and the levels at the bottom; else the line is the power law among each functional's points.
    rate: minus the slope of theory.
    Raises ValueError when rows or columns are missing.
    """
    style.need(frame, [field.name for field in fields(_Place)])
    columns = (frame[field.name] for field in fields(_Place))
    places = sorted((_Place(*values) for values in zip(*columns, strict=True)), key=lambda place: place.effective)
    functionals = [str(name) for name in dict.fromkeys(frame["functional"])]
    is_predicted = bool(frame["expected"].notna().any())
    for name, colour, marker in zip(functionals, _COLOURS, _MARKERS, strict=False):
        group = [place for place in places if place.functional == name]
        if is_predicted:
            _draw_prediction(group, axes, colour)
        else:
            height = np.mean([np.log(place.error) + rate * np.log(place.effective) for place in group])
            _draw_law(float(height), rate, group, axes, colour)
        for place in group:
            spread = np.exp(_NORMAL * place.uncertainty * np.array([-1.0, 1.0]))
            axes.plot([place.effective] * 2, place.error * spread, color=colour, lw=1.0, alpha=0.6)
            face = colour if place.epsilon >= 1 else "white"
            axes.plot(place.effective, place.error, marker=marker, color=colour, mfc=face, ms=4.5, lw=0)
    if is_predicted:
        lowest = min(np.log(place.error) + rate * np.log(place.effective) for place in places)
        _draw_law(float(lowest) - np.log(2), rate, places, axes, style.FAINT)
        _name_levels(places, axes)
    axes.set_xscale("log")
    axes.set_yscale("log")
    style.dress(axes, title=title, subtitle=subtitle)
    axes.tick_params(which="minor", length=0, labelsize=style.SMALL_SIZE, labelcolor=style.INK)
    style.label(axes, x="n epsilon²", y="root mean square error")
    axes.legend(
        handles=_legend_handles(functionals, is_predicted, rate, any(place.epsilon < 1 for place in places)),
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        frameon=False,
        fontsize=style.SMALL_SIZE,
        labelcolor=style.INK,
    )
    return axes


def _draw_prediction(places: list[_Place], axes: Axes, colour: str) -> None:
    x = [place.effective for place in places]
    axes.plot(x, [place.expected for place in places], color=colour, lw=1.4)
    axes.plot(x, [abs(place.bias) for place in places], color=colour, lw=0.9, ls=(0, (4, 3)), alpha=0.7)
    axes.plot(x, [place.noise for place in places], color=colour, lw=0.9, ls=":", alpha=0.9)


def _draw_law(height: float, rate: float, places: list[_Place], axes: Axes, colour: str) -> None:
    """exp(height) x^{-rate} over the places."""
    x = np.array([place.effective for place in places])
    axes.plot(x, np.exp(height) * x**-rate, color=colour, lw=1.0)


def _name_levels(places: list[_Place], axes: Axes) -> None:
    for effective, level in {place.effective: place.level for place in places}.items():
        axes.annotate(
            f"V{level:.0f}",
            xy=(effective, 0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 6),
            textcoords="offset points",
            ha="center",
            fontsize=style.SMALL_SIZE,
            color=style.FAINT,
        )


def _legend_handles(functionals: list[str], is_predicted: bool, rate: float, has_hollow: bool) -> list[Line2D]:
    """What marks mean."""
    handles = [
        Line2D([], [], color=colour, marker=marker, ms=4.5, lw=1.2, label=in_words(name))
        for name, colour, marker in zip(functionals, _COLOURS, _MARKERS, strict=False)
    ]
    grey = style.FAINT
    if has_hollow:
        handles.append(Line2D([], [], marker="o", mfc="white", ms=4.5, lw=0, label="epsilon below 1", color=grey))
    if is_predicted:
        handles += [
            Line2D([], [], lw=1.4, label="predicted", color=grey),
            Line2D([], [], lw=0.9, ls=(0, (4, 3)), label="bias alone", color=grey),
            Line2D([], [], lw=0.9, ls=":", label="noise alone", color=grey),
            Line2D([], [], lw=1.0, label=f"slope −{rate:.3g}, below all", color=grey),
        ]
    else:
        handles.append(Line2D([], [], lw=1.2, label=f"lines: slope −{rate:.3g}", color=grey))
    return handles
