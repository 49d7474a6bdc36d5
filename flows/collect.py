"""The flow that aggregates the reports that clients sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect.states import Completed

from dpcore.errors import TooFewClients
from dpcore.rounds.run import Run
from dpcore.rounds.steps import sequence

from .settings import CollectSettings
from .tasks.stage import run_name, whole
from .tasks.steps import Tasks, prepare, turn

WAITING = "Waiting"  # state of a round with fewer clients than min_clients: nothing has landed


@whole("collect", hours=12, run_name=run_name)
def collect(settings: CollectSettings) -> Path:
    """Prepare a run, aggregate the reports file by file, merge, and return the run's folder; `estimate` comes next."""
    with turn(settings):
        run = None
        try:
            run = prepare(settings)
            sequence.collect(run, Tasks())
        except TooFewClients as error:
            return waiting(run, error)
    return run.folder


def waiting(run: Run | None, error: TooFewClients) -> Any:
    """Return the state `Waiting` of a round with too few clients; its result is the run's folder, if there is one."""
    return Completed(name=WAITING, message=str(error), data=None if run is None else run.folder)
