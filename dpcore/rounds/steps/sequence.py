"""The order of a round's steps, said once: the command carries it out, and so do the flows, profiles and tests.

    prepare -> privatize -> aggregate -> merge -> estimate -> draw -> land

Who carries a step out are `Hands`: `Here` is this process; the flows' own make every step a task of Prefect.
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

Work = Callable[..., Any]  # a step, of the run first
# What is done, and how many pieces it has if that is known, to a context that takes how many are done.
Tell = Callable[[str, int | None], AbstractContextManager[Callable[[int], None]]]


class Hands(Protocol):
    """What carries steps out, each a function of the run first."""

    def one(self, step: Work, run: Run, *given: Any) -> Any:
        """Carry a step out and return what it made."""

    def each(self, steps: Sequence[Work], run: Run, items: Sequence[Any]) -> list[Path]:
        """Carry steps out for each item, one fed with what the one before made, and return what the last made, in order."""


def privatize(run: Run, hands: Hands) -> list[Path]:
    """Let the people of a run report, simulated ones or those of a file of records, and return the files of their reports."""
    if run.plan.source == "records":
        _wait_for_more(run, hands)  # before anybody is asked
        return hands.one(privatization.privatize_records, run)
    return hands.each([privatization.privatize_shard], run, privatization.shards(run))


def collect(run: Run, hands: Hands) -> None:
    """Let the people of a run report, and sum their reports up.  Raises TooFewClients where they are too few: it waits."""
    _gather(run, hands)
    _wait_for_more(run, hands)


def _gather(run: Run, hands: Hands) -> None:
    if run.plan.source == "simulated":
        _wait_for_more(run, hands)
        parts = hands.each([privatization.privatize_shard, aggregation.aggregate_file], run, privatization.shards(run))
    else:
        files = privatize(run, hands) if run.plan.source == "records" else collected_files.collected(run)
        parts = hands.each([aggregation.aggregate_file], run, files)
    hands.one(aggregation.merge, run, parts)


def estimate(run: Run, hands: Hands) -> None:
    """Estimate what was collected, draw it, and land it.  Raises TooFewClients where it is too few: the run waits."""
    _wait_for_more(run, hands)
    hands.one(estimation.estimate, run)
    hands.one(landing.draw, run)
    hands.one(landing.land, run)


def carry_out(run: Run, hands: Hands) -> None:
    """Carry out a whole round that has been prepared, to its landing.  Raises TooFewClients where it waits."""
    _gather(run, hands)
    estimate(run, hands)


def _wait_for_more(run: Run, hands: Hands) -> None:
    if run.plan.min_clients and (said := hands.one(minimum_clients.reason, run)):
        hands.one(minimum_clients.wait, run)
        raise TooFewClients(said)


@contextmanager
def _silently(_what: str, _total: int | None) -> Iterator[Callable[[int], None]]:
    yield lambda _done: None


class Here:
    """Hands of this process: pieces two at a time, everything else one after another."""

    def __init__(self, tell: Tell = _silently) -> None:
        self._tell = tell

    def one(self, step: Work, run: Run, *given: Any) -> Any:
        with self._tell(_WORDS.get(step.__name__, "estimating"), None):
            return step(run, *given)

    def each(self, steps: Sequence[Work], run: Run, items: Sequence[Any]) -> list[Path]:
        def chain(item: Any) -> Path:
            for step in steps:
                item = step(run, item)
            return item

        with (
            self._tell(_WORDS.get(steps[0].__name__, "").format(run.plan.clients), len(items)) as advance,
            ThreadPoolExecutor(WORKERS) as pool,
        ):
            made = []
            for path in pool.map(chain, items):
                made.append(path)
                advance(1)
        return made


_WORDS = {  # by the names of steps
    "reason": "counting clients",
    "privatize_shard": "privatizing {:,} clients",
    "privatize_records": "privatizing records",
    "aggregate_file": "aggregating reports",
    "merge": "adding up",
    "draw": "drawing",
    "land": "landing",
}
