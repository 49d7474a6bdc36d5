"""What a study is: what it can be asked, its pieces of work, its rows, its table, its aims and its pictures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from string import Formatter
from typing import Any, ClassVar

import pandas as pd

from dpcore.laboratory import landing
from dpcore.laboratory.benchmarks.option import check
from dpcore.laboratory.studies import runner
from dpcore.laboratory.studies.aims.verdict import Verdict
from dpcore.results import warehouse


@dataclass(frozen=True, eq=False)
class Report:
    """The results of the newest study: its rows, as from `Study.rows`, and the verdicts on its aims."""

    rows: pd.DataFrame
    verdicts: list[Verdict]


@dataclass(frozen=True, kw_only=True)
class Study(ABC):
    """A study and what it is asked: the fields, each an `option`.  Raises SchemeError for what it cannot be asked.

    The command's help shows the docstring of a study without its first line.
    """

    name: ClassVar[str]
    """Of the study in `benchmarks`, of the folder of pictures and of the pages."""
    title: ClassVar[str]
    """Of the table and the pages."""
    table: ClassVar[Mapping[str, str]]
    """Heading -> format of its text from a row of `shown`; empty if a value is missing."""
    edition: ClassVar[int | None] = None
    """Of targets, statistics and seeds; another edition's rows are not gone on with."""
    stands: ClassVar[str] = ""
    """SQL condition of the rows that represent a piece of work, so that a stopped study continues; '' if it starts again."""
    grows: ClassVar[bool] = False
    """Whether more repetitions go on with the same study."""
    is_parallel: ClassVar[bool] = True
    """Whether processes may measure pieces at the same time."""
    query: ClassVar[str] = ""
    """SQL: the newest study; by default its rows of `benchmarks`."""
    measure: ClassVar[Callable[..., pd.DataFrame]]
    """A function of a module: the rows of one piece, columns of `benchmarks` but study, measured_at and version."""

    def __post_init__(self) -> None:
        check(self)

    @property
    def mark(self) -> str:
        """What its rows are marked with: the version, and the study's edition where it has one."""
        return version("ldpflow") + (f"+{self.name}.{self.edition}" if self.edition else "")

    @abstractmethod
    def pending(self, measured: pd.DataFrame) -> list[tuple[Any, ...]]:
        """Return the pieces of work that are left, arguments of `measure`; measured: see `landing.measured_pieces`."""

    def measured(self, pieces: Sequence[tuple[Any, ...]], workers: int) -> Iterator[pd.DataFrame | None]:
        """Yield the rows of each piece as they are made, None for one that has none."""
        yield from runner.measured(type(self).measure, pieces, workers)

    def measured_pieces(self, file: Path, begun: datetime | None) -> tuple[datetime | None, pd.DataFrame]:
        """Return when the study to go on with was begun, None for a time a piece, and what there is of it."""
        repetitions = None if self.grows else getattr(self, "repetitions", None)
        return landing.measured_pieces(file, self.name, self.stands, self.mark, begun, repetitions)

    def run(
        self, file: Path, workers: int = 1, *, again: bool = False, begun: datetime | None = None
    ) -> Iterator[tuple[int, int]]:
        """Measure and land what the study lacks of what is asked, yielding (done, all) pieces, first (0, all).

        file: the warehouse.  workers: processes.  again: measure all of it anew, in place of what the study has.
        begun: the study to go on with, or to begin, by its time (with a time zone); by default the newest one, unless it is
        of another version or, where it does not grow, of other repetitions: then a new one is begun.
        """
        begun, there = self.measured_pieces(file, begun)
        pieces = self.pending(there[:0] if again else there)
        common = {"study": self.name, "version": self.mark}
        frames = self.measured(pieces, workers)
        yield from landing.landed(file, len(pieces), (f if f is None else f.assign(**common) for f in frames), begun)

    def rows(self, file: Path) -> pd.DataFrame:
        """Return the newest study, by `query`; raises WarehouseError where there is no warehouse."""
        plain = (
            f"from latest_benchmarks where study = '{self.name}' "
            "order by method, parameters, target, clients, epsilon, metric"
        )
        return warehouse.query(file, self.query or plain)

    def verdicts(self, rows: pd.DataFrame) -> list[Verdict]:
        """Return the aims with what was found."""
        return []

    def report(self, file: Path) -> Report:
        """Return the results of the newest study."""
        rows = self.rows(file)
        return Report(rows, self.verdicts(rows))

    def shown(self, rows: pd.DataFrame) -> Iterable[Mapping[str, Any]]:
        """Return what the table's lines are formatted from, a line each."""
        return [{str(name): value for name, value in row.items()} for row in rows.to_dict("records")]

    def lines(self, report: Report) -> list[tuple[str, ...]]:
        """Return the table's lines, as a person reads them."""
        return [tuple(_text(text, row) for text in self.table.values()) for row in self.shown(report.rows)]

    def draw(self, file: Path, folder: Path) -> dict[str, Path]:
        """Draw the newest study's pictures; return name -> file."""
        return {}

    def remarks(self) -> list[str]:
        """Return further remarks, one per line."""
        return []


def _text(text: str, row: Mapping[str, Any]) -> str:
    """A text without the values that it needs is empty."""
    needed = [name for _, name, _, _ in Formatter().parse(text) if name]
    return "" if any(pd.isna(row[name]) for name in needed) else text.format_map(row)
