"""The flow that simulates rounds of a scheme: their errors and coverage as a table in Prefect's UI; nothing lands."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from prefect.artifacts import create_progress_artifact, create_table_artifact, update_progress_artifact

from dpcore import wire
from dpcore._random import seeded
from dpcore.populations import respondents_of
from dpcore.protocol.scheme import Scheme
from dpcore.rounds.planning import dry_runs as simulated

from .settings import DryRunSettings
from .tasks.stage import key, stage, whole


@stage("simulate-rounds", seconds=None)
def simulate_rounds(scheme: Path, clients: int | None, rounds: int, like: Path | None, seed: int) -> pd.DataFrame:
    """Return the summary of the rounds; an artifact shows how many are done."""
    parsed = Scheme.from_toml(scheme)
    people = respondents_of(parsed, None if like is None else wire.location(like))
    progress = create_progress_artifact(0.0, key=key(parsed.name, "dry-runs-progress"), description="started")
    estimates_by_round = []
    for estimates in simulated.dry_runs(parsed, people, clients or parsed.clients, rounds, seeded(seed)):
        estimates_by_round.append(estimates)
        update_progress_artifact(
            progress, 100 * len(estimates_by_round) / rounds, f"{len(estimates_by_round)} of {rounds} rounds"
        )
    return simulated.summary(estimates_by_round)


@whole("dry-runs", hours=12)
def dry_runs(settings: DryRunSettings) -> pd.DataFrame:
    """Simulate rounds of a scheme, and show the error of each estimate and how often its interval covers the true value."""
    result: pd.DataFrame = simulate_rounds(
        settings.scheme, settings.clients, settings.rounds, settings.like, settings.seed
    )
    scheme = Scheme.from_toml(settings.scheme)
    create_table_artifact(
        simulated.lines(scheme, result), key=key(scheme.name, "dry-runs"), description=simulated.verdict(result)
    )
    return result
