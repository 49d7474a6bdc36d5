"""The flow that estimates a collected round from its aggregate; the command `ldpflow estimate` is this and `publish`."""

from __future__ import annotations

from pathlib import Path

from dpcore.errors import TooFewClients
from dpcore.rounds import sequence
from flows.collect import waiting
from flows.settings import NamedRound
from flows.stage import run_name, whole
from flows.steps import Tasks, find


@whole("estimate", hours=2, run_name=run_name)
def estimate(settings: NamedRound) -> Path:
    """Find a collected round, estimate it, return the run's folder; nothing has landed, and `publish` comes next."""
    run = find(settings)
    try:
        sequence.estimate(run, Tasks())
    except TooFewClients as error:
        return waiting(run, error)
    return run.folder
