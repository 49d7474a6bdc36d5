"""The flow that simulates rounds of a scheme: their errors and coverage as a table in Prefect's UI; nothing lands."""

from __future__ import annotations

import pandas as pd
from prefect.artifacts import create_progress_artifact, create_table_artifact, update_progress_artifact

from dpcore import wire
from dpcore._random import seeded
from dpcore.populations import respondents_of
from dpcore.protocol.scheme import Scheme
from dpcore.rounds.planning import dry_runs as simulated

from .settings import DryRunSettings
from .tasks.stage import key, stage, whole

HOURS = 12  # that a run may take


@stage("simulate-rounds", seconds=HOURS * 3600)
def simulate_rounds(settings: DryRunSettings) -> pd.DataFrame:
    """Return the summary of the rounds; an artifact shows how many are done."""
    scheme, rounds = Scheme.from_toml(settings.scheme), settings.rounds
    people = respondents_of(scheme, None if settings.like is None else wire.location(settings.like))
    progress = create_progress_artifact(0.0, key=key(scheme.name, "dry-runs-progress"), description="started")
    estimates_by_round = []
    clients, random = settings.clients or scheme.clients, seeded(settings.seed)
    for estimates in simulated.dry_runs(scheme, people, clients, rounds, random):
        estimates_by_round.append(estimates)
        update_progress_artifact(
            progress, 100 * len(estimates_by_round) / rounds, f"{len(estimates_by_round)} of {rounds} rounds"
        )
    return simulated.summary(estimates_by_round)


@whole("dry-runs", hours=HOURS)
def dry_runs(settings: DryRunSettings = DryRunSettings()) -> pd.DataFrame:  # noqa: B008 - frozen
    """Simulate rounds of a scheme, and show the error of each estimate and how often its interval covers the true value."""
    result: pd.DataFrame = simulate_rounds(settings)
    scheme = Scheme.from_toml(settings.scheme)
    create_table_artifact(
        simulated.lines(scheme, result), key=key(scheme.name, "dry-runs"), description=simulated.verdict(result)
    )
    return result
