"""The accuracy study: errors of densities, distribution functions and numbers over many cells, beside the best peer.

A study that was stopped goes on where it was: its rows carry the time it was begun, and cells that have theirs are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from dpcore.laboratory.benchmarks import landing
from dpcore.laboratory.benchmarks.report import Report
from dpcore.laboratory.plots.accuracy import plot_fits, plot_ratios
from dpcore.laboratory.studies import accuracy, aims
from dpcore.laboratory.studies.runner import Cell
from dpcore.results import plots, warehouse

COLUMNS = ("method", "metric", "cells", "to best peer", "to SW-EMS 1024", "cells won", "worst target", "its ratio")
PICTURED = ("ise", "w1", "ks", "mean", "entropy", "integrated_square")
_DRAWN_AT = (100_000, 1.0)  # clients and epsilon of the densities that are drawn


def measure(
    file: Path, grid: accuracy.Grid, workers: int = 1, *, again: bool = False, begun: datetime | None = None
) -> Iterator[tuple[int, int]]:
    """Measure and land what a study lacks of the grid, yielding (done, all) pieces, first (0, all).

    file: the warehouse.  workers: processes.  again: measure the grid's methods anew, in place of what the study has.
    begun: the study to go on with, or to begin, by its time (with a time zone); by default the newest one, unless it is of
    another version or of other repetitions: then a new one is begun.
    """
    begun, rows = landing.known(file, accuracy, "not contains(metric, '.')", begun, grid.repetitions)
    there = set() if again else set(rows.itertuples(index=False, name=None))
    pieces = len(accuracy.pending(grid, there))
    yield from landing.landed(
        file, pieces, accuracy.measured(grid, there, workers), landing.edition_of(accuracy), begun
    )


def report(file: Path) -> Report:
    """Return how the newest study stands, by rows of `accuracy_summary`; raises WarehouseError where there is no warehouse."""
    summary = warehouse.query(file, "from accuracy_summary order by method, metric")
    rows = warehouse.query(file, "from accuracy_rows where not is_peer")
    return Report(summary, aims.verdicts(summary, rows))


def summary(report: Report) -> list[tuple[str, ...]]:
    """Return a line a method and metric, of `COLUMNS`: geometric means of error ratios, below 1 where ours is smaller."""
    return [
        (
            row["method"],
            row["metric"],
            str(row["cells"]),
            f"{row['to_hindsight']:.2f}",
            f"{row['to_published']:.2f}",
            f"{row['won']:.0%}",
            str(row["worst_target"]),
            f"{row['worst_ratio']:.2f}",
        )
        for row in report.rows.to_dict("records")
    ]


def draw(file: Path, folder: Path, method: str = aims.METHOD) -> dict[str, Path]:
    """Draw a method's ratios, a picture a metric, and its density on each target; return name -> file."""
    cells = warehouse.query(file, "from accuracy_cells order by target, clients, epsilon")
    cells = cells[cells["method"] == method]
    pictures: dict[str, Path] = {}
    for metric in PICTURED:
        rows = cells[cells["metric"] == metric]
        if len(rows):
            figure, axes = plots.new_axes(9.0, plots.height_for(rows["target"].nunique()))
            plot_ratios(rows, axes)
            pictures |= landing.picture(folder, f"ratios_{metric}", figure)
    clients, epsilon = _DRAWN_AT
    here = cells[(cells["metric"] == "ise") & (cells["clients"] == clients) & (cells["epsilon"] == epsilon)]
    for target, hindsight in zip(here["target"].astype(str), here["hindsight"].astype(str), strict=True):
        fits = accuracy.representative(Cell(target, clients, epsilon), method, hindsight)
        figure, axes = plots.new_axes()
        plot_fits(fits, axes, title=f"{target}, {clients:,} clients, epsilon {epsilon:g}")
        pictures |= landing.picture(folder, f"fit_{target}", figure)
    return pictures
