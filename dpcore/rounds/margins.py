"""Known totals of the population by label, as a round is given them: a CSV of label, category, total."""

from __future__ import annotations

import csv
from pathlib import Path

from dpcore.errors import SchemeError
from dpcore.estimation.weighting import Margins
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
        with path.open(encoding="utf-8-sig", newline="") as file:
            head, *lines = list(csv.reader(file)) or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SchemeError(f"margins cannot be read from {path}: {error}") from None
    if [name.strip() for name in head] != _HEAD:
        raise SchemeError(f"{path.name} must begin with the line label,category,total; got {','.join(head)[:80]!r}")
    rows = []
    for number, line in enumerate(lines, 2):
        if not any(cell.strip() for cell in line):
            continue
        try:
            label, category, total = (cell.strip() for cell in line)
            rows.append((label, category, float(total.replace("_", ""))))
        except ValueError:
            raise SchemeError(
                f"{path.name}, line {number}: expected a label, a category and a number, such as region,north,15.2"
            ) from None
    try:
        return Margins.of(rows, scheme.labels)
    except SchemeError as error:
        raise SchemeError(f"{path.name}: {error}") from None


def of(run: Run) -> Margins | None:
    """Return the margins that a run was given, None where it has none."""
    path = run.folder / FILE
    return read(path, run.scheme) if path.exists() else None
