"""The pictures of one attribute, from the tables of a run."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pandas as pd

from dpcore.results.plots import style
from dpcore.results.plots.density import plot_density
from dpcore.results.plots.differences import difference_pictures
from dpcore.results.plots.frequency import plot_frequency
from dpcore.results.plots.functional import plot_functional
from dpcore.results.plots.groups import MOST_GROUPS, plot_groups

_SHOWN = 30  # categories a picture can hold; all of them are in the table


def attribute_pictures(
    attribute: str, tables: Mapping[str, pd.DataFrame], unit: str = "", *, previous: str = "", run_id: str = ""
) -> dict[str, bytes]:
    """Return name -> PNG: the attribute's density or frequencies under its own name, its functionals under NAME_numbers.

    Groups are drawn together as NAME_by_OTHER, each group's functionals as NAME_numbers_of_OTHER_CATEGORY.
    Differences are named as `difference_pictures` says.

    tables: table -> frame, as landed; a truth is drawn where `truths` has one.  Without rows there is no picture.
    previous: the earlier round's name.  run_id: the run's, by which comparisons of its own groups are known.
    """
    every = {name: frame[frame["attribute"] == attribute] for name, frame in tables.items() if "attribute" in frame}
    rows = {name: frame[frame["given"] == ""] if "given" in frame else frame for name, frame in every.items()}
    truths = rows.get("truths")
    density, frequency, numbers = (rows.get(name) for name in ("densities", "frequencies", "functionals"))
    pictures = {}
    if density is not None and len(density):
        figure, axes = style.new_axes()
        atoms = _atoms(numbers)
        plot_density(
            density, axes, truth=_of(truths, r"density$"), atoms=atoms, true_atoms=_of(truths, r"atom\("), unit=unit
        )
        pictures[attribute] = style.png(figure)
    if frequency is not None and len(frequency):
        title = ""
        if len(frequency) > _SHOWN:
            title = f"Shares of {style.in_words(attribute)}: the {_SHOWN} largest of {len(frequency):,}"
            frequency = frequency.loc[frequency["estimate"].nlargest(_SHOWN).index.sort_values()]
        figure, axes = style.new_axes(height=style.height_for(len(frequency)))
        plot_frequency(frequency, axes, truth=_of(truths, r"frequency\("), title=title)
        pictures[attribute] = style.png(figure)
    if numbers is not None and len(numbers):
        figure, axes = style.new_axes(height=style.height_for(len(numbers)))
        plot_functional(numbers, axes, truth=_of(truths, r"(?!density$|frequency\()"))
        pictures[f"{attribute}_numbers"] = style.png(figure)
    differences = difference_pictures(
        attribute, every.get("comparisons"), every.get("truths"), unit, previous=previous, run_id=run_id
    )
    return pictures | _group_pictures(attribute, every, unit) | differences


def _group_pictures(attribute: str, tables: Mapping[str, pd.DataFrame], unit: str) -> dict[str, bytes]:
    """The densities of the groups of each other attribute, and the numbers of each group."""
    pictures = {}
    densities, truths = _grouped(tables.get("densities")), _grouped(tables.get("truths"))
    for other, rows in (
        densities.groupby(densities["given"].str.partition("=")[0], sort=False) if len(densities) else ()
    ):
        shown = rows["given"].unique()[:MOST_GROUPS]
        figure, axes = style.new_axes()
        plot_groups(rows[rows["given"].isin(shown)], axes, truth=_of(truths, r"density$"), unit=unit)
        pictures[f"{attribute}_by_{other}"] = style.png(figure)
    numbers = _grouped(tables.get("functionals"))
    for given, rows in numbers.groupby("given", sort=False) if len(numbers) else ():
        of_group = truths[truths["given"] == given] if len(truths) else None
        figure, axes = style.new_axes(height=style.height_for(len(rows)))
        plot_functional(rows, axes, truth=_of(of_group, r"(?!density$|frequency\()"))
        pictures[f"{attribute}_numbers_of_{_file_name(str(given))}"] = style.png(figure)
    return pictures


def _grouped(frame: pd.DataFrame | None) -> pd.DataFrame:
    return pd.DataFrame() if frame is None or "given" not in frame else frame[frame["given"] != ""]


def _file_name(given: str) -> str:
    """A group as part of a file's name: letters and digits of the other attribute and the category."""
    return re.sub(r"\W+", "_", given).strip("_")


def _atoms(numbers: pd.DataFrame | None) -> pd.DataFrame | None:
    """The rows of `functionals` that are atoms which the density leaves out; None where there are none."""
    if numbers is None or "plug_in" not in numbers:
        return None
    found = numbers[numbers["functional"].str.startswith("atom(") & numbers["plug_in"].notna()]
    return found if len(found) else None


def _of(truths: pd.DataFrame | None, pattern: str) -> pd.DataFrame | None:
    """The truths whose quantity begins with the pattern; None where there are none."""
    if truths is None or truths.empty:
        return None
    found = truths[truths["quantity"].str.match(pattern)]
    return found if len(found) else None
