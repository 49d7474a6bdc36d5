"""What a kind of picture is: of which rows, how many of an attribute, under which names, and how it is drawn.

A new kind is a file beside this one and a line of PICTURES (`attribute.py`): every round then draws it and names it in
`figures`, and its page shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from dpcore.estimation.functional_estimate import SAID
from dpcore.results.text.phrases import SHOWN


def everyone(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the rows that are of no group, under no name, where there are any; a share alone, of silence, is no picture."""
    overall = rows[rows["given"] == ""]
    if len(overall) > ("category" in overall):
        yield "", overall


_ENDS = ("low", "high", "cdf_low", "cdf_high")


def with_bands_at_once(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield everyone's rows of `densities`, with the ends of bands that hold at once, where there are, as ESTIMATOR_low, ..."""
    overall = rows[rows["given"] == ""]
    if overall.empty:
        return
    own = overall[~overall["estimator"].isin(SAID)]
    for estimator in SAID:
        band = overall[overall["estimator"] == estimator].set_index("x")
        if len(band):
            own = own.join(band[list(_ENDS)].add_prefix(f"{estimator}_"), on="x")
    yield "", own


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of picture that rounds draw of each attribute of which a table has rows.

    table: of the warehouse.  draw: those rows, everyone's rows of `functionals` and the attribute's unit -> a figure.
    name: of the file, a format of `attribute` and `part`.  parts: the rows -> (part, rows) for each picture to draw.
    shows: the same format, for pages, to those who do not see it; '' where a page shows no such picture.
    most: groups, or categories, in one picture.
    query: a file of `pages/queries` whose rows a page draws; the table's own rows where none is named.
    """

    table: str
    draw: Callable[[pd.DataFrame, pd.DataFrame, str], Figure]
    name: str
    parts: Callable[[pd.DataFrame], Iterator[tuple[str, pd.DataFrame]]] = everyone
    shows: str = ""
    most: int = SHOWN
    query: str = ""
