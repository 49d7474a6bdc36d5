"""The steps of a round as Prefect tasks, and the executor that runs them in the order of `dpcore.rounds.steps.sequence`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from prefect import runtime, unmapped
from prefect.utilities.annotations import quote

from dpcore.protocol.scheme import Scheme
from dpcore.rounds.run import Run, newest
from dpcore.rounds.steps import aggregation, estimation, landing, minimum_clients, preparation, privatization

from ..settings import CollectSettings, NamedRound, RoundSettings
from . import permitted_folders
from .stage import WRITES, flow_run_id, follow, scheduled_day, stage
from .task_runner import BATCHES, batches, flat, map_items


def turn(settings: RoundSettings | CollectSettings) -> AbstractContextManager[None]:
    """Return the lock of the round that `prepare` prepares: no other flow or command runs it meanwhile."""
    return preparation.turn(settings.scheme, _self(), **_options(settings))


def turn_of(run: Run) -> AbstractContextManager[None]:
    """Return the lock of a run."""
    permitted_folders.check(run)  # before a file is created next to its warehouse
    return preparation.turn_of(run, _self())


def _self() -> str:
    return f"{runtime.flow_run.flow_name} {runtime.flow_run.name}"


def _options(settings: RoundSettings | CollectSettings) -> dict[str, Any]:
    """Options of a round.  Its name defaults to the day for which the run was scheduled, also for a late or repeated run."""
    own = {"round_": settings.round, "day": scheduled_day()}
    return {**own, **settings.model_dump(exclude={"scheme", "round"})}


@stage("prepare", seconds=WRITES)
def prepare(settings: RoundSettings | CollectSettings) -> Run:
    """Check the options before work starts, and return the run."""
    return preparation.prepare(settings.scheme, flow_run_id=flow_run_id(), **_options(settings))


@stage("find", run_name="find-{settings.round}")
def find(settings: NamedRound) -> Run:
    """Return the newest run of a collected round."""
    return newest(Scheme.from_toml(settings.scheme), settings.round, settings.data)


@stage("privatize", run_name="privatize-{shards[0]:05d}", seconds=None)
def privatize_batch(run: Run, shards: list[int]) -> list[Path]:
    """Simulate and privatize the records of some shards, and return the files of reports."""
    return map_items(privatization.privatize_shard, run, shards)


@stage("privatize-records", seconds=4 * 3600)
def privatize_records(run: Run) -> list[Path]:
    """Privatize each record of a file once, and return the files of reports."""
    return privatization.privatize_records(run)


@stage("aggregate", run_name="aggregate-{reports[0].stem}", seconds=None)
def aggregate_batch(run: Run, reports: list[Path]) -> list[Path]:
    """Aggregate some report files separately, and return the files of aggregates."""
    return map_items(aggregation.aggregate_file, run, reports)


@stage("merge", seconds=3600)
def merge(run: Run, parts: list[Path]) -> Path:
    """Merge the parts' aggregates, each once, as a tree of merges of 32, and return the file of the whole."""
    parts = sorted(set(parts))
    while len(parts) > BATCHES:
        parts = map_items(aggregation.merge_some, run, batches(parts, size=BATCHES))
    return aggregation.merge(run, parts)


@stage("count-clients")
def reason(run: Run) -> str:
    """Return why a round is held back, '' if it has enough clients."""
    return minimum_clients.reason(run)


@stage("wait", seconds=WRITES)
def wait(run: Run) -> None:
    """Land the record that a round is held back."""
    minimum_clients.wait(run)


@stage("estimate", seconds=1800)
def estimate(run: Run) -> Path:
    """Estimate everything from the merged aggregate and return the folder of the tables to land."""
    return estimation.estimate(run)


@stage("land", seconds=WRITES)
def land(run: Run) -> list[str]:
    """Land the run in the warehouse, in one transaction, and return the runs that were compared with the round before."""
    return landing.land(run)


@stage("draw", seconds=WRITES)
def draw(run: Run, compared: list[str]) -> list[Path]:
    """Draw the landed run's pictures and return their files."""
    return landing.draw(run, compared)


# By the names of dpcore's functions; steps with many tasks have the text for their progress.
_ONE = {task.fn.__name__: task for task in (privatize_records, merge, reason, wait, estimate, land, draw)}
_BATCHES = {"privatize_shard": (privatize_batch, "privatized"), "aggregate_file": (aggregate_batch, "aggregated")}


class Tasks:
    """Executor that runs every step as a task; batches of items go through the steps without waiting for each other.

    A task depends on the one before it, and only the first on `prepare`, so that arrows on the flow run's page follow the data.
    """

    def __init__(self) -> None:
        self._before: list[Any] = []  # results or futures of the last tasks

    def call(self, task: Callable[..., Any], run: Run, *arguments: Any) -> Any:
        """Run a task after the last one and return its result."""
        result = task(self._without_arrow(run), *arguments, wait_for=self._before)
        self._before = [result]
        return result

    def _without_arrow(self, run: Run) -> Any:
        return quote(run) if self._before else run

    def one(self, step: Callable[..., Any], run: Run, *arguments: Any) -> Any:
        return self.call(_ONE[step.__name__], run, *arguments)

    def map(self, steps: Sequence[Callable[..., Any]], run: Run, items: Sequence[Any]) -> list[Path]:
        results: Any = batches(items)
        phases, before = {}, self._before
        for step in steps:
            task, done = _BATCHES[step.__name__]
            phases[done] = results = task.map(unmapped(self._without_arrow(run)), results, wait_for=before)
            self._before, before = list(results), []  # a batch waits for its own data alone
        follow(run, **phases)
        return flat(results.result())
