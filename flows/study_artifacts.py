"""What the flows of studies show in Prefect's UI: how far they are, their aims, and their pictures on a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from prefect import get_run_logger
from prefect.artifacts import create_markdown_artifact, create_progress_artifact, create_table_artifact
from prefect.artifacts import update_progress_artifact as update

from flows.publish import embedded

AIMS = ("aim", "limit", "found", "reached")


def carry_through(steps: Iterable[tuple[int, int]], key: str, description: str, pieces: str) -> None:
    """Carry a study through, showing how far it is; steps: (done, all), pieces: what they count."""
    artifact = create_progress_artifact(0.0, key=key, description=description)
    logger = get_run_logger()
    for done, total in steps:
        update(artifact, 100 * done / total if total else 100.0)
        logger.info("%d of %d %s measured", done, total, pieces)


def show_aims(lines: Iterable[Sequence[str]], key: str, title: str, heads: Sequence[str] = AIMS) -> None:
    """Show aims as a person reads them; an unknown number is an empty text, which JSON has and NaN is not."""
    create_table_artifact([dict(zip(heads, line, strict=True)) for line in lines], key=key, description=title)


def show_page(pictures: Mapping[str, Path], key: str, title: str, *parts: str) -> None:
    """Show a page: parts of Markdown, then the pictures."""
    images = [f"![{name}](data:image/png;base64,{embedded(path)})" for name, path in pictures.items()]
    create_markdown_artifact("\n\n".join([*parts, *images]), key=key, description=title)
