"""The flows of studies, built from one function: rows of `benchmarks`, pictures, the aims, and a page in Prefect's UI.

A retried or repeated run continues where it stopped.

Modules:
    settings: parameters of the flows of studies
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from prefect import get_run_logger, runtime
from prefect.artifacts import create_markdown_artifact, create_progress_artifact, create_table_artifact
from prefect.artifacts import update_progress_artifact as update

from dpcore.laboratory.studies.aims.verdict import HEADS

from ..publish import embedded
from ..tasks.stage import key, scheduled_day, stage, whole
from .settings import BenchmarkSettings, CoverageSettings, ReproduceSettings, StudySettings


@stage("measure", seconds=24 * 3600)
def measure(settings: StudySettings, begun: datetime | None) -> None:
    """Measure and land the missing pieces of the study, and show the progress."""
    study, logger = settings.study, get_run_logger()
    description = f"study started {begun:%Y-%m-%d %H:%M}" if begun else study.title
    artifact = create_progress_artifact(0.0, key=key(study.name, "progress"), description=description)
    workers = getattr(settings, "workers", 1)
    for done, total in study.run(settings.warehouse, workers, again=settings.again, begun=begun):
        update(artifact, 100 * done / total if total else 100.0)
        logger.info("%d of %d pieces measured", done, total)


@stage("draw", seconds=1800)
def draw(settings: StudySettings) -> dict[str, Path]:
    """Draw the study's pictures and return name -> file."""
    return settings.study.draw(settings.warehouse, settings.figures)


@stage("show")
def show(settings: StudySettings, pictures: dict[str, Path], title: str, apart: bool) -> None:
    """Put the aims, the table and the pictures into Prefect's UI; apart: a page for each picture."""
    study = settings.study
    report = study.report(settings.warehouse)
    heads, lines = tuple(study.table), study.lines(report)
    if report.verdicts:
        aims = [dict(zip(HEADS, verdict.line, strict=True)) for verdict in report.verdicts]
    else:
        aims = [dict(zip(heads, line, strict=True)) for line in lines]
    create_table_artifact(aims, key=key(study.name, "aims"), description=title)
    if apart:
        for name, path in pictures.items():
            _show_page({name: path}, key(study.name, name), f"{title}: {name}", f"## {name}")
        return
    text = "\n".join(f"| {' | '.join(line)} |" for line in (heads, ("---",) * len(heads), *lines))
    _show_page(pictures, key(study.name), title, f"## {title}", text)


def _show_page(pictures: Mapping[str, Path], key: str, title: str, *parts: str) -> None:
    """Show a page: parts of Markdown, then the pictures."""
    images = [f"![{name}](data:image/png;base64,{embedded(path)})" for name, path in pictures.items()]
    create_markdown_artifact("\n\n".join([*parts, *images]), key=key, description=title)


def _whole(
    form: type[StudySettings], name: str, title: str, *, hours: float, afresh: bool = False, apart: bool = False
) -> Any:
    """The flow of a study; afresh: a scheduled run starts a new study, which its retries continue."""

    def body(settings: StudySettings = form()) -> None:  # noqa: B008 - frozen
        measure(settings, runtime.flow_run.scheduled_start_time if afresh else None)
        show(settings, draw(settings), title, apart)

    def run_name() -> str:
        return f"{form.kind.name}-{scheduled_day()}" if afresh else form.kind.name

    body.__name__ = body.__qualname__ = name
    body.__doc__ = f"{title}: measure the missing pieces, draw them, and show them in the UI."
    body.__annotations__ = {"settings": form, "return": None}  # Prefect builds the form from it
    return whole(name, hours=hours, run_name=run_name)(body)


benchmark = _whole(
    BenchmarkSettings, "benchmark", "Accuracy compared with the best peer in hindsight", hours=48, afresh=True
)
coverage = _whole(CoverageSettings, "coverage", "Coverage of nominal 95 % intervals", hours=96)
reproduce = _whole(ReproduceSettings, "reproduce", "Tables and figures of the documents", hours=16, apart=True)
