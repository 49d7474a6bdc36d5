"""An empty warehouse in memory, created once per process: constraints are tested in it, and new files are copies of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import duckdb

from dpcore.results.warehouse.schema_migration import migrate_anew
from dpcore.results.warehouse.transaction import quoted


@contextmanager
def scratch() -> Iterator[duckdb.DuckDBPyConnection]:
    """Open an empty warehouse in memory without views; inserted rows are rolled back at the end."""
    with _one_at_a_time:  # rows of two users could have the same keys
        stage = empty()
        stage.execute("begin transaction")
        try:
            yield stage
        finally:
            stage.execute("rollback")


_one_at_a_time = threading.Lock()


@cache
def empty() -> duckdb.DuckDBPyConnection:
    """Return the empty warehouse, for queries of its catalogue."""
    connection = duckdb.connect(":memory:", config={"threads": 1})
    migrate_anew(connection)
    return connection


def copy_empty(file: Path, storage: str) -> None:
    """Write an empty warehouse without views to a new file with this DuckDB storage version.

    Raises duckdb.Error if the file cannot be written.
    """
    with _one_at_a_time:
        stage = empty()
        stage.execute(f"attach {quoted(str(file))} as new_warehouse (storage_version '{storage}')")
        try:
            stage.execute("copy from database memory to new_warehouse")
            stage.execute("update new_warehouse.migrations set applied_at = now() at time zone 'UTC'")
        finally:
            stage.execute("detach new_warehouse")
