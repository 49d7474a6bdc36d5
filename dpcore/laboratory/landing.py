"""Rows of studies into a warehouse and out of it, landed as they are made and gone on with; and pictures into a folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from dpcore import wire
from dpcore.results import warehouse

_PIECE_COLUMNS = ["method", "parameters", "target", "clients", "epsilon", "repetitions"]


def landed(
    file: Path, pieces: int, frames: Iterable[pd.DataFrame | None], begun: datetime | None
) -> Iterator[tuple[int, int]]:
    """Land frames as they are made, and publish them however it ends, yielding (done, all), first (0, all).

    frames: rows but for `measured_at`, None of a piece that has none.  begun: when all were measured; None: each on its own.
    """
    has_rows = False
    yield 0, pieces
    try:
        for done, frame in enumerate(frames, 1):
            if frame is not None:
                warehouse.add_benchmarks(file, frame.assign(measured_at=begun or datetime.now(UTC)))
                has_rows = True
            yield done, pieces
    finally:
        if has_rows:
            warehouse.publish_copy(file)


def measured_pieces(
    file: Path, study: str, piece_condition: str, mark: str, begun: datetime | None, repetitions: int | None = None
) -> tuple[datetime, pd.DataFrame]:
    """Return when the study to go on with was begun, and its pieces; now and none where there is none of this edition.

    piece_condition: SQL condition of rows that represent a piece; '' for a study that starts again.  mark: version of rows.
    begun: the study meant; by default the newest.  repetitions: what each piece must have; any number by default.
    Columns: method, parameters, target, clients, epsilon, repetitions.
    """
    fresh = begun or datetime.now(UTC), pd.DataFrame(columns=_PIECE_COLUMNS)
    if not piece_condition or not file.exists():
        return fresh
    rows = warehouse.query(
        file,
        f"select distinct {', '.join(_PIECE_COLUMNS)}, version, measured_at from benchmarks "
        f"where study = '{study}' and {piece_condition}",
    )
    if rows.empty:
        return fresh
    begun = begun or rows["measured_at"].max().to_pydatetime().replace(tzinfo=UTC)
    rows = rows[rows["measured_at"] == begun.astimezone(UTC).replace(tzinfo=None)]
    if set(rows["version"]) != {mark} or (repetitions and set(rows["repetitions"]) != {repetitions}):
        return fresh
    return begun, rows[_PIECE_COLUMNS]


def picture(folder: Path, name: str, figure: Any) -> dict[str, Path]:
    """Write a figure of matplotlib's as FOLDER/NAME.png and return name -> file."""
    from dpcore.results import plots

    path = folder / f"{name}.png"
    wire.write_bytes(path, plots.png(figure))
    return {name: path}
