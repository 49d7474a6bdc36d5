"""Kinds of pictures: their rows, number per attribute, names and drawing function.

A new kind is a file in this folder and a line of PICTURES (`attribute.py`).  Every round then draws it, lists it in `figures`
and shows it on its page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from dpcore.estimation.functional_estimate import REPEATED
from dpcore.results.text.phrases import SHOWN


def everyone(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield ('', rows for all clients), if there are any; the proportion of nonresponse alone gives no picture."""
    overall = rows[rows["given"] == ""]
    if len(overall) > ("category" in overall):
        yield "", overall


_ENDS = ("low", "high", "cdf_low", "cdf_high")


def with_simultaneous_bands(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield ('', rows of `densities` for all clients), with the limits of simultaneous bands as ESTIMATOR_low, ..."""
    overall = rows[rows["given"] == ""]
    if overall.empty:
        return
    own = overall[~overall["estimator"].isin(REPEATED)]
    for estimator in REPEATED:
        band = overall[overall["estimator"] == estimator].set_index("x")
        if len(band):
            own = own.join(band[list(_ENDS)].add_prefix(f"{estimator}_"), on="x")
    yield "", own


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of picture, drawn for each attribute with rows in a table.

    table: of the warehouse.  draw: function of these rows, the rows of `functionals` for all clients and the attribute's unit.
    name: of the file, a format of `attribute` and `part`.  parts: function from the rows to (part, rows) of each picture.
    shows: alternative text on pages, in the same format; '' if pages do not show it.
    most: number of groups or categories in one picture.
    query: name in `pages/queries.sql` with the rows for a page; '' for the table's own rows.
    """

    table: str
    draw: Callable[[pd.DataFrame, pd.DataFrame, str], Figure]
    name: str
    parts: Callable[[pd.DataFrame], Iterator[tuple[str, pd.DataFrame]]] = everyone
    shows: str = ""
    most: int = SHOWN
    query: str = ""
