"""What a reproduced figure is: panels of curves, each point with its theory, and the aims that are read off them.

The curves of every document have one form, so that they land in one table and are drawn in one way.  Columns of points:

    panel, curve    names; a curve of one name has one colour in every panel
    x               where it is; the panel names the quantity
    value, error    what was measured and its standard error; NaN where only theory speaks, or where nothing was drawn
    stated          value of the document or theory; NaN if there is none
    clients, epsilon, repetitions   of the point; 0, infinity and 1 where it has none
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import Any

import numpy as np
import pandas as pd

from dpcore._random import Source
from dpcore.laboratory.studies.aims.verdict import Verdict

COLUMNS = ("panel", "curve", "x", "value", "error", "stated", "clients", "epsilon", "repetitions")
SLOPE = 0.1  # by which an empirical slope may be off
_NORMAL = 5.0  # standard errors by which one of many points may be off


@dataclass(frozen=True)
class Effort:
    """How much is drawn: everything, or with `quick` a tenth of the repetitions."""

    quick: bool = False

    def runs(self, full: int, least: int = 4) -> int:
        """Return the repetitions of a point."""
        return max(least, full // 10) if self.quick else full


@dataclass(frozen=True)
class Panel:
    """A part of a picture.

    x, y: what the axes are, with units.  logarithmic: '', 'x', 'y' or 'xy'.  slope: whether the curves are rates, whose
    slopes are shown beside the stated ones.
    """

    x: str
    y: str
    logarithmic: str = ""
    slope: bool = False


Points = Callable[[Effort, Source], pd.DataFrame]
Aims = Callable[[pd.DataFrame], list[Verdict]]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A table or figure of a document.

    document: key of references.bib.  shows: which table or figure, in words.  seconds: of a processor, for all of it.
    panels: by name.  points, aims: functions.
    """

    document: str
    shows: str
    seconds: float
    panels: Mapping[str, Panel]
    points: Points
    aims: Aims = lambda points: []


def curves(
    frame: pd.DataFrame,
    panel: str,
    x: str,
    values: Mapping[str, str] | str,
    *,
    by: str | Callable[[Any], str] = "",
    error: str = "",
    stated: str = "",
    **common: Any,
) -> pd.DataFrame:
    """Return points of a table's columns.

    values: the column of values, its curves named by the column or function of a row `by`; or curve -> column.
    error, stated: columns.  common: clients, epsilon and repetitions, each a number or a column's name.
    """
    parts = []
    for curve, column in ({"": values} if isinstance(values, str) else values).items():
        names = curve if not by else frame.apply(by, axis=1) if callable(by) else frame[by].astype(str)
        rest = {"clients": 0, "epsilon": inf, "repetitions": 1} | common
        part = {
            "panel": panel,
            "curve": names,
            "x": frame[x].astype(float),
            "value": frame[column].astype(float),
            "error": frame[error].astype(float) if error else nan,
            "stated": frame[stated].astype(float) if stated else nan,
        }
        part |= {name: frame[value] if isinstance(value, str) else value for name, value in rest.items()}
        parts.append(pd.DataFrame(part))
    return pd.concat(parts, ignore_index=True)[list(COLUMNS)]


def only_stated(points: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Return the points with these curves' values as what is stated, and nothing measured."""
    here = points["curve"].isin(names)
    return points.assign(stated=points["stated"].where(~here, points["value"]), value=points["value"].where(~here))


def through_middle(points: pd.DataFrame, rates: Mapping[str, float]) -> pd.DataFrame:
    """Return the points with a power law stated for each curve, x to the rate, through the middle of its points."""
    stated = points["stated"].copy()
    for curve, rate in rates.items():
        here = points["curve"] == curve
        x, y = np.log(points.loc[here, "x"]), np.log(points.loc[here, "value"])
        stated[here] = np.exp((y - rate * x).mean() + rate * x)
    return points.assign(stated=stated)


def rate_curves(table: pd.DataFrame, panel: str, by: str, runs: int) -> pd.DataFrame:
    """Return points of errors at epsilon 1 against n, a curve for each name in the column `by`, with the stated rates.

    table: columns n, error, standard_error, and rate, the power of n that is stated.  runs: repetitions of a point.
    """
    points = curves(
        table, panel, "n", "error", by=by, error="standard_error", clients="n", epsilon=1.0, repetitions=runs
    )
    return through_middle(points, dict(zip(table[by], table["rate"], strict=True)))


def slope(points: pd.DataFrame, column: str = "value") -> float:
    """Return the slope of log value, or of another column, in log x, by least squares; NaN for fewer than two points."""
    rows = points[(points[column] > 0) & (points["x"] > 0)]
    if rows["x"].nunique() < 2:
        return nan
    return float(np.polyfit(np.log(rows["x"]), np.log(rows[column]), 1)[0])


def slope_aims(points: pd.DataFrame, panels: Sequence[str], *, at_most: Sequence[str] = ()) -> list[Verdict]:
    """Return how far each curve's slope is from what is stated; for curves named in at_most the slope may be steeper."""
    aims = []
    for panel in panels:
        for curve, rows in points[points["panel"] == panel].groupby("curve", sort=False):
            measured, stated = slope(rows), slope(rows, "stated")
            off = measured - stated
            upper = curve in at_most
            aim = f"{panel}: {curve}: slope {measured:.3f}, stated {'at most ' if upper else ''}{stated:.3f}; apart"
            aims.append(Verdict(aim, off if upper else abs(off), SLOPE))
    return aims


def agreement(points: pd.DataFrame, panels: Sequence[str], rounding: float = 0.0) -> list[Verdict]:
    """Return by how many standard errors the point furthest from what is stated is off, rounding taken off."""
    aims = []
    for panel in panels:
        rows = points[(points["panel"] == panel) & points["value"].notna() & points["stated"].notna()]
        apart = ((rows["value"] - rows["stated"]).abs() - rounding).clip(lower=0)
        worst = float((apart / rows["error"].where(rows["error"] > 0)).max())
        aims.append(Verdict(f"{panel}: standard errors from what is stated, the worst of {len(rows)}", worst, _NORMAL))
    return aims


def least(aim: str, values: pd.Series, limit: float) -> Verdict:
    """Return the aim that every value is at least so much."""
    return Verdict(aim, float(values.min()), limit, at_least=True)


def most(aim: str, values: pd.Series, limit: float) -> Verdict:
    """Return the aim that every value is at most so much."""
    return Verdict(aim, float(values.max()), limit)
