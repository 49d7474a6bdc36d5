"""The coverage study in pictures: how often intervals of each functional cover the true value."""

from __future__ import annotations

from dataclasses import dataclass, fields

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dpcore.results.plots import style
from dpcore.results.text.phrases import in_words

_COLOURS = (style.ESTIMATE, "#009E73", "#CC79A7", style.PREVIOUS)  # of methods, in their order
_MARKERS = "osD^v<>P"  # of places, in their order
_LEAST = 0.5  # coverage below is drawn at the edge
_WITHIN = (0.93, 0.97)
_ROW = 0.8  # of the height of a functional's row, that its points share


@dataclass(frozen=True)
class _Row:
    method: str
    clients: int
    epsilon: float
    functional: str
    coverage: float
    low: float
    high: float
    refused: bool

    @property
    def place(self) -> tuple[float, int, float]:
        """Clients and epsilon, those that say least first."""
        return self.clients * self.epsilon**2, self.clients, self.epsilon


def plot_coverage(frame: pd.DataFrame, axes: Axes, *, title: str = "") -> Axes:
    """Draw the coverage of each functional's intervals on one target, and return the Axes.

    frame: rows of `benchmarks.coverage.cells` of one target: method, clients, epsilon, functional, coverage, low, high,
    refused.  A point is a cell, its line the binomial interval; a cross at the left edge is a refused one.
    Raises ValueError when rows or columns are missing, or are of several targets.
    """
    style.need(frame, [field.name for field in fields(_Row)])
    columns = (frame[field.name] for field in fields(_Row))
    rows = [_Row(*values) for values in zip(*columns, strict=True)]
    functionals = list(dict.fromkeys(row.functional for row in rows))
    methods, places = sorted({row.method for row in rows}), sorted({row.place for row in rows})
    slots = len(methods) * len(places)
    axes.axvspan(*_WITHIN, color=style.RULE, lw=0)
    axes.axvline(0.95, color=style.FAINT, lw=0.8)
    for row in rows:
        method, place = methods.index(row.method), places.index(row.place)
        slot = method * len(places) + place
        y = functionals.index(row.functional) + _ROW * ((slot + 0.5) / slots - 0.5)
        colour, marker = _COLOURS[method % len(_COLOURS)], _MARKERS[place % len(_MARKERS)]
        if row.refused:
            axes.plot(_LEAST, y, marker="x", color=colour, ms=3.5, lw=0, clip_on=False)
            continue
        axes.plot([max(row.low, _LEAST), max(row.high, _LEAST)], [y, y], color=colour, lw=1.0, alpha=0.6)
        axes.plot(max(row.coverage, _LEAST), y, marker=marker, color=colour, ms=3.5, lw=0, clip_on=False)
    axes.set_yticks(range(len(functionals)), [in_words(str(name)) for name in functionals])
    axes.set_ylim(len(functionals) - 0.5, -0.5)
    axes.set_xlim(_LEAST, 1.0)
    style.dress(
        axes,
        title=title or f"{in_words(style.only(frame, 'target'))}: coverage of nominal 95 % intervals",
        subtitle="share of repetitions whose interval covers the true value, with its 95 % interval; a cross: refused",
        rules="x",
    )
    style.label(axes, x="coverage")
    handles = [
        Line2D([], [], color=_COLOURS[i % len(_COLOURS)], lw=2, label=in_words(m)) for i, m in enumerate(methods)
    ]
    handles += [
        Line2D([], [], color=style.FAINT, lw=0, marker=_MARKERS[i % len(_MARKERS)], label=f"{n:,}, epsilon {e:g}")
        for i, (_, n, e) in enumerate(places)
    ]
    axes.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.4, -0.06),
        ncols=3,
        frameon=False,
        fontsize=style.SMALL_SIZE,
        labelcolor=style.INK,
    )
    return axes
