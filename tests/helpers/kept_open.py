"""What tests of rounds and commands do once instead of each time: open and publish warehouses, read commands' signatures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path

import duckdb
import pytest

from tests.helpers import warehouses


@contextmanager
def kept_open() -> Iterator[None]:
    """Open each warehouse once, for writing, and hand out cursors; at the end all are closed, and none is published.

    Opening, migrating and copying them is two thirds of a small round's time.  What they are opened, locked and published for
    is of `tests/results`.  No other process may ask for one meanwhile.
    """
    connection, published = (
        import_module(f"dpcore.results.warehouse.{name}") for name in ("connection", "published_copy")
    )
    connect, migrate, create = connection._connect, connection.migrate, connection._create_if_missing
    held: dict[str, tuple[int, duckdb.DuckDBPyConnection]] = {}
    files: dict[int, str] = {}  # of cursors
    migrated: set[str] = set()

    def cursor(path: Path, *, read_only: bool, deadline: float) -> duckdb.DuckDBPyConnection:
        file = os.path.realpath(path)
        if file not in held or held[file][0] != os.stat(file).st_ino:  # another file may have its place
            opened = connect(path, read_only=False, deadline=deadline)
            held[file] = os.stat(file).st_ino, opened
            migrated.discard(file)
        made = held[file][1].cursor()
        files[id(made)] = file
        return made

    def migrate_once(opened: duckdb.DuckDBPyConnection) -> int:
        file = files.get(id(opened))
        if file in migrated:
            return 0
        applied = migrate(opened)
        if file is not None:
            migrated.add(file)
        return applied

    def put(path: Path) -> None:
        with suppress(OSError):  # which is said in words
            warehouses.put(path)
        create(path)

    warehouses._content()  # before it is made of what stays open
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "_connect", cursor)
        patch.setattr(connection, "migrate", migrate_once)
        patch.setattr(connection, "_create_if_missing", put)
        patch.setattr(published, "_publish", lambda *_: None)
        try:
            yield
        finally:
            for _, opened in held.values():
                opened.close()


@pytest.fixture(scope="session", autouse=True)
def commands_read_once() -> Iterator[None]:
    """Read the signatures of all commands once, 20 ms of each call in this process; of the folders whose conftest names it."""
    import typer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", cache(typer.main.get_command))
        yield
