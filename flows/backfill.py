"""The flow that runs the rounds of past days that have not landed, oldest first."""

from __future__ import annotations

from typing import Any

from prefect import runtime
from prefect.artifacts import create_table_artifact
from prefect.states import Completed, Failed

from dpcore.protocol.scheme import Scheme
from dpcore.results.pages import fitted
from dpcore.rounds.defaults import warehouse_of
from dpcore.rounds.maintenance.backfill import rounds_of

from .round import run_round
from .settings import BackfillSettings
from .tasks.parameters import merged
from .tasks.stage import stage, whole


@stage("find-missing")
def find_missing(settings: BackfillSettings) -> list[str]:
    """Return the rounds that have not landed, or all rounds if they are to run again."""
    return rounds_of(
        Scheme.from_toml(settings.scheme),
        settings.warehouse or warehouse_of(settings.data),
        settings.first,
        settings.last,
        source="simulated" if settings.reports is None else "reports",
        again=settings.again,
    )


def run_name() -> str:
    """Return what the UI calls a backfill: its days."""
    parameters = merged(runtime.flow_run.parameters)
    return f"backfill-{parameters['first']}-{parameters['last']}"


@whole("backfill", hours=72, run_name=run_name)
def backfill(settings: BackfillSettings) -> Any:
    """Find the missing rounds and run each as a round of its own; one that fails does not stop the others."""
    states = {round_: run_round(**_options(settings, round_), return_state=True) for round_ in find_missing(settings)}
    rows = [{"round": round_, "state": state.name, "message": state.message or ""} for round_, state in states.items()]
    create_table_artifact(
        fitted(rows, "message"), key="backfill", description=f"{len(rows)} rounds, {settings.first} to {settings.last}"
    )
    bad = [round_ for round_, state in states.items() if not state.is_completed()]
    if bad:
        return Failed(
            message=f"{len(bad)} of {len(rows)} rounds failed: {', '.join(bad)}; the reasons are on the pages of their runs"
        )
    return Completed(message=f"{len(rows)} missing rounds have run")


def _options(settings: BackfillSettings, round_: str) -> dict[str, Any]:
    return settings.model_dump(exclude={"first", "last"}) | {"round": round_}
