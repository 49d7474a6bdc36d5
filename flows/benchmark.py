"""The flow that measures how accurate the estimates are beside their peers: rows of `benchmarks`, pictures, and the aims.

A retried or repeated run goes on where it was: its study is named by the time the run was scheduled for.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from prefect import runtime

from dpcore.laboratory.benchmarks import accuracy
from dpcore.laboratory.benchmarks.report import lines
from dpcore.laboratory.studies.accuracy import Grid
from flows.stage import stage, whole
from flows.study_artifacts import carry_through, show_aims, show_page
from flows.study_settings import BenchmarkSettings

_TITLE = "Accuracy beside the best peer in hindsight"


@stage("measure", seconds=12 * 3600)
def measure(settings: BenchmarkSettings, begun: datetime) -> None:
    """Measure and land every cell that the study lacks, and show how far it is."""
    steps = accuracy.measure(settings.warehouse, _grid(settings), settings.workers, begun=begun)
    carry_through(steps, "accuracy-progress", f"study begun {begun:%Y-%m-%d %H:%M}", "pieces")


@stage("draw-accuracy", seconds=1800)
def draw(settings: BenchmarkSettings) -> dict[str, Path]:
    """Draw the study's pictures and return name -> file."""
    return accuracy.draw(settings.warehouse, settings.figures)


@stage("show-accuracy")
def show(settings: BenchmarkSettings, pictures: dict[str, Path]) -> None:
    """Put the aims, the summary and the pictures into Prefect's UI."""
    found = accuracy.report(settings.warehouse)
    show_aims(lines(found.verdicts), "accuracy-aims", _TITLE)
    table = [accuracy.COLUMNS, ("---",) * len(accuracy.COLUMNS), *accuracy.summary(found)]
    text = "\n".join(f"| {' | '.join(line)} |" for line in table)
    show_page(pictures, "accuracy", _TITLE, f"## {_TITLE}", text)


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
