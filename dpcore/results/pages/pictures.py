"""The pictures of a page, from the rows of its queries, as data URLs that the page carries in itself."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pandas as pd

from dpcore.results import plots

SHOWN = 30  # categories in a picture and a table; all of them are in the warehouse
_MOST_GROUPS = 6  # colours there are


def density(rows: pd.DataFrame, numbers: pd.DataFrame, unit: str) -> str:
    """Return the picture of a density; rows: of `density.sql`; numbers: everyone's rows of `numbers.sql`, for atoms."""
    figure, axes = plots.new_axes()
    atoms = numbers[numbers["functional"].str.startswith("atom(") & numbers["plug_in"].notna()]
    true_atoms = atoms.rename(columns={"functional": "quantity", "truth": "value"}).dropna(subset=["value"])
    plots.plot_density(
        rows,
        axes,
        truth=_known(rows[["x", "truth"]]),
        previous=_previous(rows[["x", "before"]], "density"),
        atoms=atoms if len(atoms) else None,
        true_atoms=true_atoms[["quantity", "value"]] if len(true_atoms) else None,
        unit=unit,
    )
    return _url(figure)


def groups(rows: pd.DataFrame, unit: str) -> str:
    """Return the picture of the densities of the groups of one other attribute; rows: of `group_densities.sql`."""
    shown = rows[rows["given"].isin(rows["given"].unique()[:_MOST_GROUPS])]
    figure, axes = plots.new_axes()
    plots.plot_groups(shown, axes, truth=_known(shown[["given", "x", "truth"]]), unit=unit)
    return _url(figure)


def frequencies(rows: pd.DataFrame, total: int) -> str:
    """Return the picture of frequencies; rows: of `frequencies.sql`, those that are shown; total: how many there are."""
    figure, axes = plots.new_axes(height=plots.height_for(len(rows)))
    name = plots.in_words(str(rows["attribute"].iloc[0]))
    plots.plot_frequency(
        rows,
        axes,
        truth=_known(rows.assign(quantity="frequency(" + rows["category"] + ")")[["quantity", "truth"]]),
        previous=_previous(rows[["category", "before"]], "estimate"),
        title=f"Shares of {name}: the {len(rows)} largest of {total:,}" if len(rows) < total else "",
    )
    return _url(figure)


def _known(rows: pd.DataFrame) -> pd.DataFrame | None:
    found = rows.rename(columns={"truth": "value"}).dropna(subset=["value"])
    return found if len(found) else None


def _previous(rows: pd.DataFrame, name: str) -> pd.DataFrame | None:
    found = rows.rename(columns={"before": name}).dropna(subset=[name])
    return found if len(found) else None


def _url(figure: Any) -> str:
    return "data:image/svg+xml;base64," + b64encode(plots.svg(figure).encode()).decode()
