"""How fast everything is, beside what bounds it: the machine's own draws and counts, and the peers.

A ratio is formed within one repetition, one contestant after the other on one core, and of processor time, so that whatever
else the machine does it does to both.  Values are medians over repetitions, with the interval of the median.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pandas as pd

from dpcore.errors import check_one_of, check_within
from dpcore.laboratory.studies.speed import clients, memory, reports, rounds
from dpcore.laboratory.studies.speed.aims import verdicts
from dpcore.laboratory.studies.speed.peers import start
from dpcore.laboratory.studies.speed.table import LEAST_REPETITIONS, STUDY, one_core

PARTS = ("clients", "reports", "rounds", "scaling", "memory")

__all__ = ["LEAST_REPETITIONS", "PARTS", "STUDY", "measured", "verdicts"]


def measured(
    scheme: Path,
    repetitions: int = LEAST_REPETITIONS,
    *,
    parts: Sequence[str] = PARTS,
    peers: Path | None = None,
    count_by: reports.CountBy | None = None,
    full: bool = False,
) -> Iterator[pd.DataFrame]:
    """Yield the rows of `benchmarks` but `measured_at` and `version`, of one part after another.

    scheme: the file of `consumer_expenditure`, whose people are simulated.  repetitions: at least 7.
    peers: the environment they are installed in.  count_by: DuckDB's own count of a file's rows by some columns.
    full: up to 10^8 clients where else up to 10^7, in memory up to 10^9.
    Raises SchemeError for a part there is none of.
    """
    check_within(LEAST_REPETITIONS, 1000, repetitions=repetitions)
    for part in parts:
        check_one_of(PARTS, part=part)
    with one_core(), ExitStack() as stack:
        installed = stack.enter_context(start(peers)) if peers is not None and "clients" in parts else None
        work: dict[str, Callable[[], Iterator[pd.DataFrame]]] = {
            "clients": lambda: clients.measured(repetitions, installed),
            "reports": lambda: reports.measured(repetitions, count_by),
            "rounds": lambda: rounds.measured(scheme, repetitions),
            "scaling": lambda: rounds.scaled(repetitions, rounds.FULL if full else rounds.SIZES),
            "memory": lambda: memory.measured(scheme, memory.FULL if full else memory.SIZES),
        }
        for part in parts:
            yield pd.concat(list(work[part]()), ignore_index=True)
