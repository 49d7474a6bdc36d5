"""The study of rates: how errors fall as n epsilon^2 grows, compared with theory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dpcore.laboratory import landing
from dpcore.laboratory.benchmarks.option import option
from dpcore.laboratory.benchmarks.study import Study
from dpcore.laboratory.studies import rates, runner
from dpcore.laboratory.studies.aims import rates as rates_aims
from dpcore.laboratory.studies.aims.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class Rates(Study):
    """Slopes as `aims.rates.judged` has them, of the cells of the view `rates_cells`.

    Every chunk lands in `benchmarks` as it is made; a study that was stopped goes on where it was.

    Example: ldpflow benchmark rates --methods projection_degree_0,projection_degree_1
    """

    name = "rates"
    title = "minus the slope of log error in log n epsilon^2"
    table: ClassVar = {
        "method": "{method}",
        "density": "{target}",
        "functional": "{functional}",
        "from": "{least:.3g}",
        "to": "{most:.3g}",
        "slope": "{slope:.3f} +- {uncertainty:.3f}",
        "by theory": "{theory}",
        "error / predicted": "{ratio:.3f}",
    }
    edition = 1
    stands = "metric = 'failed'"
    grows = True
    query = "from rates_cells order by method, target, functional, effective, epsilon"
    measure = staticmethod(rates.measure)

    methods: tuple[str, ...] = option(rates.METHODS, "Methods to measure.", choices=rates.METHODS)
    repetitions: int = option(
        50, "Repetitions a cell, of ten rounds each in atomic ones; more can be added later.", least=2, most=100_000
    )

    def pending(self, measured: pd.DataFrame) -> list[tuple[Any, ...]]:
        cells = [(method, cell) for method in self.methods for cell in rates.cells(method)]
        return [*runner.left(cells, self.repetitions, rates.CHUNK, measured, rates.rounds_each)]

    def rows(self, file: Path) -> pd.DataFrame:
        return rates_aims.judged(self.cells(file))

    def cells(self, file: Path) -> pd.DataFrame:
        """Return the results of the newest study by cell: rows of the view `rates_cells`."""
        return super().rows(file)

    def verdicts(self, rows: pd.DataFrame) -> list[Verdict]:
        return rates_aims.verdicts(rows)

    def shown(self, rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
        for row in super().shown(rows):
            low, high = f"{row['theory_low']:.3f}", f"{row['theory_high']:.3f}"
            theory = low if low == high else f"{low} to {high}"
            yield {**row, "functional": _named(row["functional"]), "theory": theory}

    def draw(self, file: Path, folder: Path) -> dict[str, Path]:
        """Draw errors against n epsilon^2, a picture a method, density and order of atomic functionals; return name -> file."""
        from dpcore.laboratory.plots.rates import plot_rates
        from dpcore.results import plots

        cells = self.cells(file)
        cells = cells[cells["error"] > 0]
        cells = cells.assign(expected=np.hypot(cells["bias"], cells["noise"]))
        by_theory = {
            (line["method"], line["target"], line["functional"]): float(line["theory_high"])
            for line in rates_aims.judged(cells).to_dict("records")
        }
        pictures: dict[str, Path] = {}
        for (method, target), rows in cells.groupby(["method", "target"], sort=False):
            orders = rows["functional"].str.extract(r"^derivative\((\d),", expand=False)
            for order, part in [("", rows)] if orders.isna().all() else rows.groupby(orders):
                figure, axes = plots.new_axes(9.0, 5.4)
                plot_rates(
                    part.assign(functional=[_named(name) for name in part["functional"]]),
                    axes,
                    rate=by_theory[method, target, part["functional"].iloc[0]],
                    title=f"{method}, {target}: errors and theory".replace("_", " "),
                    subtitle="root mean square errors with their 95 % intervals, of simulated rounds",
                )
                name = "_".join(filter(None, ("rates", str(method), str(target), order and f"order_{order}")))
                pictures |= landing.picture(folder, name, figure)
        return pictures


def _named(functional: str) -> str:
    return functional.replace(repr(rates.SELF_SIMILAR), "1/3")
