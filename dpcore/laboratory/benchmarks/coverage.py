"""The coverage study: how often nominal 95 % intervals cover the true value, how long they are, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from dpcore.errors import SchemeError
from dpcore.laboratory import landing
from dpcore.laboratory.benchmarks.option import Place, option
from dpcore.laboratory.benchmarks.study import Study
from dpcore.laboratory.studies import coverage, runner
from dpcore.laboratory.studies.aims import coverage as coverage_aims
from dpcore.laboratory.studies.aims.verdict import Verdict
from dpcore.laboratory.studies.contestants import contestants
from dpcore.laboratory.studies.runner import Cell
from dpcore.laboratory.studies.targets.densities import NAMES

_PLACES = (Place(100_000, 1.0), Place(1_000_000, 1.0), Place(200_000, 2.0), Place(100_000, 4.0))


@dataclass(frozen=True, kw_only=True)
class Coverage(Study):
    """Cells as `aims.coverage.judged` has them: a method, target, clients, epsilon and functional each.

    Fifty repetitions at a time land in `benchmarks` as they are made; a study that was stopped goes on where it was.

    Example: ldpflow benchmark coverage --targets bimodal,age --at 100000@1,100000@4 --repetitions 50
    """

    name = "coverage"
    title = "coverage of nominal 95 % intervals, over targets, clients and epsilons"
    table: ClassVar = {
        "method": "{method}",
        "functional": "{functional}",
        "cells": "{cells}",
        "refused": "{refused}",
        "least": "{least:.0%}",
        "median": "{median:.0%}",
        "most": "{most:.0%}",
        "least where": "{target}, {clients:,}, {epsilon:g}",
        "length / 3.92 sd": "{long:.2f}",
        "error / sd": "{ratio:.2f}",
    }
    edition = 4
    stands = "metric = 'failed'"
    grows = True
    query = "from coverage_cells order by method, target, clients, epsilon, functional"
    measure = staticmethod(coverage.measure)

    targets: tuple[str, ...] = option(coverage.TARGETS, "Densities to measure on.", choices=coverage.TARGETS)
    places: tuple[Place, ...] = option(_PLACES, "Numbers of clients, each with its epsilon.", flag="--at")
    methods: tuple[str, ...] = option(
        ("dyadic_wave", "wavelet_laplace"),
        "Methods to measure.",
        choices=tuple(method.name for method in contestants()),
    )
    repetitions: int = option(1000, "Repetitions a cell; more can be added later.", least=2, most=1_000_000)

    def __post_init__(self) -> None:
        for name in self.targets:
            if name in NAMES and name not in coverage.TARGETS:
                raise SchemeError(
                    f"{name} has no density to ask functionals of; targets must be some of {coverage.TARGETS}"
                )
        super().__post_init__()

    def pending(self, measured: pd.DataFrame) -> list[tuple[Any, ...]]:
        cells = [
            (method, Cell(name, at.clients, at.epsilon))
            for name, at, method in product(self.targets, self.places, self.methods)
        ]
        return [*runner.left(cells, self.repetitions, coverage.CHUNK, measured)]

    def rows(self, file: Path) -> pd.DataFrame:
        return coverage_aims.judged(super().rows(file))

    def verdicts(self, rows: pd.DataFrame) -> list[Verdict]:
        verdicts = coverage_aims.verdicts(rows)  # counts of no cells are 0, which would reach what must be few
        return [replace(verdict, value=None) for verdict in verdicts] if rows.empty else verdicts

    def shown(self, rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
        """Yield what happened to a method's functional over all cells; all but counts of those not refused."""
        for (method, functional), group in rows.groupby(["method", "functional"], sort=False):
            seen = group[~group["refused"]].sort_values("coverage")
            worst = {name: seen[name].iloc[0] if len(seen) else None for name in ("target", "clients", "epsilon")}
            least, median, most = seen["coverage"].quantile([0.0, 0.5, 1.0])
            yield worst | {
                "method": method,
                "functional": functional,
                "cells": len(group),
                "refused": int(group["refused"].sum()),
                "least": least,
                "median": median,
                "most": most,
                "long": seen["long"].median(),
                "ratio": (seen["standard_error"] / seen["deviation"].where(seen["deviation"] > 0)).median(),
            }

    def draw(self, file: Path, folder: Path) -> dict[str, Path]:
        """Draw coverage with its binomial interval, a picture a target; return name -> file."""
        from dpcore.laboratory.plots.coverage import plot_coverage
        from dpcore.results import plots

        pictures: dict[str, Path] = {}
        for name, rows in self.rows(file).groupby("target", sort=False):
            figure, axes = plots.new_axes(9.0, plots.height_for(rows["functional"].nunique()))
            plot_coverage(rows, axes)
            pictures |= landing.picture(folder, f"coverage_{name}", figure)
        return pictures
