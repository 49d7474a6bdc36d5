"""The pictures of one attribute: as figures, which a page has as SVG, and of a run's tables as PNG files."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from dpcore.results.plots import style
from dpcore.results.plots.density import MOST_GROUPS, plot_density, plot_groups
from dpcore.results.plots.differences import difference_pictures
from dpcore.results.plots.frequency import plot_frequency
from dpcore.results.plots.functional import plot_functional
from dpcore.results.reading import by_other, in_words, largest


def draw_density(rows: pd.DataFrame, numbers: pd.DataFrame, unit: str) -> Figure:
    """Return the picture of a density; numbers: everyone's rows of `functionals`, of which atoms are drawn."""
    figure, axes = style.new_axes()
    if len(numbers):
        numbers = numbers[numbers["functional"].str.startswith("atom(") & numbers["plug_in"].notna()]
    plot_density(rows, axes, atoms=numbers, unit=unit)
    return figure


def draw_groups(rows: pd.DataFrame, unit: str) -> Figure:
    """Return the picture of the densities of the groups of one other attribute, the first six."""
    figure, axes = style.new_axes()
    plot_groups(rows[rows["given"].isin(rows["given"].unique()[:MOST_GROUPS])], axes, unit=unit)
    return figure


def draw_shares(rows: pd.DataFrame) -> Figure:
    """Return the picture of an attribute's frequencies, of many the largest."""
    shown = largest(rows)
    figure, axes = style.new_axes(height=style.height_for(len(shown)))
    said = f"Shares of {in_words(style.only(rows, 'attribute'))}: the {len(shown)} largest of {len(rows):,}"
    plot_frequency(shown, axes, title=said if len(shown) < len(rows) else "")
    return figure


def draw_numbers(rows: pd.DataFrame, unit: str) -> Figure:
    """Return the picture of the functionals of everyone or of one group."""
    figure, axes = style.new_axes(height=style.height_for(len(rows)))
    plot_functional(rows, axes, unit=unit)
    return figure


def attribute_pictures(
    attribute: str, tables: Mapping[str, pd.DataFrame], unit: str = "", *, run_id: str = ""
) -> dict[str, bytes]:
    """Return name -> PNG: the attribute's density or frequencies under its own name, its functionals under NAME_numbers.

    Groups are drawn together as NAME_by_OTHER, each group's functionals as NAME_numbers_of_OTHER_CATEGORY.
    Differences are named as `difference_pictures` says.

    tables: table -> frame, as landed; a truth is drawn where `truths` has one.  Without rows there is no picture.
    run_id: the run's, by which comparisons of its own groups are known.
    """
    rows = {name: frame[frame["attribute"] == attribute] for name, frame in tables.items() if "attribute" in frame}
    truths = rows.get("truths")
    densities, shares, numbers = (
        _with_truth(rows.get(table, pd.DataFrame(columns=["given"])), truths)
        for table in ("densities", "frequencies", "functionals")
    )
    density, share, number = (frame[frame["given"] == ""] for frame in (densities, shares, numbers))
    figures = {}
    if len(density):
        figures[attribute] = draw_density(density, number, unit)
    if len(share):
        figures[attribute] = draw_shares(share)
    if len(number):
        figures[f"{attribute}_numbers"] = draw_numbers(number, unit)
    for other, found in by_other(densities):
        figures[f"{attribute}_by_{other}"] = draw_groups(found, unit)
    for given, found in numbers[numbers["given"] != ""].groupby("given", sort=False):
        file = re.sub(r"\W+", "_", str(given)).strip("_")
        figures[f"{attribute}_numbers_of_{file}"] = draw_numbers(found, unit)
    changes = difference_pictures(attribute, rows.get("comparisons"), truths, unit, run_id=run_id)
    return {name: style.png(figure) for name, figure in figures.items()} | changes


def _with_truth(rows: pd.DataFrame, truths: pd.DataFrame | None) -> pd.DataFrame:
    """Rows of any table of estimates, each with what is true of it where somebody knows."""
    if truths is None or truths.empty or rows.empty:
        return rows
    if "x" in rows:
        curve = truths[truths["quantity"] == "density"].rename(columns={"value": "truth"})
        return rows.merge(curve[["given", "x", "truth"]], how="left", on=["given", "x"])
    quantity = "frequency(" + rows["category"] + ")" if "category" in rows else rows["functional"]
    known = truths.drop_duplicates(["given", "quantity"]).set_index(["given", "quantity"])["value"]
    return rows.assign(truth=known.reindex(pd.MultiIndex.from_arrays([rows["given"], quantity])).to_numpy())
