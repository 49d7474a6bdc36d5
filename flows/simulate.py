"""The flow `simulate`: privatize simulated respondents or a file of records, shard by shard, into reports."""

from __future__ import annotations

from pathlib import Path

from dpcore.errors import TooFewClients
from dpcore.rounds.steps import sequence

from .collect import waiting
from .settings import RoundSettings
from .tasks.stage import run_name, whole
from .tasks.steps import Tasks, prepare, turn


@whole("simulate", hours=12, run_name=run_name)
def simulate(settings: RoundSettings = RoundSettings(keep_reports=True)) -> list[Path]:  # noqa: B008 - frozen
    """Prepare a run, privatize its records, and return the files of reports; nothing is aggregated."""
    with turn(settings):
        run = prepare(settings)
        try:
            return sequence.privatize(run, Tasks())
        except TooFewClients as error:
            return waiting(run, error)
