"""The coverage study: how often nominal 95 % intervals hold the truth, how long they are, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pandas as pd

from dpcore.laboratory.benchmarks import landing
from dpcore.laboratory.benchmarks.report import Report
from dpcore.laboratory.plots.coverage import plot_coverage
from dpcore.laboratory.studies import coverage, coverage_aims
from dpcore.results import plots, warehouse


def measure(
    file: Path, grid: coverage.Grid, workers: int = 1, *, again: bool = False, begun: datetime | None = None
) -> Iterator[tuple[int, int]]:
    """Measure and land the chunks that a study lacks of the grid, yielding (done, all) chunks: see `landing.chunks`."""
    yield from landing.chunks(coverage, file, grid, workers, again, begun)


def cells(file: Path) -> pd.DataFrame:
    """Return how the newest study stands, cell by cell: see `coverage_aims.judged`."""
    rows = "from coverage_cells order by method, target, clients, epsilon, functional"
    return coverage_aims.judged(warehouse.query(file, rows))


def report(file: Path) -> Report:
    """Return how the newest study stands, by `cells`; raises WarehouseError where there is no warehouse."""
    rows = cells(file)
    return Report(rows, coverage_aims.verdicts(rows))


def summary(report: Report) -> list[tuple[str, ...]]:
    """Return a line a method and functional, as a person reads it: what happened over all targets, clients and epsilons.

    method, functional, cells, refused ones, least, median and largest coverage of the others, where it is least, median
    length over 3.92 standard deviations, and median standard error over standard deviation.
    """
    found: list[tuple[str, ...]] = []
    for (method, functional), rows in report.rows.groupby(["method", "functional"], sort=False):
        seen = rows[~rows["refused"]].sort_values("coverage")
        head = (str(method), str(functional), str(len(rows)), str(int(rows["refused"].sum())))
        if seen.empty:
            found.append((*head, "", "", "", "", "", ""))
            continue
        worst = seen.to_dict("records")[0]
        shares = (f"{share:.0%}" for share in seen["coverage"].quantile([0.0, 0.5, 1.0]))
        where = f"{worst['target']}, {worst['clients']:,}, {worst['epsilon']:g}"
        ratio = (seen["standard_error"] / seen["deviation"].where(seen["deviation"] > 0)).median()
        found.append((*head, *shares, where, f"{seen['long'].median():.2f}", f"{ratio:.2f}"))
    return found


def draw(file: Path, folder: Path) -> dict[str, Path]:
    """Draw coverage with its binomial interval, a picture a target; return name -> file."""
    pictures: dict[str, Path] = {}
    for target, rows in cells(file).groupby("target", sort=False):
        figure, axes = plots.new_axes(9.0, plots.height_for(rows["functional"].nunique()))
        plot_coverage(rows, axes)
        pictures |= landing.picture(folder, f"coverage_{target}", figure)
    return pictures
