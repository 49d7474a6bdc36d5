"""Counts the rows of a Parquet file as DuckDB does by itself: what our own counting of reports is measured against."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb


@contextmanager
def counting() -> Iterator[Callable[[Path, Sequence[str]], int]]:
    """Open a function from a file and some of its columns to how many groups its rows make by them, on one thread.

    Of a column of lists, whose name ends in `_values`, the first element is taken.
    """
    with duckdb.connect(config={"threads": 1}) as connection:

        def count_by(file: Path, columns: Sequence[str]) -> int:
            by = [f'"{name}"[1]' if name.endswith("_values") else f'"{name}"' for name in columns]
            rows = connection.execute(
                f"select {', '.join(by)}, count(*) from read_parquet(?) group by all", [str(file)]
            ).fetchall()
            return len(rows)

        yield count_by
