"""The flow that estimates a collected round from its aggregate."""

from __future__ import annotations

from pathlib import Path

from flows import steps
from flows.settings import NamedRound
from flows.stage import run_name, whole


@whole("estimate", hours=2, run_name=run_name)
def estimate(settings: NamedRound) -> Path:
    """Find a collected round, estimate it, return the run's folder; `publish` comes next."""
    run = steps.find(settings)
    steps.estimate(run)
    return run.folder
