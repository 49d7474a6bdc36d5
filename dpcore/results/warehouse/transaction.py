"""A transaction as a context manager; texts to and from DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb


@contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Commit at the end of the block, roll back if it raises anything, including an interrupt."""
    connection.execute("begin transaction")
    try:
        yield
    except BaseException:
        connection.execute("rollback")
        raise
    connection.execute("commit")


def one_line(error: BaseException) -> str:
    """Return the first paragraph of DuckDB's message on one line, without the excerpt of the statement."""
    return " ".join(str(error).strip().split("\n\n")[0].split())


def quoted(text: str) -> str:
    """Return a text as an SQL literal.

    >>> quoted("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"
