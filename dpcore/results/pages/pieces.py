"""A landed round in pieces, for places that show Markdown and tables, such as Prefect's UI: the page's content, asked once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcore.results import warehouse
from dpcore.results.pages.content import Section, gather
from dpcore.results.pages.filling import fill
from dpcore.results.reading import Line

Row = dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Pieces:
    """What is shown of a round.

    headline: one line for a list of rounds.  failed: of each check that did not pass, its name and what it saw.
    front: Markdown of everything but the estimates: checks, refused reports, what clients have spent.
    attributes: attribute -> Markdown, with its pictures inside.  estimates, changes, groups: rows of text, whose columns are
    alike within a table; changes since the round before and differences of groups, with columns `more than chance`.
    """

    title: str
    headline: str
    failed: list[str]
    front: str
    attributes: dict[str, str]
    estimates: list[Row]
    changes: list[Row]
    since: str
    groups: list[Row]


def pieces(path: str | Path, run_id: str) -> Pieces:
    """Return what is shown of a landed run; raises WarehouseError where the warehouse cannot be read."""
    with warehouse.reader(path) as ask:
        content = gather(ask, run_id)
    content["warehouse"] = str(path)
    run, sections, changes = content["run"], content["sections"], content["changes"]
    content["failed"] = [check for check in content["checks"] if not check["passed"]]
    return Pieces(
        title=f"{content['title']}, round {run['round']}",
        headline=_headline(content),
        failed=[f"{check['name']}: {check['detail']}" for check in content["failed"]],
        front=fill("front.md", content),
        attributes={section.name: fill("attribute.md", content | {"section": section}) for section in sections},
        estimates=_estimates(sections, content["simulated"]),
        changes=[_difference(line) for change in changes[:1] for line in change.lines],
        since=changes[0].since if changes else "",
        groups=[
            {"attribute": section.title} | _difference(line) for section in sections for line in section.differences
        ],
    )


def _headline(content: dict[str, Any]) -> str:
    run, checks, failed = content["run"], content["checks"], content["failed"]
    verdict = f"{len(failed)} of {len(checks)} checks did not pass" if failed else f"all {len(checks)} checks passed"
    return f"{run['accepted']:,} reports counted, {run['rejected']:,} refused; {verdict}"


def _estimates(sections: list[Section], with_truth: bool) -> list[Row]:
    lines = [(section, line) for section in sections for line in section.lines]
    with_groups = any(line.group for _, line in lines)
    rows = []
    for section, line in lines:
        row = {"attribute": section.title, "quantity": line.quantity}
        if with_groups:
            row["group"] = line.group
        row |= {"estimate": _value(line), "interval": line.interval}
        if with_truth:
            row["truth"] = line.truth + {True: " ✓", False: " ✗", None: ""}[line.holds]  # whether the interval holds it
        rows.append(row)
    return rows


def _difference(line: Line) -> Row:
    named = {"attribute": line.attribute, "quantity": line.quantity, "group": line.group}
    return named | {
        "difference": _value(line),
        "interval": line.interval,
        "more than chance": line.verdict,
    }


def _value(line: Line) -> str:
    return line.value if line.estimate else f"refused: {line.note}"
