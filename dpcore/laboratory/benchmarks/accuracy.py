"""The accuracy study: errors of densities, distribution functions and numbers over many cells, beside the best peer."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from dpcore.laboratory import landing
from dpcore.laboratory.benchmarks.option import CLIENTS, EPSILON, option
from dpcore.laboratory.benchmarks.study import Report, Study
from dpcore.laboratory.studies import accuracy
from dpcore.laboratory.studies.aims.accuracy import METHOD, verdicts
from dpcore.laboratory.studies.runner import Cell
from dpcore.laboratory.studies.targets.densities import NAMES, USUAL
from dpcore.results import warehouse

_PICTURED = ("ise", "w1", "ks", "mean", "entropy", "integrated_square")
_DRAWN_AT = (100_000, 1.0)  # clients and epsilon of the densities that are drawn


@dataclass(frozen=True, kw_only=True)
class Accuracy(Study):
    """Error ratios, geometric means over cells, by rows of `accuracy_summary`.

    Every cell lands in `benchmarks` as it is made; a study that was stopped goes on where it was.

    Example: ldpflow benchmark accuracy --targets beta_2_5,claw --clients 100000 --epsilon 1 --repetitions 10
    """

    name = "accuracy"
    title = "errors over the peers', geometric means; below 1 ours are smaller"
    table: ClassVar = {
        "method": "{method}",
        "metric": "{metric}",
        "cells": "{cells}",
        "to best peer": "{to_hindsight:.2f}",
        "to SW-EMS 1024": "{to_published:.2f}",
        "cells won": "{won:.0%}",
        "worst target": "{worst_target}",
        "its ratio": "{worst_ratio:.2f}",
    }
    edition = 1
    stands = "not contains(metric, '.')"
    query = "from accuracy_summary order by method, metric"
    measure = staticmethod(accuracy.measure)

    targets: tuple[str, ...] = option(USUAL, "Densities to measure on.", choices=NAMES)
    clients: tuple[int, ...] = option((10_000, 100_000, 1_000_000), "Numbers of clients.", **CLIENTS)
    epsilons: tuple[float, ...] = option(
        (0.5, 1.0, 2.0, 4.0), "Epsilons, natural-log units.", flag="--epsilon", **EPSILON
    )
    methods: tuple[str, ...] = option((), "Methods to measure; `peers` for all peers.", choices=accuracy.method_names())
    repetitions: int = option(
        50,
        "Repetitions a cell; an even number, half to choose the best peer and half to measure it.",
        least=2,
        most=10_000,
        multiple=2,
    )

    def pending(self, measured: pd.DataFrame) -> list[tuple[Any, ...]]:
        cells = [Cell(*cell) for cell in product(self.targets, self.clients, self.epsilons)]
        return [*accuracy.left(cells, self.methods, self.repetitions, measured)]

    def report(self, file: Path) -> Report:
        rows = self.rows(file)
        return Report(rows, verdicts(rows, warehouse.query(file, "from accuracy_rows where not is_peer")))

    def draw(self, file: Path, folder: Path) -> dict[str, Path]:
        """Draw the ratios of the method that the aims are about, a picture a metric, and its density on each target."""
        from dpcore.laboratory.plots.accuracy import plot_fits, plot_ratios
        from dpcore.results import plots

        cells = warehouse.query(file, "from accuracy_cells order by target, clients, epsilon")
        cells = cells[cells["method"] == METHOD]
        pictures: dict[str, Path] = {}
        for metric in _PICTURED:
            rows = cells[cells["metric"] == metric]
            if len(rows):
                figure, axes = plots.new_axes(9.0, plots.height_for(rows["target"].nunique()))
                plot_ratios(rows, axes)
                pictures |= landing.picture(folder, f"ratios_{metric}", figure)
        clients, epsilon = _DRAWN_AT
        here = cells[(cells["metric"] == "ise") & (cells["clients"] == clients) & (cells["epsilon"] == epsilon)]
        for target, hindsight in zip(here["target"].astype(str), here["hindsight"].astype(str), strict=True):
            fits = accuracy.representative(Cell(target, clients, epsilon), METHOD, hindsight)
            figure, axes = plots.new_axes()
            plot_fits(fits, axes, title=f"{target}, {clients:,} clients, epsilon {epsilon:g}")
            pictures |= landing.picture(folder, f"fit_{target}", figure)
        return pictures
