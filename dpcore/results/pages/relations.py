"""Content of a page that several attributes share: pairs of attributes, regressions on labels, and experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from dpcore.estimation.regression.design_matrix import LINEAR, LOGISTIC, MULTINOMIAL
from dpcore.results.pages.pictures import Picture
from dpcore.results.pages.query import Ask, Query, read_query
from dpcore.results.text.phrases import SHOWN, Line, in_words, read, records, title_of
from dpcore.results.text.relation_phrases import (
    SIGNIFICANCE,
    Side,
    outcome_of,
    read_estimate,
    read_number,
    read_test,
    read_tests,
    rounded_p_value,
    sides_of,
    term_in_words,
)

_HEADLINE_PARTS = 3  # conditional means in the one-line summary
_SMOOTH_JOINT = (
    "The intervals assume a smooth joint distribution: polynomials of order 8 in each attribute. In Python, "
    "`distribution_free=True` gives longer intervals without this assumption."
)
_ABOUT_MODEL = {
    LOGISTIC: "Logistic regression, {reports:,} reports; odds of “{category}” against “{reference}”.",
    MULTINOMIAL: "Multinomial regression, {reports:,} reports; odds of each category against “{reference}”.",
    LINEAR: "Linear regression of the mean, {reports:,} reports.",
}
_MODEL_HOLDS = "The intervals assume that the model holds, and that estimates are normally distributed."
_ALWAYS_VALID = (
    "An always-valid interval and its p-value use all rounds so far, and hold at all rounds together: you may look after every "
    "round and stop when you like. They assume rounds with independent errors, which memoized answers do not have, and the "
    "same true difference in all rounds."
)


@dataclass(frozen=True, kw_only=True)
class Relation:
    """The content for a pair of attributes, a regression or an experiment.

    numbers: estimates for all clients concerned.  along: estimates by group, such as the parts of the second attribute.
    tests: sentences.  assumption: of the intervals.  refused: why no estimate is available; '' otherwise.
    formula: of a regression.  rows: of an experiment, by column.  summary: in place of the headline; '' for none.
    """

    name: str
    title: str
    about: str
    assumption: str
    refused: str
    numbers: list[Line]
    along: list[Line]
    tests: list[str]
    confidence: str
    second: str
    query: Query
    formula: str = ""
    summary: str = ""
    rows: list[dict[str, str]] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    frequencies: list[Line] = field(default_factory=list)  # as in an attribute's section, which shares a template

    @property
    def headline(self) -> str:
        """A one-line summary: the first statistic with its interval, conditional means, or the tests."""
        if self.refused:
            return f"refused: {self.refused}"
        if self.summary:
            return self.summary
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
        assumption=_SMOOTH_JOINT,
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


def regressions_of(ask: Ask, run_id: str) -> list[Relation]:
    """Return a section for every regression of a run."""
    query = read_query("regressions", run_id=run_id)
    rows = records(ask(query.sql))
    sections = []
    for name in dict.fromkeys(row["regression"] for row in rows):
        own = [row for row in rows if row["regression"] == name]
        estimates = [row for row in own if row["quantity"] in ("coefficient", "effect")]
        lines, kind = [read_estimate(row) for row in estimates], own[0]["kind"]
        texts = list(dict.fromkeys(line.text for line in lines))
        tests = read_tests(own)
        named = {key: title_of(outcome_of(own[0]), own[0][key] or "") for key in ("category", "reference")}
        references = ", ".join(map(term_in_words, own[0]["references"].split(" : ")))
        sections.append(
            Relation(
                name=f"regression-{name}",
                title=in_words(name),
                formula=own[0]["formula"],
                about=f"{_ABOUT_MODEL[kind].format(**own[0] | named)} Reference: {references}." if kind else "",
                assumption=_MODEL_HOLDS,
                refused="; ".join(row["reason"] for row in own if row["reason"]),
                numbers=[] if kind == MULTINOMIAL else [replace(line, group="") for line in lines],
                along=sorted(lines, key=lambda line: texts.index(line.text)) if kind == MULTINOMIAL else [],
                tests=tests,
                summary=" ".join(tests),
                confidence=f"{100 * estimates[0]['confidence']:.4g} %" if estimates else "",
                second="category",
                query=query,
            )
        )
    return sections


def experiments_of(ask: Ask, run_id: str) -> list[Relation]:
    """Return a section for every experiment of a run."""
    query = read_query("experiments", run_id=run_id)
    rows = records(ask(query.sql))
    return [
        _of_label([row for row in rows if row["label"] == label], query)
        for label in dict.fromkeys(row["label"] for row in rows)
    ]


def _of_label(rows: list[dict[str, Any]], query: Query) -> Relation:
    label, available = rows[0]["label"], [row for row in rows if row["difference"] is not None]
    in_round = [row["adjusted_p_value"] < SIGNIFICANCE for row in available]
    so_far = [_pooled_p(row) < SIGNIFICANCE for row in available]
    significant = [row for row, *marks in zip(available, in_round, so_far, strict=True) if any(marks)]
    listed = (available if len(available) <= SHOWN else significant)[:SHOWN]
    about = f"Each arm minus {title_of(label, rows[0]['control'])}; p-values are adjusted for {rows[0]['outcomes']} outcomes."
    if pooled := [row for row in rows if row["rounds"]]:
        first = min(row["first_round"] for row in pooled)
        about += f" Rounds so far: {max(row['rounds'] for row in pooled):.0f}, since {first}."
    if len(listed) < len(available):
        about += f" {len(available) - len(listed)} more differences are in the table experiments."
    refusals = "; ".join(dict.fromkeys(row["reason"] for row in rows if row["difference"] is None))
    return Relation(
        name=f"experiment-{label}",
        title=title_of(label),
        about=about,
        assumption=_ALWAYS_VALID,
        refused="" if available else refusals,
        numbers=[],
        along=[],
        tests=[f"Not available: {refusals}."] if available and refusals else [],
        rows=[_cells(row) for row in listed],
        summary=f"{sum(in_round)} of {len(available)} differences are significant, {sum(so_far)} in all rounds so far",
        confidence="",
        second="arm",
        query=query,
    )


def _pooled_p(row: Mapping[str, Any]) -> float:
    return 1.0 if row["pooled_p_value"] is None else float(row["pooled_p_value"])


def _cells(row: dict[str, Any]) -> dict[str, str]:
    line = read(row, row["unit"])
    of_all = read(row | {name: row[f"pooled_{name}"] for name in ("difference", "low", "high")}, row["unit"])
    return {
        "arm": title_of(row["label"], row["arm"]),
        "outcome": f"{line.attribute}: {line.text}",
        "difference": line.value,
        "interval": line.interval,
        "adjusted p": rounded_p_value(row["adjusted_p_value"]),
        "always-valid interval": of_all.interval,
        "always-valid p": rounded_p_value(_pooled_p(row)) if of_all.interval else "",
    }
