"""Whole rounds of simulated people, each in a process of its own: the largest resident memory, and time beside the kernels'.

A round is what `ldpflow run` does, one client's report after another, its files included (`laboratory.profiling`).  The small
scheme asks two questions whose reports take a byte or so, so that a thousand million of them fit a disk.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from dpcore import populations
from dpcore.errors import SchemeError
from dpcore.laboratory.studies.speed.rounds import SECONDS, SMALL, SMALL_SCHEME, kernel_seconds
from dpcore.laboratory.studies.speed.table import row
from dpcore.mechanisms import _kernels
from dpcore.protocol.scheme import Scheme

PEAK, KERNELS, RUN = "peak_bytes", "to_kernels", "run"
WHOLE = "consumer_expenditure"
SIZES = ((WHOLE, (1_000_000, 10_000_000)), (SMALL, (10_000_000, 100_000_000)))
FULL = ((WHOLE, (1_000_000, 10_000_000, 100_000_000)), (SMALL, (10_000_000, 100_000_000, 1_000_000_000)))


def measured(scheme: Path, sizes: tuple[tuple[str, tuple[int, ...]], ...]) -> Iterator[pd.DataFrame]:
    """Yield the rows of each scheme, of rounds that are run once, as each holds many shards; scheme: the whole one's file."""
    for name, clients in sizes:
        with TemporaryDirectory() as folder:
            file = Path(folder) / "scheme.toml"
            file.write_text(scheme.read_text("utf-8") if name == WHOLE else SMALL_SCHEME, "utf-8")
            yield pd.DataFrame([line for n in clients for line in _one(file, name, n, Path(folder) / str(n))])


def _one(file: Path, name: str, clients: int, data: Path) -> list[dict[str, Any]]:
    scheme = Scheme.from_toml(file)
    is_compiled = _kernels.is_installed()  # as in the long run, from the first report on: numba alone is 100 MB
    outcome = whole_round(file, clients, data, setting=str(int(is_compiled)))
    with _kernels.compiled(is_compiled):
        kernels = kernel_seconds(scheme, populations.by_scheme(scheme.name), clients)
    values = {PEAK: max(outcome["peaks"].values()), SECONDS: outcome["total"], KERNELS: outcome["total"] / kernels}
    return [
        row(RUN, metric, [value], target=name, clients=clients, epsilon=scheme.epsilon)
        for metric, value in values.items()
    ]


def profile(scheme: Path, clients: int) -> pd.DataFrame:
    """Return where the time and memory of a round of so many people go, as rows of `benchmarks`."""
    with TemporaryDirectory() as folder:
        outcome = whole_round(scheme, clients, Path(folder), plain=False)
    parsed = Scheme.from_toml(scheme)
    seconds = {RUN: outcome["total"]} | outcome["seconds"]
    peaks = {RUN: max(outcome["peaks"].values())} | outcome["peaks"]
    return pd.DataFrame(
        [
            row(step, metric, [value], target=parsed.name, clients=clients, epsilon=parsed.epsilon)
            for metric, values in ((SECONDS, seconds), (PEAK, peaks))
            for step, value in values.items()
        ]
    )


def whole_round(
    scheme: Path, clients: int, data: Path, *, plain: bool = True, setting: str | None = None
) -> dict[str, Any]:
    """Return the profile of a round by `dpcore.laboratory.profiling` in its own process; raises SchemeError if it failed.

    setting: the implementation that reports use (`_kernels.SETTING`).
    """
    command = [sys.executable, "-m", "dpcore.laboratory.profiling", str(scheme), str(clients), str(data)]
    environment = os.environ | ({} if setting is None else {_kernels.SETTING: setting})
    done = subprocess.run(
        [*command, *(["--plain"] if plain else [])], capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode:
        raise SchemeError(f"a round of {clients:,} clients failed: {(done.stderr.strip() or '?').splitlines()[-1]}")
    outcome: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return outcome
