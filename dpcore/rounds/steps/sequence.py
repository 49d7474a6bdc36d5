"""The order of a round's steps, for the command, flows, profiles and tests.

    prepare -> privatize -> aggregate -> merge -> estimate -> land -> draw

`Hands` execute the steps: `Here` in this process, those of the flows as Prefect tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

from dpcore.errors import TooFewClients
from dpcore.rounds.defaults import WORKERS
from dpcore.rounds.run import Run
from dpcore.rounds.steps import aggregation, collected_files, estimation, landing, minimum_clients, privatization

Work = Callable[..., Any]  # a step, with the run as its first parameter
# (description, number of items or None) -> context manager of a function that takes the number of completed items
Progress = Callable[[str, int | None], AbstractContextManager[Callable[[int], None]]]


def _nothing(run: Run) -> None:
    """Show nothing."""


class Hands(Protocol):
    """An executor of steps, which are functions with the run as their first parameter."""

    def one(self, step: Work, run: Run, *arguments: Any) -> Any:
        """Execute a step and return its result."""

    def map(self, steps: Sequence[Work], run: Run, items: Sequence[Any]) -> list[Path]:
        """Apply the chain of steps to each item and return the results in order."""


def privatize(run: Run, hands: Hands) -> list[Path]:
    """Privatize the records or simulated clients of a run and return the files of their reports."""
    if run.plan.source == "records":
        _require_clients(run, hands)  # before any record is privatized
        return hands.one(privatization.privatize_records, run)
    return hands.map([privatization.privatize_shard], run, privatization.shards(run))


def collect(run: Run, hands: Hands) -> None:
    """Collect and aggregate the reports of a run.  Raises TooFewClients if the round is held back."""
    _gather(run, hands)
    _require_clients(run, hands)


def _gather(run: Run, hands: Hands) -> None:
    if run.plan.source == "simulated":
        _require_clients(run, hands)
        parts = hands.map([privatization.privatize_shard, aggregation.aggregate_file], run, privatization.shards(run))
    else:
        files = privatize(run, hands) if run.plan.source == "records" else collected_files.collected(run)
        parts = hands.map([aggregation.aggregate_file], run, files)
    hands.one(aggregation.merge, run, parts)


def estimate(run: Run, hands: Hands, *, show: Callable[[Run], Any] = _nothing) -> Any:
    """Estimate, land and draw a collected round.  Raises TooFewClients if the round is held back.

    show: called when the round has landed, before its pictures are drawn; its result is returned.
    """
    _require_clients(run, hands)
    hands.one(estimation.estimate, run)
    compared = hands.one(landing.land, run)
    shown = show(run)
    hands.one(landing.draw, run, compared)
    return shown


def carry_out(run: Run, hands: Hands, *, show: Callable[[Run], Any] = _nothing) -> Any:
    """Run all steps of a prepared round; parameters and errors as for `estimate`."""
    _gather(run, hands)
    return estimate(run, hands, show=show)


def _require_clients(run: Run, hands: Hands) -> None:
    if run.plan.min_clients and (reason := hands.one(minimum_clients.reason, run)):
        hands.one(minimum_clients.wait, run)
        raise TooFewClients(reason)


@contextmanager
def _silently(_description: str, _total: int | None) -> Iterator[Callable[[int], None]]:
    yield lambda _done: None


class Here:
    """Execution in this process: items two at a time, other steps one after another."""

    def __init__(self, progress: Progress = _silently) -> None:
        self._progress = progress

    def one(self, step: Work, run: Run, *arguments: Any) -> Any:
        with self._progress(_WORDS.get(step.__name__, "estimating"), None):
            return step(run, *arguments)

    def map(self, steps: Sequence[Work], run: Run, items: Sequence[Any]) -> list[Path]:
        def chain(item: Any) -> Path:
            for step in steps:
                item = step(run, item)
            return item

        with (
            self._progress(_WORDS.get(steps[0].__name__, "").format(run.plan.clients), len(items)) as advance,
            ThreadPoolExecutor(WORKERS) as pool,
        ):
            paths = []
            for path in pool.map(chain, items):
                paths.append(path)
                advance(1)
        return paths


_WORDS = {  # step -> description
    "reason": "counting clients",
    "privatize_shard": "privatizing {:,} clients",
    "privatize_records": "privatizing records",
    "aggregate_file": "aggregating reports",
    "merge": "merging",
    "draw": "drawing",
    "land": "landing",
}
