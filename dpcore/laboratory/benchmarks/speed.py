"""The study of speed: clients, reports and rounds a second, beside what bounds them on this machine and beside peers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from dpcore.laboratory.benchmarks.option import option
from dpcore.laboratory.benchmarks.study import Study
from dpcore.laboratory.studies import speed
from dpcore.laboratory.studies.aims.verdict import Verdict
from dpcore.results import warehouse
from dpcore.rounds.defaults import DEFAULT_SCHEME


def measure(part: str, repetitions: int, peers: Path, full: bool) -> pd.DataFrame:
    """Return the rows of one part; see `studies.speed.measure`."""
    with warehouse.counting() as count_by:
        return speed.measure(part, DEFAULT_SCHEME, repetitions, peers=peers, count_by=count_by, full=full)


@dataclass(frozen=True, kw_only=True)
class Speed(Study):
    """Medians over repetitions, with the interval of the median.

    Everything runs on one core, and ratios are of processor time; seconds of an estimate are the clock's.  Some ten minutes.

    Example: ldpflow benchmark speed --parts clients,reports
    """

    name = "speed"
    title = "medians, with the interval of the median"
    table: ClassVar = {
        "metric": "{metric}",
        "method": "{method}",
        "path": "{parameters}",
        "of": "{target}",
        "clients": "{clients:,}",
        "estimate": "{value:,.4g}",
        "95 % interval": "{low:,.4g} to {high:,.4g}",
    }
    query = "from latest_benchmarks where study = 'speed' order by metric, target, method, parameters, clients"
    is_parallel = False
    measure = staticmethod(measure)

    repetitions: int = option(
        speed.LEAST_REPETITIONS,
        f"Repetitions of each measurement, at least {speed.LEAST_REPETITIONS}.",
        least=speed.LEAST_REPETITIONS,
        most=1000,
    )
    parts: tuple[str, ...] = option(speed.PARTS, f"Parts: {', '.join(speed.PARTS)}.", choices=speed.PARTS)
    full: bool = option(False, "Up to 1e8 clients, and 1e9 for memory: half an hour more.")
    peers: Path = option(Path(".venv-peers"), "The peers' environment; `make peers` makes it.")

    def pending(self, measured: pd.DataFrame) -> list[tuple[Any, ...]]:
        return [(part, self.repetitions, self.peers, self.full) for part in self.parts]

    def verdicts(self, rows: pd.DataFrame) -> list[Verdict]:
        return speed.verdicts(rows)

    def remarks(self) -> list[str]:
        return [] if self.peers.exists() else [f"peers      not installed in {self.peers}: make peers"]
