"""Population totals by label, from a CSV file with the columns label, category and total."""

from __future__ import annotations

from pathlib import Path

from dpcore.errors import InvalidRecord, SchemeError
from dpcore.estimation.weighting.raking import Margins
from dpcore.populations.formats import read_columns
from dpcore.protocol.records.blocks import BLOCK
from dpcore.protocol.scheme import Scheme
from dpcore.rounds.run import Run

FILE = "margins.csv"  # in a run's folder: a copy from the preparation of the round
_HEAD = ["label", "category", "total"]


def read(path: Path, scheme: Scheme) -> Margins:
    """Return the margins in a file; raises SchemeError with the file and line if they do not fit the scheme.

    A row has a category of a label and its total, as a number or in percent; for a combination of labels, "region*sex" and
    "north*f".
    """
    if not scheme.labels:
        raise SchemeError(
            f"{path.name}: totals are by label and the scheme has no labels; add [labels.NAME], or omit the file"
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
                f"{path.name}, line {number}: needs a label, a category and a number, such as region,north,15.2"
            ) from None
    try:
        return Margins.from_rows(rows, scheme.labels)
    except SchemeError as error:
        raise SchemeError(f"{path.name}: {error}") from None


def of_run(run: Run) -> Margins | None:
    """Return the margins of a run, or None."""
    path = run.folder / FILE
    return read(path, run.scheme) if path.exists() else None
