"""Rows of studies into a warehouse and out of it, landed as they are made and gone on with; and pictures into a folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from dpcore import wire
from dpcore.laboratory.studies.runner import chunk_of
from dpcore.results import plots, warehouse

_KNOWN = ("method", "parameters", "target", "clients", "epsilon", "repetitions")


def edition_of(study: Any) -> str:
    """Return what the rows of a study's module are marked with: the version, the study and its edition."""
    return f"{version('ldpflow')}+{study.STUDY}.{study.EDITION}"


def landed(
    file: Path, pieces: int, frames: Iterable[pd.DataFrame], edition: str, begun: datetime | None = None
) -> Iterator[tuple[int, int]]:
    """Land frames as they are made, and publish them however it ends, yielding (done, all), first (0, all).

    begun: `measured_at` of all of them; by default each has its own.
    """
    done = 0
    yield done, pieces
    try:
        for done, frame in enumerate(frames, 1):
            warehouse.add_benchmarks(file, frame.assign(measured_at=begun or datetime.now(UTC), version=edition))
            yield done, pieces
    finally:
        if done:
            warehouse.publish_copy(file)


def known(
    file: Path, study: Any, metrics: str, begun: datetime | None, repetitions: int | None = None
) -> tuple[datetime, pd.DataFrame]:
    """Return when the study to go on with was begun, and its pieces; now and none where there is none of this edition.

    study: its module.  metrics: SQL, which rows stand for a piece.  begun: the study meant; by default the newest.
    repetitions: what each piece must have; any number by default.
    Columns: method, parameters, target, clients, epsilon, repetitions.
    """
    fresh = begun or datetime.now(UTC), pd.DataFrame(columns=_KNOWN)
    if not file.exists():
        return fresh
    rows = warehouse.query(
        file,
        f"select distinct {', '.join(_KNOWN)}, version, measured_at "
        f"from benchmarks where study = '{study.STUDY}' and {metrics}",
    )
    if rows.empty:
        return fresh
    begun = begun or rows["measured_at"].max().to_pydatetime().replace(tzinfo=UTC)
    rows = rows[rows["measured_at"] == begun.astimezone(UTC).replace(tzinfo=None)]
    if set(rows["version"]) != {edition_of(study)} or (repetitions and set(rows["repetitions"]) != {repetitions}):
        return fresh
    return begun, rows[list(_KNOWN)]


def chunks(
    study: Any, file: Path, grid: Any, workers: int, again: bool, begun: datetime | None
) -> Iterator[tuple[int, int]]:
    """Measure and land what a study that is made in chunks lacks, yielding (done, all) chunks, first (0, all).

    study: its module.  grid: its `Grid`.  The rest is as in `accuracy.measure`, but that more repetitions go on with the same
    study.
    """
    begun, rows = known(file, study, "metric = 'failed'", begun)
    there = {
        (row.method, row.target, row.clients, row.epsilon, chunk_of(str(row.parameters))): row.repetitions
        for row in rows.itertuples(index=False)
        if not again
    }
    pieces = len(study.pending(grid, there))
    yield from landed(file, pieces, study.measured(grid, there, workers), edition_of(study), begun)


def newest(file: Path, study: str, order: str) -> pd.DataFrame:
    """Return the rows of `benchmarks` of the newest study of this name; raises WarehouseError where there is no warehouse."""
    return warehouse.query(
        file,
        f"from benchmarks where study = '{study}' and measured_at = "
        f"(select max(measured_at) from benchmarks where study = '{study}') order by {order}",
    )


def picture(folder: Path, name: str, figure: Any) -> dict[str, Path]:
    """Write a figure of matplotlib's as FOLDER/NAME.png and return name -> file."""
    path = folder / f"{name}.png"
    wire.write_bytes(path, plots.png(figure))
    return {name: path}
