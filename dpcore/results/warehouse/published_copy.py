"""The published copy of the warehouse, for readers, so that readers and landings never wait for each other.

Every landing ends by copying the warehouse and replacing the copy atomically.  Open connections keep the old copy; new ones see
the complete round.  Later copies keep the group and mode of the file.  The copy has the modification time of its warehouse: if
they differ, somebody wrote without publishing, and readers open the warehouse.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import duckdb

from dpcore.errors import WarehouseError
from dpcore.results.warehouse.connection import PATIENCE, STORAGE, Locked, open_for_reading, open_for_writing
from dpcore.results.warehouse.views import one_line, quoted, transaction

_FULL, _SHOWN = "No space left on device", 120  # in DuckDB's messages; characters of one


def published(path: str | Path) -> Path:
    """Return the path of a warehouse's published copy: warehouse.published.duckdb for warehouse.duckdb."""
    path = Path(path)
    return path.with_name(f"{path.stem}.published{path.suffix}")


@contextmanager
def open_to_publish(path: str | Path, *, patience: float = PATIENCE) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the warehouse for one transaction and publish the result.

    Raises WarehouseError as `open_for_writing` does, and, after the commit, if the copy cannot be written.
    """
    with open_for_writing(path, patience=patience) as connection:
        with transaction(connection):
            yield connection
        _publish(connection, Path(path))


def publish_copy(path: str | Path) -> None:
    """Publish the current warehouse, after changes that were written without publishing.

    Raises WarehouseError as `open_for_writing` does, and if the copy cannot be written.
    """
    with open_for_writing(path) as connection:
        _publish(connection, Path(path))


def _publish(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    copy = published(path)
    unfinished = copy.with_name(f".{copy.name}.{os.getpid()}.tmp")
    try:
        unfinished.unlink(missing_ok=True)  # left by a killed process with the same number
        connection.execute("checkpoint")  # afterwards the file does not change until the next write
        connection.execute(f"attach {quoted(str(unfinished))} as published_copy (storage_version '{STORAGE}')")
        if copy.exists():
            _give_to_the_same(unfinished, copy.stat())
        connection.execute(f"copy from database {_name(connection)} to published_copy")
        connection.execute("detach published_copy")
        modified = path.stat().st_mtime_ns
        os.utime(unfinished, ns=(modified, modified))
        os.replace(unfinished, copy)
    except OSError as error:
        raise WarehouseError(f"{copy}: cannot be written: {error.strerror}") from error
    except duckdb.Error as error:
        if _FULL not in (message := one_line(error)):
            raise
        raise WarehouseError(
            f"{copy}: no space left for the published copy, {path} was written ({message[:_SHOWN]}); free some space: the "
            "next landing writes the copy, and `ldpflow query` reads the warehouse until then"
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)


def _give_to_the_same(file: Path, before: os.stat_result) -> None:
    """Give an empty file the group and mode of the copy that it will replace, or no group access if that is impossible."""
    mode = stat.S_IMODE(before.st_mode)
    try:
        os.chown(file, -1, before.st_gid)
    except PermissionError:  # this user is not in that group
        mode &= ~stat.S_IRWXG
    file.chmod(mode)


def _name(connection: duckdb.DuckDBPyConnection) -> str:
    """DuckDB's name of the open warehouse, quoted."""
    ((name,),) = connection.execute("select current_database()").fetchall()
    return '"' + str(name).replace('"', '""') + '"'


@contextmanager
def open_published(path: str | Path, *, patience: float = 30.0) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the newest state of a warehouse that can be read without waiting: its published copy, or the warehouse itself.

    The warehouse itself is opened without a copy, or if it has changed since publication and is not locked.
    Raises WarehouseError as `open_for_reading` does.
    """
    path, copy = Path(path), published(path)
    with ExitStack() as stack:
        if not (path.exists() and copy.exists()):
            connection = stack.enter_context(open_for_reading(path, patience=patience))
        elif path.stat().st_mtime_ns == copy.stat().st_mtime_ns:
            connection = stack.enter_context(open_for_reading(copy, patience=patience))
        else:
            try:
                connection = stack.enter_context(open_for_reading(path, patience=0))
            except Locked:
                connection = stack.enter_context(open_for_reading(copy, patience=patience))
        yield connection
