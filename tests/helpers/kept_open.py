"""Warehouses that stay open, and are not published: opening and copying them is most of a small round's time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import pytest


@contextmanager
def kept_open() -> Iterator[None]:
    """Open each warehouse once, for writing, and hand out cursors; at the end all are closed.

    What a warehouse is opened, locked and published for is of `tests/results`.  No other process may ask for it meanwhile.
    """
    connection, published = (import_module(f"dpcore.results.warehouse.{name}") for name in ("connection", "published"))
    connect, held = connection._connect, {}

    def cursor(path: Path, *, read_only: bool, deadline: float) -> object:
        file = os.path.realpath(path)
        if file not in held or held[file][0] != os.stat(file).st_ino:  # another file may have its place
            opened = connect(path, read_only=False, deadline=deadline)
            held[file] = os.stat(file).st_ino, opened
        return held[file][1].cursor()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "_connect", cursor)
        patch.setattr(published, "_publish", lambda *_: None)
        try:
            yield
        finally:
            for _, opened in held.values():
                opened.close()
