"""The flow that measures how accurate the estimates are beside their peers: rows of `benchmarks`, pictures, and the aims.

A retried or repeated run goes on where it was: its study is named by the time the run was scheduled for.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from prefect import get_run_logger, runtime
from prefect.artifacts import create_markdown_artifact, create_progress_artifact, create_table_artifact
from prefect.artifacts import update_progress_artifact as update

from dpcore.laboratory import benchmarks
from dpcore.laboratory.studies.accuracy import Grid
from flows.publish import embedded
from flows.stage import stage, whole
from flows.study_settings import BenchmarkSettings

_TITLE = "Accuracy beside the best peer in hindsight"


@stage("measure", seconds=12 * 3600)
def measure(settings: BenchmarkSettings, begun: datetime) -> None:
    """Measure and land every cell that the study lacks, and show how far it is."""
    artifact = create_progress_artifact(0.0, key="accuracy-progress", description=f"study begun {begun:%Y-%m-%d %H:%M}")
    logger = get_run_logger()
    for done, total in benchmarks.measure_accuracy(settings.warehouse, _grid(settings), settings.workers, begun=begun):
        update(artifact, 100 * done / total if total else 100.0)
        logger.info("%d of %d pieces measured", done, total)


@stage("draw-accuracy", seconds=1800)
def draw(settings: BenchmarkSettings) -> dict[str, Path]:
    """Draw the study's pictures and return name -> file."""
    return benchmarks.draw(settings.warehouse, settings.figures)


@stage("show-accuracy")
def show(settings: BenchmarkSettings, pictures: dict[str, Path]) -> None:
    """Put the aims, the summary and the pictures into Prefect's UI."""
    found = benchmarks.report(settings.warehouse)
    create_table_artifact(_rows(found), key="accuracy-aims", description=_TITLE)
    images = [f"![{name}](data:image/png;base64,{embedded(path)})" for name, path in pictures.items()]
    page = "\n\n".join([f"## {_TITLE}", benchmarks.markdown(found), *images])
    create_markdown_artifact(page, key="accuracy", description=_TITLE)


@whole("benchmark", hours=48, run_name=lambda: f"accuracy-{_begun():%Y-%m-%d}")
def benchmark(settings: BenchmarkSettings = BenchmarkSettings()) -> None:  # noqa: B008 - frozen
    """Measure what the study lacks, draw it, and show it in the UI."""
    measure(settings, _begun())
    show(settings, draw(settings))


def _begun() -> datetime:
    return runtime.flow_run.scheduled_start_time


def _grid(settings: BenchmarkSettings) -> Grid:
    chosen = settings.model_dump(exclude={"warehouse", "figures", "workers"})
    return Grid(**{name: tuple(value) if isinstance(value, list) else value for name, value in chosen.items()})


def _rows(found: benchmarks.Report) -> list[dict[str, Any]]:
    """The aims as a person reads them; an unknown number is an empty text, which JSON has and NaN is not."""
    return [dict(zip(("aim", "limit", "found", "reached"), line, strict=True)) for line in benchmarks.lines(found)]
