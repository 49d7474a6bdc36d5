"""The flow that runs the documents' tables and figures: rows of `benchmarks`, a picture each, and what is to be seen in them.

A repeated run goes on where the last one was; figures of this version are not measured again unless it is asked for.
"""

from __future__ import annotations

from pathlib import Path

from dpcore.laboratory.benchmarks import figures
from flows.stage import key, stage, whole
from flows.study_artifacts import carry_through, show_aims, show_page
from flows.study_settings import ReproduceSettings

_TITLE = "Tables and figures of the documents"


@stage("measure-figures", seconds=4 * 3600)
def measure(settings: ReproduceSettings) -> None:
    """Measure and land every figure that is not there yet, and show how far it is."""
    steps = figures.measure(settings.warehouse, tuple(settings.names), quick=settings.quick, again=settings.again)
    carry_through(steps, "reproduce-progress", _TITLE, "figures")


@stage("draw-figures", seconds=1800)
def draw(settings: ReproduceSettings) -> dict[str, Path]:
    """Draw the figures that the warehouse has and return name -> file."""
    return figures.draw(figures.points(settings.warehouse), settings.figures)


@stage("show-figures")
def show(settings: ReproduceSettings, pictures: dict[str, Path]) -> None:
    """Put what is to be seen into Prefect's UI, and a page for each picture."""
    found = figures.seen(figures.points(settings.warehouse))
    show_aims(found, "reproduce-aims", _TITLE, figures.COLUMNS)
    for name, path in pictures.items():
        show_page({name: path}, key("reproduce", name), f"{_TITLE}: {name}", f"## {name}")


@whole("reproduce", hours=16, run_name="reproduce")
def reproduce(settings: ReproduceSettings = ReproduceSettings()) -> None:  # noqa: B008 - frozen
    """Measure the figures that are not there yet, draw them, and show them in the UI."""
    measure(settings)
    show(settings, draw(settings))
