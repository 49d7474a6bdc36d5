"""The documents' tables and figures: measured where the warehouse lacks them, drawn, and what must be seen in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from dpcore.laboratory import landing
from dpcore.laboratory.benchmarks.option import option
from dpcore.laboratory.benchmarks.study import Study
from dpcore.laboratory.studies import reproduce
from dpcore.laboratory.studies.aims.verdict import HEADS
from dpcore.laboratory.studies.figures import Effort
from dpcore.results import warehouse


@dataclass(frozen=True, kw_only=True)
class Reproduce(Study):
    """What must be seen in the figures of these names, a line an aim.

    Every figure lands in `benchmarks` when it is made.  It is there when its newest rows are of this version and of no fewer
    repetitions.
    """

    name = "reproduce"
    title = "what is to be seen"
    table: ClassVar = {"figure": "{figure}", "what": "{aim}"} | {head: f"{{{head}}}" for head in HEADS[1:]}
    edition = reproduce.EDITION
    stands = "true"
    is_parallel = False
    measure = staticmethod(reproduce.measure)

    names: tuple[str, ...] = option(
        tuple(reproduce.FIGURES), "Figures of the documents.", flag="", choices=tuple(reproduce.FIGURES)
    )
    quick: bool = option(False, "A tenth of the repetitions.")

    @property
    def mark(self) -> str:
        return super().mark + ".quick" * self.quick

    def measured_pieces(self, file: Path, begun: datetime | None) -> tuple[datetime | None, pd.DataFrame]:
        """Return the names of figures that are there; each has a time of its own."""
        if not file.exists():
            return None, pd.DataFrame(columns=["method", "version"])
        rows = warehouse.query(
            file,
            "select method, max_by(version, measured_at) as version from benchmarks where study = 'reproduce' group by method",
        )
        return None, rows[
            rows["version"].isin({self.mark, replace(self, quick=False).mark})
        ]  # a quick one may be a full one

    def pending(self, measured: pd.DataFrame) -> list[tuple[Any, ...]]:
        there = set(measured["method"])
        return [(name, Effort(self.quick)) for name in self.names if name not in there]

    def rows(self, file: Path) -> pd.DataFrame:
        """Return the newest points of the figures that the warehouse has, with a column `figure`."""
        rows = warehouse.query(
            file,
            "from benchmarks where study = 'reproduce' qualify measured_at = max(measured_at) over (partition by method)",
        )
        points = [
            reproduce.points_of(rows[rows["method"] == name]).assign(figure=name)
            for name in reproduce.FIGURES
            if name in self.names and name in set(rows["method"])
        ]
        return pd.concat(points, ignore_index=True) if points else pd.DataFrame(columns=["figure"])

    def shown(self, rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
        for name, points in rows.groupby("figure", sort=False):
            for verdict in reproduce.FIGURES[str(name)].aims(points):
                yield {"figure": name} | dict(zip(HEADS, verdict.line, strict=True))

    def draw(self, file: Path, folder: Path) -> dict[str, Path]:
        """Draw each figure, with theory in its panels; return name -> file."""
        pictures: dict[str, Path] = {}
        for name, points in self.rows(file).groupby("figure", sort=False):
            pictures |= landing.picture(folder, str(name), _figure(str(name), points))
        return pictures


def _figure(name: str, points: pd.DataFrame) -> Any:
    from dpcore.laboratory.plots.curves import plot_curves
    from dpcore.results import plots

    shown = reproduce.FIGURES[name]
    source = re.sub(r"(?<=[a-z])(?=[A-Z\d])", ", ", shown.document)
    figure, panels = plots.new_panels(
        len(shown.panels),
        title=shown.shows[0].upper() + shown.shows[1:],
        subtitle=f"{source}; dashed: what is stated; bars: 95 % intervals",
    )
    curves = list(dict.fromkeys(points["curve"]))
    for axes, (title, panel) in zip(panels, shown.panels.items(), strict=True):
        plot_curves(
            points[points["panel"] == title],
            axes,
            x=panel.x,
            y=panel.y,
            names=curves,
            logarithmic=panel.logarithmic,
            slope=panel.slope,
            title=title,
        )
    return figure
