"""Where the processor time and the memory of a round go, step by step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from dpcore.laboratory.benchmarks.option import option
from dpcore.laboratory.benchmarks.study import Study
from dpcore.laboratory.studies.speed import memory, rounds
from dpcore.protocol.syntax.canonical import check_clients
from dpcore.rounds.defaults import DEFAULT_SCHEME


@dataclass(frozen=True, kw_only=True)
class Profile(Study):
    """Processor seconds and the largest resident memory of each step, on one core.

    Example: ldpflow benchmark profile --clients 1000000,10000000
    """

    name = "profile"
    title = "one core"
    table: ClassVar = {
        "what": "{method}",
        "clients": "{clients:,}",
        "seconds": "{seconds:.2f}",
        "share": "{share:.1%}",
        "peak MiB": "{peak:.0f}",
    }
    is_parallel = False
    measure = staticmethod(memory.profile)

    scheme: Path = option(DEFAULT_SCHEME, "The scheme file, of people who can be simulated.", flag="")
    clients: tuple[int, ...] = option((1_000_000,), "Numbers of clients.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for n in self.clients:
            check_clients(n)

    def pending(self, measured: pd.DataFrame) -> list[tuple[Any, ...]]:
        return [(self.scheme, n) for n in self.clients]

    def shown(self, rows: pd.DataFrame) -> Iterable[Mapping[str, Any]]:
        if rows.empty:
            return []
        table = rows.pivot(index=["method", "clients"], columns="metric", values="value").reset_index()
        table = table.assign(seconds=table[rounds.SECONDS], peak=table[memory.PEAK] / 2**20)
        totals = table[table["method"] == memory.RUN].set_index("clients")["seconds"]
        table["share"] = table["seconds"] / table["clients"].map(totals)
        return super().shown(table.sort_values(["clients", "seconds"], ascending=[True, False]))
