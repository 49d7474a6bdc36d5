"""The content of a page for pairs of attributes, queried from the warehouse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from dpcore.results.pages.pictures import Picture
from dpcore.results.pages.query import Ask, read_query
from dpcore.results.pages.relations import Relation
from dpcore.results.text.joint_phrases import Side, read_number, read_test, sides_of
from dpcore.results.text.phrases import Line, records

_ASSUMPTION = (
    "The intervals assume a smooth joint distribution: polynomials of order 8 in each attribute. In Python, "
    "`distribution_free=True` gives longer intervals without this assumption."
)


def pairs_of(
    ask: Ask,
    run_id: str,
    attributes: Sequence[Mapping[str, Any]],
    canonical: str | None,
) -> list[Relation]:
    """Return a section for every pair of a run.  attributes: rows of `attributes`."""
    named = records(ask(read_query("pairs", run_id=run_id).sql))
    sides = sides_of(attributes, canonical) if named else {}
    return [_pair(ask, run_id, sides[pair["first"]], sides[pair["second"]]) for pair in named]


def _pair(ask: Ask, run_id: str, first: Side, second: Side) -> Relation:
    from dpcore.results.plots import joint

    values = {"run_id": run_id, "first": first.name, "second": second.name}
    cells, associations = read_query("joint", **values), read_query("associations", **values)
    table, rows = ask(cells.sql), ask(associations.sql)
    title, drawn = f"{first.words} and {second.words}", []
    if len(table):
        shows = f"Two-way table of {title}: the proportion of each cell and its uncertainty"
        drawn.append(Picture(partial(joint.joint_figure, table, first, second), shows, cells))
    if len(means := joint.means(rows)):
        shows = f"Mean {first.words} by {second.words}, with intervals"
        drawn.append(Picture(partial(joint.along_figure, means, first, second), shows, associations))
    tests = [row for row in records(rows) if row["kind"] == "test"]
    lines = [read_number(row, first, second) for row in records(rows) if row["kind"] != "test"]
    confidences = rows["confidence"].dropna().unique()
    ranges = "; ".join(side.value_range for side in (first, second) if side.value_range)
    return Relation(
        name=f"{first.name}-{second.name}",
        title=title,
        about=f"For clients who answered both{f'; {ranges}' if ranges else ''}.",
        assumption=_ASSUMPTION,
        refused="; ".join(row["reason"] for row in tests if row["reason"]),
        pictures=drawn,
        numbers=[line for line in lines if not line.group],
        along=sorted((line for line in lines if line.group), key=lambda line: _order(lines, line)),
        tests=[read_test(row, first, second) for row in tests if row["p_value"] is not None],
        confidence=f"{100 * float(confidences[0]):.4g} %" if len(confidences) == 1 else "",
        second=second.words,
        query=associations,
    )


def _order(lines: list[Line], line: Line) -> tuple[int, int]:
    """Sort by statistic, then by the parts of the second attribute."""
    texts = list(dict.fromkeys(other.text for other in lines))
    return texts.index(line.text), lines.index(line)
