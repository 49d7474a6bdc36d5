"""The content of a round's page as Markdown and tables, for Prefect's UI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcore.results import warehouse
from dpcore.results.pages.content import Changes, Section, gather
from dpcore.results.pages.relations import Relation
from dpcore.results.pages.template import Row, Strong, fill, fitted, table
from dpcore.results.pages.vocabulary import titles_of
from dpcore.results.text.phrases import Line

_NAMES = ("attribute", "quantity", "group")  # text columns


@dataclass(frozen=True, kw_only=True)
class Pieces:
    """The content of a round.

    headline: one line for a list of rounds.  failed: name and detail of each failed check.
    front: Markdown with checks, rejected reports and spent epsilon.
    attributes: attribute -> Markdown with its pictures, and reasons for estimates and differences that are not available.
    pairs: FIRST-SECOND -> Markdown of two attributes.  estimates, changes, groups: rows of Markdown; all rows of a table have
    the same columns.  Changes since the previous round have a column `moved`, differences between groups a column `differ`,
    with values as in `Line.verdict`.
    """

    title: str
    headline: str
    failed: list[str]
    front: str
    attributes: dict[str, str]
    pairs: dict[str, str]
    estimates: list[Row]
    changes: list[Row]
    since: str
    groups: list[Row]


def pieces(path: str | Path, run_id: str) -> Pieces:
    """Return the content of a landed run; raises WarehouseError if the warehouse cannot be read."""
    with warehouse.reader(path) as ask, titles_of(ask, run_id):
        return _pieces(gather(ask, run_id) | {"warehouse": str(path)})


def _pieces(content: dict[str, Any]) -> Pieces:
    run, sections, changes = content["run"], content["sections"], content["changes"]
    content["failed"] = [check for check in content["checks"] if not check["passed"]]
    return Pieces(
        title=f"{content['title']}, round {run['round']}",
        headline=_headline(content),
        failed=[f"{check['name']}: {check['detail']}" for check in content["failed"]],
        front=fill("front.md", content | _front(content)),
        attributes={section.name: _page(section, content) for section in sections},
        pairs={
            relation.name: _pair_page(relation, content)
            for relation in (*content["pairs"], *content["experiments"], *content["regressions"])
        },
        estimates=_estimates(sections, content["simulated"]),
        changes=_differences([(line.attribute, line) for change in changes[:1] for line in change.lines], "moved"),
        since=changes[0].since if changes else "",
        groups=_differences([(section.title, line) for section in sections for line in section.differences], "differ"),
    )


def _headline(content: dict[str, Any]) -> str:
    run, checks, failed = content["run"], content["checks"], content["failed"]
    verdict = f"{len(failed)} of {len(checks)} checks did not pass" if failed else f"all {len(checks)} checks passed"
    return f"{run['accepted']:,} reports counted, {run['rejected']:,} rejected; {verdict}"


def _front(content: dict[str, Any]) -> dict[str, str]:
    """The tables of the front page."""
    run, spent, total = content["run"], content["spent"], content["total"]
    rounds = "all rounds (this is the first)"
    if spent["rounds"] > 1:
        rounds = f"all {spent['rounds']} rounds since {spent['first_round']}"
    asked = f", asked {spent['drawings']} times" if spent["drawings"] > spent["rounds"] else ""
    summary = {
        "reports counted": f"{run['accepted']:,}",
        "reports rejected": f"{run['rejected']:,}",
        "epsilon of a client in this round": f"ε = {total['epsilon']}" if total else "unknown",
        f"epsilon in {rounds}{asked}": "unknown" if spent["epsilon"] is None else f"ε = {spent['epsilon']:.4g}",
    }
    checks = [
        {
            "check": check["name"],
            "verdict": "✓ passed" if check["passed"] else Strong("✗ not passed"),
            "observed": check["observed"],
            "limit": check["threshold"],
        }
        for check in content["checks"]
    ]
    sent = run["accepted"] + run["rejected"]
    rejects = [
        {"reports": f"{row['count']:,}", "share": f"{row['count'] / sent:.2%}", "reason": row["reason"]}
        for row in content["rejects"]
    ]
    promises = [
        {
            "attribute": promise["title"],
            "mechanism": promise["mechanism"],
            "reports": f"{promise['charges']:,}",
            "ε": promise["stated"],
            "certified loss": promise["certified"],
        }
        for promise in content["promises"]
    ]
    return {
        "summary_table": table([{"summary": name, "": Strong(value)} for name, value in summary.items()], "summary"),
        "checks_table": table(checks, "check", "verdict"),
        "rejects_table": table(rejects, "reason"),
        "promises_table": table(promises, "attribute", "mechanism", "certified loss"),
    }


def _page(section: Section, content: dict[str, Any]) -> str:
    """An attribute's page."""
    of_numbers = f"{section.confidence} interval".strip()

    def shown(name: str, lines: Sequence[Line], by: str = "", interval: str = of_numbers) -> str:
        rows = []
        for line in lines:
            row = {name: line.text} | ({by: _group(line, by)} if by else {})
            row |= {"estimate": Strong(line.value) if line.estimate else line.value, interval: line.interval}
            rows.append(row | ({"true value": _truth(line)} if section.has_truth else {}))
        return table(rows, name, by)

    tables = {
        "frequencies_table": shown("category", section.frequencies, interval=section.frequencies_interval),
        "numbers_table": shown("quantity", section.numbers),
        "alternative_tables": [shown("quantity", part.lines) for part in section.alternatives],
        "groups_table": shown("quantity", section.groups, _by(section.groups)),
    }
    return fill(
        "attribute.md", content | tables | {"section": section, "refused": _refused(section, content["changes"])}
    )


def _pair_page(pair: Relation, content: dict[str, Any]) -> str:
    """A page of a pair of attributes."""
    interval = f"{pair.confidence} interval".strip()
    rows: list[Row] = [{**row} for row in pair.rows] or [
        {"statistic": line.text, pair.second: line.group, "estimate": Strong(line.value), interval: line.interval}
        for line in (*pair.numbers, *pair.along)
    ]
    refused = [(f"{line.text}, {line.group}", line.note) for line in (*pair.numbers, *pair.along) if line.note]
    own = {
        "pair": pair,
        "numbers_table": table(rows, "statistic", "outcome", pair.second),
        "refused": refused,
    }
    return fill("pair.md", content | own)


def _refused(section: Section, changes: list[Changes]) -> list[tuple[str, str]]:
    """Estimates, differences and changes of an attribute that are not available, with the reasons."""
    lines = [(line, "") for line in (*section.lines, *section.differences)]
    for change in changes[:1]:
        lines += [(line, f" since {change.since}") for line in change.lines if line.attribute == section.title]
    return [
        (", ".join(filter(None, (line.quantity, line.group))) + since, line.note) for line, since in lines if line.note
    ]


def _estimates(sections: list[Section], with_truth: bool) -> list[Row]:
    lines = [(section, line) for section in sections for line in section.lines]
    by = _by([line for _, line in lines])
    rows = []
    for section, line in lines:
        row = {"attribute": section.title, "quantity": line.quantity} | ({by: _group(line, by)} if by else {})
        row |= {"estimate": line.value, "interval": line.interval}
        rows.append(row | ({"true value": _truth(line)} if with_truth else {}))
    return fitted(rows, *_NAMES, by)


def _by(lines: Sequence[Line]) -> str:
    """The title of the column of groups: 'by ATTRIBUTE', 'group' for several attributes, '' without groups."""
    others = {line.group.partition(": ")[0] for line in lines if line.group}
    return "group" if len(others) > 1 else f"by {others.pop()}" if others else ""


def _group(line: Line, by: str) -> str:
    return line.group if by == "group" else line.group.partition(": ")[2]


def _truth(line: Line) -> str:
    return line.truth + {True: " ✓", False: " ✗", None: ""}[line.holds]  # whether the interval covers it


def _differences(lines: Sequence[tuple[str, Line]], verdict: str) -> list[Row]:
    """The rows of differences with the titles of their attributes."""
    with_groups = any(line.group for _, line in lines)
    rows = []
    for title, line in lines:
        row = {"attribute": title, "quantity": line.quantity} | ({"group": line.group} if with_groups else {})
        rows.append(row | {"difference": line.value, "interval": line.interval, verdict: line.verdict})
    return fitted(rows, *_NAMES)
