"""The content of a page for pairs of attributes, queried from the warehouse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dpcore.results.pages.pictures import Picture
from dpcore.results.pages.query import Ask, Query, read_query
from dpcore.results.text.joint_phrases import Side, read_number, read_test, sides_of
from dpcore.results.text.phrases import Line, records

_HEADLINE_PARTS = 3  # conditional means in the one-line summary of a pair


@dataclass(frozen=True, kw_only=True)
class PairSection:
    """The content for a pair of attributes.

    numbers: for all clients who answered both.  along: conditional on each part of the second.  tests: sentences.
    refused: why no estimate is available; '' otherwise.
    """

    name: str
    title: str
    about: str
    refused: str
    pictures: list[Picture]
    numbers: list[Line]
    along: list[Line]
    tests: list[str]
    confidence: str
    second: str
    query: Query
    frequencies: list[Line] = field(default_factory=list)  # as in an attribute's section, which shares a template

    @property
    def headline(self) -> str:
        """A one-line summary: the first statistic with its interval, conditional means, or the tests."""
        if self.refused:
            return f"refused: {self.refused}"
        means = [line for line in self.along if line.text.startswith("mean ") and line.estimate][:_HEADLINE_PARTS]
        if self.numbers:
            return f"{self.numbers[0].text} {_with_interval(self.numbers[0])}"
        if means:
            return f"{means[0].text}: " + ", ".join(f"{line.group} {_with_interval(line)}" for line in means)
        return "; ".join(sentence.rstrip(".") for sentence in self.tests)


def _with_interval(line: Line) -> str:
    return f"{line.value} ({line.interval})" if line.estimate else f"refused: {line.note}"


def pairs_of(
    ask: Ask,
    run_id: str,
    attributes: Sequence[Mapping[str, Any]],
    canonical: str | None,
) -> list[PairSection]:
    """Return a section for every pair of a run.  attributes: rows of `attributes`."""
    named = records(ask(read_query("pairs", run_id=run_id).sql))
    sides = sides_of(attributes, canonical) if named else {}
    return [_pair(ask, run_id, sides[pair["first"]], sides[pair["second"]]) for pair in named]


def _pair(ask: Ask, run_id: str, first: Side, second: Side) -> PairSection:
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
    return PairSection(
        name=f"{first.name}-{second.name}",
        title=title,
        about=f"For clients who answered both{f'; {ranges}' if ranges else ''}.",
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
