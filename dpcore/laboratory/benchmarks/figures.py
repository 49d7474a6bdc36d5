"""The documents' tables and figures: measured where the warehouse lacks them, drawn, and what must be seen in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from dpcore.errors import check_one_of
from dpcore.laboratory.benchmarks import landing
from dpcore.laboratory.benchmarks.report import lines
from dpcore.laboratory.plots.curves import plot_curves
from dpcore.laboratory.studies import reproduce
from dpcore.laboratory.studies.figures import Effort
from dpcore.results import plots, warehouse

COLUMNS = ("figure", "what", "may be", "found", "reached")


def measure(
    file: Path, names: Sequence[str] = (), *, quick: bool = False, again: bool = False
) -> Iterator[tuple[int, int]]:
    """Measure and land the documents' figures of these names that are not there yet, yielding (done, all), first (0, all).

    names: of `reproduce.FIGURES`; all by default.  quick: with a tenth of the repetitions.  again: measure it all the same.
    A figure is there when its newest rows are of this version and of no fewer repetitions.
    Raises SchemeError for a name there is none of.
    """
    for name in names:
        check_one_of(tuple(reproduce.FIGURES), figure=name)
    effort, there = Effort(quick), {} if again else _there(file)
    enough = {_edition(effort), _edition(Effort())}  # a quick one may be a full one
    wanted = [name for name in names or reproduce.FIGURES if there.get(name) not in enough]
    frames = (reproduce.measure(name, effort) for name in wanted)
    yield from landing.landed(file, len(wanted), frames, _edition(effort))


def points(file: Path) -> dict[str, pd.DataFrame]:
    """Return the newest points of every figure that the warehouse has, by name."""
    rows = warehouse.query(
        file,
        f"from benchmarks where study = '{reproduce.STUDY}' "
        "qualify measured_at = max(measured_at) over (partition by method) order by method",
    )
    found = {str(name): reproduce.points_of(points) for name, points in rows.groupby("method")}
    return {name: found[name] for name in reproduce.FIGURES if name in found}


def seen(points: Mapping[str, pd.DataFrame]) -> list[tuple[str, ...]]:
    """Return what must be seen in figures, of `COLUMNS`."""
    return [(name, *line) for name, rows in points.items() for line in lines(reproduce.FIGURES[name].aims(rows))]


def draw(points: Mapping[str, pd.DataFrame], folder: Path) -> dict[str, Path]:
    """Draw a picture of each figure, its panels beside what theory says, and return name -> file."""
    pictures: dict[str, Path] = {}
    for name, rows in points.items():
        pictures |= landing.picture(folder, name, _figure(name, rows))
    return pictures


def _figure(name: str, points: pd.DataFrame) -> Any:
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


def _edition(effort: Effort) -> str:
    return f"{landing.edition_of(reproduce)}{'.quick' if effort.quick else ''}"


def _there(file: Path) -> dict[str, str]:
    """Name -> edition of its newest rows."""
    if not file.exists():
        return {}
    rows = warehouse.query(
        file,
        f"select method, max_by(version, measured_at) as version from benchmarks where study = '{reproduce.STUDY}' "
        "group by method",
    )
    return dict(zip(rows["method"], rows["version"], strict=True))
