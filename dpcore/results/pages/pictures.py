"""A picture of a page and its data as a table, for screen readers and for pointing at the picture."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import pandas as pd

from dpcore.functionals.group import Group
from dpcore.results.pages.query import Ask, Query, read_query
from dpcore.results.text.phrases import is_law, records, rounded, separated, title_of

_MOST = 50  # rows of a curve's table; the SQL returns all points
_REFERENCES = (("truth", "true value"), ("before", "previous round"))  # columns with other curves, and their titles


@dataclass(frozen=True, kw_only=True)
class Points:
    """Points of a picture that a reader can select.

    axis: the axis of their positions.  at: positions in the axis' unit.  heads and rows: a table with a row for each point and
    its name in the first column; empty if the page has such a table already.
    """

    axis: Literal["x", "y"]
    at: Sequence[float]
    heads: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    of_all: int = 0


@dataclass(frozen=True)
class Picture:
    """A picture with its alternative text and SQL; it is drawn on demand."""

    draw: Callable[[], Any]
    shows: str
    query: Query
    points: Points | None = None
    has_before: bool = False

    @property
    def url(self) -> str:
        """The picture as a data URL."""
        from dpcore.results import plots

        return "data:image/svg+xml;base64," + b64encode(plots.svg(self.draw()).encode()).decode()

    def drawn(self, name: str) -> list[tuple[str, str, list[float]]]:
        """Return ("wide", SVG element, positions of its points) and the same for "narrow" pages.

        name: prefix of identifiers.  Positions are fractions of the width from the left, or of the height from the top.
        """
        from dpcore.results import plots

        figure, sizes = self.draw(), []
        for size in ("wide", "narrow"):
            if size == "narrow":
                plots.narrow(figure)
            element = plots.inline(figure, f"{name}-{size}")
            places = plots.places(figure, self.points.axis, self.points.at) if self.points else []
            sizes.append((size, element, places))
        return sizes


def pictures_of(
    ask: Ask, named: dict[str, str], answers: dict[Query, pd.DataFrame], everyone: pd.DataFrame, unit: str
) -> Iterator[Picture]:
    """Yield the pictures of an attribute; rows that are not in `answers` are queried."""
    from dpcore.results import plots  # with matplotlib

    title = title_of(named["attribute"])
    for kind in [kind for kind in plots.PICTURES if kind.shows]:
        query = read_query(kind.query or "rows", **named, table=kind.table)
        if query not in answers:
            answers[query] = ask(query.sql)
        for part, rows in kind.parts(answers[query]):
            shows = kind.shows.format(attribute=title, part=title_of(part))
            has_before = "before" in rows and bool(rows["before"].notna().any())
            points = points_of(rows, unit, shown=kind.most)
            yield Picture(partial(kind.draw, rows, everyone, unit), shows, query, points, has_before)


def points_of(rows: pd.DataFrame, unit: str, *, shown: int) -> Points | None:
    """Return the selectable points of a picture of these rows; None if it has none.

    rows: of `densities` or `frequencies`, for one attribute.  shown: number of groups or categories in the picture.
    """
    if "category" in rows and is_law(rows).all():
        return _values_of(rows, unit) if rows["given"].nunique() == 1 else None
    if "category" in rows:
        return Points(axis="y", at=[float(place) for place in range(min(shown, rows["category"].nunique()))])
    if "density" not in rows:
        return None
    groups = [(key, group) for key, group in rows.groupby("given", sort=False)][:shown]
    grid = sorted(groups[0][1]["x"])
    at = grid[:: -(-len(grid) // _MOST)]
    width = float(_percent_width(rows))
    percent, name = f"% per {separated(width)} {unit}".strip(), title_of(str(rows["attribute"].iloc[0]))
    columns: dict[str, list[str]] = {f"{name} ({unit})" if unit else name: [separated(x) for x in at]}
    for key, group in groups:
        points = records(group.set_index("x").reindex(at))
        if (parsed := Group.parse(str(key))) is None:
            columns |= dict(_curve(points, 100 * width, percent, _band(group)))
        else:
            columns[f"{title_of(parsed.attribute, parsed.category)}, {percent}"] = [
                _in_one(row, 100 * width) for row in points
            ]
    return Points(
        axis="x",
        at=at,
        heads=list(columns),
        rows=list(map(list, zip(*columns.values(), strict=True))),
        of_all=len(grid),
    )


def _values_of(rows: pd.DataFrame, unit: str) -> Points:
    """The values of a discrete numeric attribute with their proportions."""
    rows = rows.assign(x=pd.to_numeric(rows["category"], errors="coerce")).dropna(subset="x").sort_values("x")
    points, name = records(rows), title_of(str(rows["attribute"].iloc[0]))
    heads = {f"{name} ({unit})" if unit else name: [separated(row["x"]) for row in points]}
    heads["%"] = [_cell(row, "estimate", 100) for row in points]
    heads[_band(rows)] = [_interval(row, 100) for row in points]
    for column, head in _REFERENCES:
        if any(row.get(column) is not None for row in points):
            heads[head] = [_cell(row, column, 100) for row in points]
    cells = list(map(list, zip(*heads.values(), strict=True)))
    return Points(axis="x", at=[row["x"] for row in points], heads=list(heads), rows=cells, of_all=len(points))


def _percent_width(rows: pd.DataFrame) -> float:
    from dpcore.results import plots

    return plots.percent_width(rows)


def _band(rows: pd.DataFrame) -> str:
    confidences = rows["confidence"].dropna().unique()
    return f"{100 * float(confidences[0]):.4g} % band" if len(confidences) == 1 else "band"


def _curve(rows: list[dict[str, Any]], scale: float, percent: str, band: str) -> Iterator[tuple[str, list[str]]]:
    yield percent, [_cell(row, "density", scale) for row in rows]
    yield band, [_interval(row, scale) for row in rows]
    for column, head in _REFERENCES:
        if any(row.get(column) is not None for row in rows):
            yield head, [_cell(row, column, scale) for row in rows]


def _in_one(row: dict[str, Any], scale: float) -> str:
    """A group's estimate, band and true value in one cell."""
    truth = f", true value {_cell(row, 'truth', scale)}" if row.get("truth") is not None else ""
    band = f" ({interval})" if (interval := _interval(row, scale)) else ""
    return f"{_cell(row, 'density', scale)}{band}{truth}"


def _interval(row: dict[str, Any], scale: float) -> str:
    if row.get("low") is None or row.get("high") is None:
        return ""
    return f"{_cell(row, 'low', scale)} to {_cell(row, 'high', scale)}"


def _cell(row: dict[str, Any], column: str, scale: float) -> str:
    value, low, high = (row.get(name) for name in (column, "low", "high"))
    if value is None:
        return ""
    return rounded(scale * value, float("nan") if low is None or high is None else scale * (high - low))
