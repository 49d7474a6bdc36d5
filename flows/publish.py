"""The flow that publishes an estimated round: pictures, the landing in the warehouse, and pages in Prefect's UI."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.artifacts import create_markdown_artifact, create_table_artifact

from dpcore import changes, stages
from dpcore.tables import Line
from flows.estimate import find
from flows.settings import NamedRound
from flows.stage import key, land_failure, run_name, stage


@stage("draw", run_name="draw-{folder.name}")
def draw(folder: Path) -> dict[str, Path]:
    """Draw pictures of each attribute and return name -> file."""
    return stages.draw(folder)


@stage("show", run_name="show-{folder.name}")
def show(folder: Path, pictures: dict[str, Path]) -> None:
    """Put tables of the estimates and of what changed, and a page for each attribute, into Prefect's UI."""
    plan = stages.plan_of(folder)
    title = f"{plan.scheme.name}, round {plan.round}, run {plan.run_id}"
    rows = _rows(folder)
    create_table_artifact(rows, key=key(plan.scheme.name, "estimates"), description=title)
    before, since, among = stages.changes_of(folder)
    if before and since:
        description = f"{title}, since round {before}"
        create_table_artifact(_differences(since), key=key(plan.scheme.name, "changes"), description=description)
    if among:
        description = f"{title}, one group minus another"
        create_table_artifact(_differences(among), key=key(plan.scheme.name, "groups"), description=description)
    for attribute in plan.scheme.attributes:
        create_markdown_artifact(
            _page(attribute, title, [row for row in rows if row["attribute"] == attribute], pictures),
            key=key(plan.scheme.name, attribute),
            description=title,
        )


@stage("land", run_name="land-{folder.name}")
def land(folder: Path) -> str:
    """Land the run in the warehouse, in one transaction, and return the warehouse's file."""
    return stages.land(folder).warehouse


@flow(name="publish", flow_run_name=run_name, on_failure=[land_failure], on_crashed=[land_failure])
def publish(settings: NamedRound) -> Path:
    """Find an estimated round, draw it, show it in the UI, land it, and return the run's folder."""
    folder = find(settings)
    show(folder, draw(folder))
    land(folder)
    return folder


def _rows(folder: Path) -> list[dict[str, Any]]:
    """The estimates as a person reads them; an unknown number is an empty text, which JSON has and NaN is not."""
    return [
        {
            "attribute": line.attribute,
            "quantity": line.quantity,
            "estimate": line.number(line.estimate) or f"refused: {line.reason}",
            "interval": line.interval,
            "truth": line.number(line.truth),
            "holds": {True: "yes", False: "no", None: ""}[line.holds],
        }
        for line in stages.summary_of(folder)
    ]


def _differences(lines: list[Line]) -> list[dict[str, Any]]:
    """Differences as a person reads them."""
    return [
        {
            "attribute": line.attribute,
            "quantity": line.quantity,
            "difference": line.number(line.estimate) or f"refused: {line.reason}",
            "interval": line.interval,
            "more than chance": line.verdict,
        }
        for line in changes.telling(lines)[0]
    ]


def _page(attribute: str, title: str, rows: list[dict[str, Any]], pictures: dict[str, Path]) -> str:
    """An attribute's page: its pictures, carried inside the text so that the UI needs no other server, and its rows."""
    kinds = ("numbers", "by_", "changes", "between_")
    names = [
        name
        for name in pictures
        if name == attribute or name.startswith(tuple(f"{attribute}_{kind}" for kind in kinds))
    ]
    images = [f"![{name}](data:image/png;base64,{embedded(pictures[name])})" for name in names]
    lines = [f"| {row['quantity']} | {row['estimate']} | {row['interval']} | {row['truth']} |" for row in rows]
    table = "\n".join(["| quantity | estimate | 95 % interval | truth |", "|---|---|---|---|", *lines])
    return "\n\n".join([f"## {attribute}", title, *images, table])


def embedded(picture: Path) -> str:
    """Return a picture's bytes as the text of a data URL."""
    return b64encode(picture.read_bytes()).decode()
