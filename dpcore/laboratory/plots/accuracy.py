"""The accuracy study in pictures: where we are better than the best peer, and what a fit looks like beside theirs."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, TwoSlopeNorm

from dpcore.results.plots import style
from dpcore.results.text.phrases import in_words, separated

_PEER = "#009E73"  # bluish green, the third colour of the palette
_BETTER_TO_WORSE = LinearSegmentedColormap.from_list("ratio", [style.ESTIMATE, "#FFFFFF", style.TRUTH])
_REACH = 3.0  # octaves on each side of 1 before colours saturate
_LONG = 6.0  # octaves from which two digits would need a power of ten
_DARK = 2.0  # octaves from which white figures are read better


def plot_ratios(frame: pd.DataFrame, axes: Axes, *, title: str = "") -> Axes:
    """Draw one metric's error ratios as a table of colours, and return the Axes.

    frame: rows of `accuracy_cells` of one method and metric: target, clients, epsilon, to_hindsight.
    A cell shows our median error over that of the best peer in hindsight: blue below 1, vermilion above.
    Raises ValueError when rows or columns are missing, or are of several methods or metrics.
    """
    style.need(frame, ("target", "clients", "epsilon", "to_hindsight"))
    method, metric = style.only(frame, "method"), style.only(frame, "metric")
    table = frame.pivot(index="target", columns=["clients", "epsilon"], values="to_hindsight").sort_index(axis=1)
    table = table.loc[list(dict.fromkeys(frame["target"]))]
    octaves = np.log2(table.to_numpy(float))
    norm = TwoSlopeNorm(0.0, -_REACH, _REACH)
    axes.imshow(np.clip(octaves, -_REACH, _REACH), cmap=_BETTER_TO_WORSE, norm=norm, aspect="auto")
    for (row, column), octave in np.ndenumerate(octaves):
        if np.isfinite(octave):
            colour = "white" if abs(octave) > _DARK else style.INK
            figures = f"{2**octave:,.0f}" if octave > _LONG else f"{2**octave:.2g}"
            axes.text(column, row, figures, ha="center", va="center", fontsize=style.SMALL_SIZE, color=colour)
    axes.set_yticks(range(len(table)), [in_words(str(name)) for name in table.index])
    clients, epsilons = (table.columns.get_level_values(name) for name in ("clients", "epsilon"))
    first = [n != before for n, before in zip(clients, [None, *clients[:-1]], strict=True)]
    under = [f"{separated(n)}\nclients" if new else "" for n, new in zip(clients, first, strict=True)]
    labels = [f"{epsilon:g}\n{text}".rstrip() for epsilon, text in zip(epsilons, under, strict=True)]
    axes.set_xticks(range(table.shape[1]), labels)
    style.dress(
        axes,
        title=title or f"{in_words(method)}: {metric}",
        subtitle="median error over that of the best peer in hindsight; below 1 ours is smaller",
        rules="",
    )
    style.label(axes, x="epsilon")
    return axes


def plot_fits(frame: pd.DataFrame, axes: Axes, *, title: str = "") -> Axes:
    """Draw a target's density with one fit of ours and one of a peer's, and return the Axes.

    frame: columns x (in [0, 1]), truth, ours and peer (densities), and the names `method` and `hindsight`, one each.
    Raises ValueError when rows or columns are missing.
    """
    style.need(frame, ("x", "truth", "ours", "peer", "method", "hindsight"))
    x = frame["x"].to_numpy(float)
    axes.plot(x, frame["peer"], color=_PEER, lw=1.2, drawstyle="steps-mid", label=style.only(frame, "hindsight"))
    axes.plot(x, frame["ours"], color=style.ESTIMATE, lw=2.2, label=in_words(style.only(frame, "method")))
    axes.plot(x, frame["truth"], color=style.TRUTH, lw=1.6, ls=(0, (5, 2.5)), label="truth")
    axes.set_xlim(0, 1)
    axes.set_ylim(bottom=0)
    style.dress(axes, title=title or "Densities")
    style.label(axes, x="x", y="density")
    style.legend(axes)
    return axes
