"""The flow that publishes a landed round: one HTML page, as `ldpflow publish` writes, and pages in Prefect's UI."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prefect import runtime
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.client.orchestration import get_client
from prefect.states import Completed

from dpcore import wire
from dpcore.results import pages
from dpcore.results.text.phrases import JUDGED
from dpcore.rounds.project import Project
from dpcore.rounds.run import Run

from .names import CHECKS_FAILED, CHECKS_FAILED_TAG
from .settings import NamedRound
from .tasks.stage import key, run_name, stage, whole
from .tasks.steps import find

_NAMED = 3  # failed checks that a state's message quotes


@stage("show")
def show(run: Run) -> pages.Pieces:
    """Put tables of the estimates and changes of a landed run, and a page for each attribute, into Prefect's UI."""
    pieces = pages.pieces(run.plan.warehouse, run.plan.run_id)
    title, scheme = f"Round {run.plan.round}", run.scheme.name
    tables = {
        "estimates": (pieces.estimates, f"{title}: {len(pieces.estimates)} estimates with their intervals"),
        "changes": (pieces.changes, f"{title} minus round {pieces.since}. In the last column {JUDGED}"),
        "groups": (pieces.groups, f"{title}: one group minus another. In the last column {JUDGED}"),
    }
    for name, (rows, description) in tables.items():
        if rows:
            refused = sum(row.get("estimate", row.get("difference")) == "refused" for row in rows)
            why = f". Refused: {refused}; the reasons are on the attributes' pages" if refused else ""
            create_table_artifact(rows, key=key(scheme, name), description=description + why)
    for name, page in (pieces.attributes | pieces.pairs).items():
        heading = page.partition("\n")[0].removeprefix("# ")
        description = f"{title}: {heading}{_first(pieces.estimates, heading)}"
        create_markdown_artifact(page, key=key(scheme, name), description=description)
    return pieces


def _first(rows: Sequence[Mapping[str, str]], heading: str) -> str:
    """The first estimate of the attribute with this heading, such as its mean, for lists of artifacts; '' without one."""
    for row in rows:
        cells = {name: cell.replace("<br>", " ") for name, cell in row.items()}
        if cells.get("attribute") == heading and cells["interval"]:
            return f"; {cells['quantity']} {cells['estimate']}, interval {cells['interval']}"
    return ""


def ended(run: Run, pieces: pages.Pieces) -> Any:
    """Put the round's front page into the UI, among the flow's own artifacts, and return the round's final state.

    A round with a failed check has landed, too. Its state `ChecksFailed` and its tag `checks-failed` are visible in every list
    of runs, and automations can react to them.  Its result is the run's folder.
    """
    front = key(run.scheme.name, "round")
    create_markdown_artifact(pieces.front, key=front, description=pieces.headline)
    failed = "; ".join(pieces.failed[:_NAMED] + ["..."] * (len(pieces.failed) > _NAMED))
    if pieces.failed:
        _tag_flow_run(CHECKS_FAILED_TAG)
        return Completed(name=CHECKS_FAILED, message=f"{pieces.headline}: {failed}", data=run.folder)
    return Completed(message=pieces.headline, data=run.folder)


def _tag_flow_run(tag: str) -> None:
    """Add a tag to the current flow run."""
    if runtime.flow_run.id is not None:
        with get_client(sync_client=True) as client:
            client.update_flow_run(runtime.flow_run.id, tags=[*runtime.flow_run.tags, tag])


@stage("write-page")
def write_page(run: Run) -> Path:
    """Write the page of the round's current run, and return its file."""
    page, project = wire.location(run.plan.figures) / "round.html", Project.read()
    language = (project and project.language) or "en"
    pages.publish(run.plan.warehouse, page, round_=run.plan.round, scheme=run.scheme.name, language=language)
    return page


@whole("publish", hours=2, run_name=run_name)
def publish(settings: NamedRound) -> Path:
    """Find a landed round, write its page beside its pictures, show it in the UI, and return the run's folder."""
    run = find(settings)
    write_page(run)
    return ended(run, show(run))


def embedded(picture: Path) -> str:
    """Return a picture's bytes as the text of a data URL."""
    return b64encode(picture.read_bytes()).decode()
