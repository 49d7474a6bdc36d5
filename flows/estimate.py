"""The flow that estimates a collected round from its aggregate and lands it, as `ldpflow estimate` does."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from dpcore.errors import TooFewClients
from dpcore.rounds.steps import sequence

from .collect import waiting
from .publish import ended, show
from .settings import NamedRound
from .tasks.stage import run_name, whole
from .tasks.steps import Tasks, find, turn_of


@whole("estimate", hours=2, run_name=run_name)
def estimate(settings: NamedRound) -> Path:
    """Find a collected round, estimate it, land it, show it in the UI, draw it, and return the run's folder."""
    run = find(settings)
    with turn_of(run):
        try:
            tasks = Tasks()
            pieces = sequence.estimate(run, tasks, show=partial(tasks.call, show))
        except TooFewClients as error:
            return waiting(run, error)
    return ended(run, pieces)
