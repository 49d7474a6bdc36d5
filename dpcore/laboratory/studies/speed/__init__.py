"""How fast everything is, beside what bounds it: the machine's own draws and counts, and the peers.

A ratio is formed within one repetition, one contestant after the other on one core, and of processor time, so that whatever
else the machine does it does to both.  Values are medians over repetitions, with the interval of the median.

Modules:
    aims: what the study of speed is to show, and whether it does
    clients: clients per second: bulk privatization beside PCG64's draws
    memory: whole rounds of simulated people, each in a process of its own
    peers: the peers' packages, measured in an environment of their own by `peers/script.py`
    records: what people wait for who have a file of records: names read, beside integer codes
    reports: reports aggregated per second: in memory beside numpy's bincount
    rounds: how rounds' time grows with their clients: drawn from the law, where it should not
    table: what the parts of the study share: a rate, rows of `benchmarks`, and one core
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pandas as pd

from dpcore.laboratory.studies.speed import clients, memory, records, reports, rounds
from dpcore.laboratory.studies.speed.aims import verdicts
from dpcore.laboratory.studies.speed.peers import start
from dpcore.laboratory.studies.speed.table import LEAST_REPETITIONS, one_core

PARTS = ("clients", "reports", "records", "rounds", "scaling", "memory")

__all__ = ["LEAST_REPETITIONS", "PARTS", "measure", "verdicts"]


def measure(
    part: str,
    scheme: Path,
    repetitions: int = LEAST_REPETITIONS,
    *,
    peers: Path | None = None,
    count_by: reports.CountBy | None = None,
    full: bool = False,
) -> pd.DataFrame:
    """Return the rows of one part, columns of `benchmarks` but study, measured_at and version.

    part: of `PARTS`.  scheme: the file of `consumer_expenditure`, whose people are simulated.  repetitions: at least 7.
    peers: the environment they are installed in.  count_by: DuckDB's own count of a file's rows by some columns.
    full: up to 10^8 clients where else up to 10^7, in memory up to 10^9; 10^7 records in a file where else 10^6.
    """
    with one_core(), ExitStack() as stack:
        installed = stack.enter_context(start(peers)) if peers is not None and part == "clients" else None
        work: dict[str, Callable[[], Iterator[pd.DataFrame]]] = {
            "clients": lambda: clients.measured(repetitions, installed),
            "reports": lambda: reports.measured(repetitions, count_by),
            "records": lambda: records.measured(scheme, repetitions, records.FULL if full else records.SIZES),
            "rounds": lambda: rounds.measured(scheme, repetitions),
            "scaling": lambda: rounds.scaled(repetitions, rounds.FULL if full else rounds.SIZES),
            "memory": lambda: memory.measured(scheme, memory.FULL if full else memory.SIZES),
        }
        return pd.concat(list(work[part]()), ignore_index=True)
