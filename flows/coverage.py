"""The flow that measures whether intervals hold what they promise: rows of `benchmarks`, pictures, and the aims.

A repeated run goes on where the newest study of this version was, so that repetitions can be added.
"""

from __future__ import annotations

from pathlib import Path

from dpcore.laboratory.benchmarks import coverage as study
from dpcore.laboratory.benchmarks.report import lines
from dpcore.laboratory.studies.coverage import Grid
from flows.stage import stage, whole
from flows.study_artifacts import carry_through, show_aims, show_page
from flows.study_settings import CoverageSettings

_TITLE = "Coverage of nominal 95 % intervals"


@stage("measure-coverage", seconds=24 * 3600)
def measure(settings: CoverageSettings) -> None:
    """Measure and land every chunk that the study lacks, and show how far it is."""
    grid = Grid(
        targets=tuple(settings.targets),
        places=tuple((place.clients, place.epsilon) for place in settings.places),
        methods=tuple(settings.methods),
        repetitions=settings.repetitions,
    )
    steps = study.measure(settings.warehouse, grid, settings.workers)
    carry_through(steps, "coverage-progress", _TITLE, "chunks")


@stage("draw-coverage", seconds=1800)
def draw(settings: CoverageSettings) -> dict[str, Path]:
    """Draw the study's pictures and return name -> file."""
    return study.draw(settings.warehouse, settings.figures)


@stage("show-coverage")
def show(settings: CoverageSettings, pictures: dict[str, Path]) -> None:
    """Put the aims and the pictures into Prefect's UI."""
    show_aims(lines(study.report(settings.warehouse).verdicts), "coverage-aims", _TITLE)
    show_page(pictures, "coverage", _TITLE, f"## {_TITLE}")


@whole("coverage", hours=96, run_name="coverage")
def coverage(settings: CoverageSettings = CoverageSettings()) -> None:  # noqa: B008 - frozen
    """Measure what the study lacks, draw it, and show it in the UI."""
    measure(settings)
    show(settings, draw(settings))
