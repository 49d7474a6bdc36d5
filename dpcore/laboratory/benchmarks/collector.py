"""How many reports a second a collector takes over HTTP, beside the same service with an empty handler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from dpcore.laboratory import collector_load
from dpcore.laboratory.benchmarks.option import option
from dpcore.laboratory.benchmarks.study import Study
from dpcore.laboratory.studies.aims.verdict import Verdict
from dpcore.rounds.defaults import DEFAULT_SCHEME

_SHARE = 0.5  # of the empty handler's rate, at least


@dataclass(frozen=True, kw_only=True)
class Collector(Study):
    """A rate and what requests waited; see `laboratory.collector_load`.

    All of them must be in the collector's files at the end, each once.  Seconds are the clock's: measure on a quiet machine.

    Example: ldpflow benchmark collector --reports 50000
    """

    name = "collector"
    title = "over HTTP, in turns; intervals are of the median turn"
    table: ClassVar = {"metric": "{metric}", "estimate": "{value:,.4g}", "95 % interval": "{low:,.4g} to {high:,.4g}"}
    query = "from latest_benchmarks where study = 'collector' order by metric"
    is_parallel = False

    scheme: Path = option(DEFAULT_SCHEME, "The scheme file, of people who can be simulated.", flag="")
    reports: int = option(1_000_000, "Reports in all.", least=1000, most=100_000_000)
    batch: int = option(1000, "Reports in a request.", least=1, most=10_000)
    connections: int = option(8, "Connections that send at once.", least=1, most=256)

    def pending(self, measured: pd.DataFrame) -> list[tuple[Any, ...]]:
        return [(turn,) for turn in range(collector_load.TURNS)]

    def measured(self, pieces: Sequence[tuple[Any, ...]], workers: int) -> Iterator[pd.DataFrame | None]:
        yield from collector_load.turns(self.scheme, self.reports, self.batch, self.connections)

    def verdicts(self, rows: pd.DataFrame) -> list[Verdict]:
        value = rows.set_index("metric")["value"]
        lost = None if rows.empty else float(abs(value["sent"] - value["counted"]))
        return [
            Verdict("rate over that of an empty handler", value.get("ratio"), _SHARE, at_least=True),
            Verdict("reports lost or counted twice", lost, 0.0),
        ]
