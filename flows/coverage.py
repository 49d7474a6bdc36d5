"""The flow that measures whether intervals hold what they promise: rows of `benchmarks`, pictures, and the aims.

A repeated run goes on where the newest study of this version was, so that repetitions can be added.
"""

from __future__ import annotations

from pathlib import Path

from prefect import get_run_logger
from prefect.artifacts import create_markdown_artifact, create_progress_artifact, create_table_artifact
from prefect.artifacts import update_progress_artifact as update

from dpcore.laboratory import benchmarks
from dpcore.laboratory.studies.coverage import Grid
from flows.publish import embedded
from flows.stage import stage, whole
from flows.study_settings import CoverageSettings

_TITLE = "Coverage of nominal 95 % intervals"


@stage("measure-coverage", seconds=24 * 3600)
def measure(settings: CoverageSettings) -> None:
    """Measure and land every chunk that the study lacks, and show how far it is."""
    artifact = create_progress_artifact(0.0, key="coverage-progress", description=_TITLE)
    logger = get_run_logger()
    grid = Grid(
        targets=tuple(settings.targets),
        places=tuple((place.clients, place.epsilon) for place in settings.places),
        methods=tuple(settings.methods),
        repetitions=settings.repetitions,
    )
    for done, total in benchmarks.measure_coverage(settings.warehouse, grid, settings.workers):
        update(artifact, 100 * done / total if total else 100.0)
        logger.info("%d of %d chunks measured", done, total)


@stage("draw-coverage", seconds=1800)
def draw(settings: CoverageSettings) -> dict[str, Path]:
    """Draw the study's pictures and return name -> file."""
    return benchmarks.draw_coverage(settings.warehouse, settings.figures)


@stage("show-coverage")
def show(settings: CoverageSettings, pictures: dict[str, Path]) -> None:
    """Put the aims and the pictures into Prefect's UI."""
    aims = benchmarks.coverage_lines(benchmarks.coverage_cells(settings.warehouse))
    rows = [dict(zip(("aim", "limit", "found", "reached"), line, strict=True)) for line in aims]
    create_table_artifact(rows, key="coverage-aims", description=_TITLE)
    images = [f"![{name}](data:image/png;base64,{embedded(path)})" for name, path in pictures.items()]
    create_markdown_artifact("\n\n".join([f"## {_TITLE}", *images]), key="coverage", description=_TITLE)


@whole("coverage", hours=96, run_name="coverage")
def coverage(settings: CoverageSettings = CoverageSettings()) -> None:  # noqa: B008 - frozen
    """Measure what the study lacks, draw it, and show it in the UI."""
    measure(settings)
    show(settings, draw(settings))
