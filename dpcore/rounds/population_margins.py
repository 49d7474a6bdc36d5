"""Known totals of the population by label, as a round is given them: a CSV of label, category, total."""

from __future__ import annotations

from pathlib import Path

from dpcore.errors import InvalidRecord, SchemeError
from dpcore.estimation.weighting.raking import Margins
from dpcore.populations.formats import read_columns
from dpcore.protocol.records.blocks import BLOCK
from dpcore.protocol.scheme import Scheme
from dpcore.rounds.run import Run

FILE = "margins.csv"  # in a run's folder: the file as it was when the round was prepared
_HEAD = ["label", "category", "total"]


def read(path: Path, scheme: Scheme) -> Margins:
    """Return the margins in a file; raises SchemeError, which names the file and the line, where it holds none of the scheme.

    A row is a category of a label and its total, of people or per cent; of several labels together, "region*sex" and
    "north*f".
    """
    if not scheme.labels:
        raise SchemeError(
            f"margins are totals by label, and the scheme has none; add [labels.NAME], or leave out {path.name}"
        )
    try:
        lines = [row for table in read_columns(path, _HEAD, BLOCK) for row in table.to_pylist()]
    except InvalidRecord as error:
        raise SchemeError(f"margins: {error}") from None
    rows = []
    for number, line in enumerate(lines, 2):
        try:
            label, category, total = (str(line[name]).strip() for name in _HEAD)
            rows.append((label, category, float(total.replace("_", ""))))
        except ValueError:
            raise SchemeError(
                f"{path.name}, line {number}: expected a label, a category and a number, such as region,north,15.2"
            ) from None
    try:
        return Margins.from_rows(rows, scheme.labels)
    except SchemeError as error:
        raise SchemeError(f"{path.name}: {error}") from None


def of(run: Run) -> Margins | None:
    """Return the margins that a run was given, None where it has none."""
    path = run.folder / FILE
    return read(path, run.scheme) if path.exists() else None
