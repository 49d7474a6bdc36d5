"""The study of rates: how errors fall as n epsilon^2 grows, beside what theory says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd

from dpcore.laboratory.benchmarks import landing
from dpcore.laboratory.benchmarks.report import Report
from dpcore.laboratory.plots.rates import plot_rates
from dpcore.laboratory.studies import rates, rates_aims
from dpcore.results import plots, warehouse


def measure(
    file: Path, grid: rates.Grid, workers: int = 1, *, again: bool = False, begun: datetime | None = None
) -> Iterator[tuple[int, int]]:
    """Measure and land the chunks that a study lacks of the grid, yielding (done, all) chunks: see `landing.chunks`."""
    yield from landing.chunks(rates, file, grid, workers, again, begun)


def cells(file: Path) -> pd.DataFrame:
    """Return how the newest study stands, cell by cell: rows of the view `rates_cells`."""
    return warehouse.query(file, "from rates_cells order by method, target, functional, effective, epsilon")


def report(file: Path) -> Report:
    """Return how the newest study stands, by `cells` judged; raises WarehouseError where there is no warehouse."""
    rows = rates_aims.judged(cells(file))
    return Report(rows, rates_aims.verdicts(rows))


def summary(report: Report) -> list[tuple[str, ...]]:
    """Return a line a method, density and functional, as a person reads it.

    method, density, functional, n epsilon^2 from and to, slope with its standard error, the slope by theory, and, where theory
    says the error itself, measured over it where they are furthest apart.
    """
    found: list[tuple[str, ...]] = []
    for line in report.rows.to_dict("records"):
        low, high = f"{line['theory_low']:.3f}", f"{line['theory_high']:.3f}"
        found.append(
            (
                line["method"],
                line["target"],
                _named(line["functional"]),
                f"{line['least']:.3g}",
                f"{line['most']:.3g}",
                f"{line['slope']:.3f} +- {line['uncertainty']:.3f}" if pd.notna(line["slope"]) else "",
                low if low == high else f"{low} to {high}",
                f"{line['ratio']:.3f}" if pd.notna(line["ratio"]) else "",
            )
        )
    return found


def draw(file: Path, folder: Path) -> dict[str, Path]:
    """Draw errors against n epsilon^2, a picture a method, density and, for atomic functionals, order; return name -> file."""
    found = cells(file)
    found = found[found["error"] > 0]
    found = found.assign(expected=np.hypot(found["bias"], found["noise"]))
    by_theory = {
        (line["method"], line["target"], line["functional"]): float(line["theory_high"])
        for line in rates_aims.judged(found).to_dict("records")
    }
    pictures: dict[str, Path] = {}
    for (method, target), rows in found.groupby(["method", "target"], sort=False):
        orders = rows["functional"].str.extract(r"^derivative\((\d),", expand=False)
        for order, each in [("", rows)] if orders.isna().all() else rows.groupby(orders):
            figure, axes = plots.new_axes(9.0, 5.4)
            plot_rates(
                each.assign(functional=[_named(name) for name in each["functional"]]),
                axes,
                rate=by_theory[method, target, each["functional"].iloc[0]],
                title=f"{method}, {target}: errors and theory".replace("_", " "),
                subtitle="root mean square errors with their 95 % intervals, of simulated rounds",
            )
            name = "_".join(filter(None, ("rates", str(method), str(target), order and f"order_{order}")))
            pictures |= landing.picture(folder, name, figure)
    return pictures


def _named(functional: str) -> str:
    return functional.replace(repr(rates.SELF_SIMILAR), "1/3")
