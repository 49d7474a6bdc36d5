"""The pictures of one attribute: their kinds, and those of a run's tables as figures and as PNG files."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from dpcore.results.plots import density, frequency, functional, style
from dpcore.results.plots.comparison import difference_figures
from dpcore.results.plots.picture_kind import Kind
from dpcore.results.plots.truth import beside_truth

PICTURES: tuple[Kind, ...] = (
    density.EVERYONE,
    density.GROUPS,
    density.CURVE,
    frequency.SHARES,
    frequency.GROUPS,
    functional.NUMBERS,
    functional.GROUPS,
)


def attribute_pictures(
    attribute: str, tables: Mapping[str, pd.DataFrame], unit: str = "", *, run_id: str = ""
) -> dict[str, bytes]:
    """Return name -> PNG of the figures of `attribute_figures`, with the same parameters."""
    return {
        name: style.png(figure) for name, figure in attribute_figures(attribute, tables, unit, run_id=run_id).items()
    }


def attribute_figures(
    attribute: str, tables: Mapping[str, pd.DataFrame], unit: str = "", *, run_id: str = ""
) -> dict[str, Figure]:
    """Return name -> figure of every kind of PICTURES, and of the differences (`difference_figures`).

    tables: table -> landed frame; true values are drawn if `truths` has them.  Without rows there is no picture.
    run_id: the run's, to find the comparisons of its own groups.
    """
    rows = {name: frame[frame["attribute"] == attribute] for name, frame in tables.items() if "attribute" in frame}
    truths = rows.get("truths")
    with_truth = {name: beside_truth(rows[name], truths) for name in {kind.table for kind in PICTURES} & rows.keys()}
    numbers = with_truth.get("functionals", pd.DataFrame(columns=["given"]))
    numbers = numbers[numbers["given"] == ""]
    figures = {
        kind.name.format(attribute=attribute, part=part): kind.draw(shown, numbers, unit)
        for kind in PICTURES
        if kind.table in with_truth
        for part, shown in kind.parts(with_truth[kind.table])
    }
    return figures | difference_figures(attribute, rows.get("comparisons"), truths, unit, run_id=run_id)
