"""The flow that runs the documents' tables and figures: rows of `benchmarks`, a picture each, and what is to be seen in them.

A repeated run goes on where the last one was; figures of this version are not measured again unless it is asked for.
"""

from __future__ import annotations

from pathlib import Path

from prefect import get_run_logger
from prefect.artifacts import create_markdown_artifact, create_progress_artifact, create_table_artifact
from prefect.artifacts import update_progress_artifact as update

from dpcore.laboratory import benchmarks
from flows.publish import embedded
from flows.stage import key, stage, whole
from flows.study_settings import ReproduceSettings

_TITLE = "Tables and figures of the documents"


@stage("measure-figures", seconds=4 * 3600)
def measure(settings: ReproduceSettings) -> None:
    """Measure and land every figure that is not there yet, and show how far it is."""
    artifact = create_progress_artifact(0.0, key="reproduce-progress", description=_TITLE)
    logger = get_run_logger()
    steps = benchmarks.measure_figures(
        settings.warehouse, tuple(settings.names), quick=settings.quick, again=settings.again
    )
    for done, total in steps:
        update(artifact, 100 * done / total if total else 100.0)
        logger.info("%d of %d figures measured", done, total)


@stage("draw-figures", seconds=1800)
def draw(settings: ReproduceSettings) -> dict[str, Path]:
    """Draw the figures that the warehouse has and return name -> file."""
    return benchmarks.draw_figures(benchmarks.figure_points(settings.warehouse), settings.figures)


@stage("show-figures")
def show(settings: ReproduceSettings, pictures: dict[str, Path]) -> None:
    """Put what is to be seen into Prefect's UI, and a page for each picture."""
    lines = benchmarks.figure_lines(benchmarks.figure_points(settings.warehouse))
    heads = ("figure", "what", "may be", "found", "reached")
    create_table_artifact(
        [dict(zip(heads, line, strict=True)) for line in lines], key="reproduce-aims", description=_TITLE
    )
    for name, path in pictures.items():
        page = f"## {name}\n\n![{name}](data:image/png;base64,{embedded(path)})"
        create_markdown_artifact(page, key=key("reproduce", name), description=f"{_TITLE}: {name}")


@whole("reproduce", hours=16, run_name="reproduce")
def reproduce(settings: ReproduceSettings = ReproduceSettings()) -> None:  # noqa: B008 - frozen
    """Measure the figures that are not there yet, draw them, and show them in the UI."""
    measure(settings)
    show(settings, draw(settings))
