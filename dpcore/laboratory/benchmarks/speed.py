"""The study of speed, and where the time and the memory of a round go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from dpcore.errors import SchemeError
from dpcore.laboratory.benchmarks import landing
from dpcore.laboratory.benchmarks.report import Report
from dpcore.laboratory.studies import speed
from dpcore.laboratory.studies.speed import memory, rounds
from dpcore.protocol.canonical import check_clients
from dpcore.results import warehouse


def measure(
    file: Path,
    scheme: Path,
    repetitions: int = speed.LEAST_REPETITIONS,
    *,
    parts: Sequence[str] = speed.PARTS,
    peers: Path | None = None,
    full: bool = False,
) -> Iterator[tuple[int, int]]:
    """Measure and land a study of speed, yielding (done, all) parts, first (0, all); see `studies.speed.measured`."""
    with warehouse.counting() as count_by:
        frames = speed.measured(scheme, repetitions, parts=parts, peers=peers, count_by=count_by, full=full)
        yield from landing.landed(file, len(parts), frames, version("ldpflow"), datetime.now(UTC))


def report(file: Path) -> Report:
    """Return how the newest study of speed stands: its rows, and the aims; raises WarehouseError where there is none."""
    rows = landing.newest(file, speed.STUDY, "metric, target, method, parameters, clients")
    return Report(rows, speed.verdicts(rows))


def summary(report: Report) -> list[tuple[str, ...]]:
    """Return a line a measurement: metric, method, path, of what, clients, estimate and the interval of the median."""
    return [
        (
            row["metric"],
            row["method"],
            row["parameters"],
            row["target"],
            f"{row['clients']:,}",
            f"{row['value']:,.4g}",
            f"{row['low']:,.4g} to {row['high']:,.4g}",
        )
        for row in report.rows.to_dict("records")
    ]


def measure_profile(file: Path, scheme: Path, clients: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Run rounds of so many simulated people and land where their time and memory went, yielding (done, all) rounds.

    Raises SchemeError where no number of clients is given, or one that no round can have.
    """
    if not clients:
        raise SchemeError("a profile needs a number of clients, such as 1000000; got none")
    for n in clients:
        check_clients(n)
    frames = (memory.profile(scheme, n) for n in clients)
    yield from landing.landed(file, len(clients), frames, version("ldpflow"), datetime.now(UTC))


def profile_summary(file: Path) -> list[tuple[str, ...]]:
    """Return the newest profile as a person reads it: what, clients, processor seconds, share of them, peak MiB."""
    rows = warehouse.query(
        file,
        "pivot (select method, clients, metric, value, repetitions from benchmarks where study = 'profile' and measured_at = "
        "(select max(measured_at) from benchmarks where study = 'profile')) "
        f"on metric in ('{rounds.SECONDS}', '{memory.PEAK}') using any_value(value) order by clients, {rounds.SECONDS} desc",
    )
    totals = rows[rows["method"] == memory.RUN].set_index("clients")[rounds.SECONDS]
    return [
        (
            line["method"],
            f"{line['clients']:,}",
            _told(line[rounds.SECONDS], "{:.2f}"),
            _told(line[rounds.SECONDS] / totals[line["clients"]], "{:.1%}"),
            _told(line[memory.PEAK] / 2**20, "{:.0f}"),
        )
        for line in rows.to_dict("records")
    ]


def _told(value: float, text: str) -> str:
    return "" if pd.isna(value) else text.format(value)
