"""Counts rows of a Parquet file with DuckDB, the reference for the speed of counting reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb


@contextmanager
def counting() -> Iterator[Callable[[Path, Sequence[str]], int]]:
    """Open a function from a file and some of its columns to the number of groups by these columns, on one thread.

    For a column of lists, whose name ends in `_values`, the first element is used.
    """
    with duckdb.connect(config={"threads": 1}) as connection:

        def count_by(file: Path, columns: Sequence[str]) -> int:
            by = [f'"{name}"[1]' if name.endswith("_values") else f'"{name}"' for name in columns]
            rows = connection.execute(
                f"select {', '.join(by)}, count(*) from read_parquet(?) group by all", [str(file)]
            ).fetchall()
            return len(rows)

        yield count_by
