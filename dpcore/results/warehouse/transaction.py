"""All or nothing: one transaction as a context; and texts to and from DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb


@contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Commit when the block ends, roll back when it raises anything (an interrupt too)."""
    connection.execute("begin transaction")
    try:
        yield
    except BaseException:
        connection.execute("rollback")
        raise
    connection.execute("commit")


def one_line(error: BaseException) -> str:
    """Return the first paragraph of DuckDB's message on one line; what follows is an excerpt of the statement."""
    return " ".join(str(error).strip().split("\n\n")[0].split())


def quoted(text: str) -> str:
    """Return a text as SQL has it.

    >>> quoted("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"
