"""True values of simulated clients: joined to the rows of pictures, and a picture of dry runs."""

from __future__ import annotations

import textwrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from dpcore.results.plots import style

_EDGE = 3.5  # typical errors; an estimate further out is drawn at the edge
_NAME_WIDTH = 34  # characters of a quantity on one line


def beside_truth(rows: pd.DataFrame, truths: pd.DataFrame | None) -> pd.DataFrame:
    """Return the rows of a table of one attribute with a column `truth`, if true values are known.

    truths: rows of `truths` of that attribute.  For `comparisons` it is the true difference.
    """
    if truths is None or truths.empty or rows.empty:
        return rows
    if "x" in rows:
        curve = truths[truths["quantity"] == "density"].rename(columns={"value": "truth"})
        return rows.merge(curve[["given", "x", "truth"]], how="left", on=["given", "x"])
    if "category" in rows:
        return rows.assign(truth=_values(rows["given"], "frequency(" + rows["category"] + ")", truths))
    if "functional" not in rows:
        return rows
    truth = _values(rows["given"], rows["functional"], truths)
    if "other_given" in rows:
        truth = truth - _values(rows["other_given"], rows["functional"], truths)
    return rows.assign(truth=truth)


def _values(group: pd.Series, quantity: pd.Series, truths: pd.DataFrame) -> np.ndarray:
    values = truths[truths["x"].isna()].set_index(["given", "quantity"])["value"]
    return values.reindex(pd.MultiIndex.from_arrays([group, quantity])).to_numpy(float)


def plot_dry_runs(rounds: pd.DataFrame, axes: Axes, *, title: str = "", subtitle: str = "") -> Axes:
    """Draw a dot for the estimate of each dry run and quantity, and return the Axes.

    rounds: columns name (of the quantity), estimate, low, high, truth; rows of one name together, in the order of the picture.
    Positions are distances from the true value in root mean squared errors; a dot is orange where its interval does not
    contain the true value.  Raises ValueError where a column is missing.
    """
    style.need(rounds, ("name", "estimate", "low", "high", "truth"))
    names = list(dict.fromkeys(rounds["name"]))
    row = rounds["name"].map({name: place for place, name in enumerate(names)})
    distance = rounds["estimate"] - rounds["truth"]
    error = (distance**2).groupby(row).transform("mean") ** 0.5
    at = np.clip(distance / error.where(error > 0, 1.0), -_EDGE, _EDGE)
    is_covered = ((rounds["low"] <= rounds["truth"]) & (rounds["truth"] <= rounds["high"])).to_numpy()
    place: pd.Series = row.groupby(row).cumcount() / np.maximum(1, row.groupby(row).transform("size") - 1)
    height = row - 0.25 + 0.5 * place  # rounds one under the other
    axes.axvline(0, color=style.FAINT, linewidth=1)
    kinds = ((is_covered, style.ESTIMATE, "interval covers"), (~is_covered, style.TRUTH, "does not cover"))
    for chosen, colour, label in kinds:
        axes.plot(at[chosen], height[chosen], "o", color=colour, markersize=3.5, alpha=0.7, label=label)
    axes.set_xlim(-_EDGE - 0.2, _EDGE + 0.2)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), [textwrap.fill(name, _NAME_WIDTH) for name in names])
    style.dress(axes, title=title, subtitle=subtitle, rules="x")
    style.label(axes, x="distance of the estimate from the true value, in typical errors")
    style.legend(axes, below=True)
    return axes
