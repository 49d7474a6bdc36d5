"""The published copy of the warehouse, beside it: whoever reads it never waits for a landing, nor a landing for them.

Every landing ends by copying the warehouse and moving the copy into its place.  Whoever has the earlier copy open keeps it as
it was; whoever opens it later sees the round, whole.  Who may read it is said once, by its group and mode, which every later
copy keeps.  The copy bears the time of the warehouse it was made of, so that readers know when somebody wrote there without
publishing, and ask the warehouse itself.
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
from dpcore.results.warehouse.transaction import one_line, quoted, transaction

_FULL, _SHOWN = "No space left on device", 120  # in DuckDB's messages; characters of one


def published(path: str | Path) -> Path:
    """Return the file of a warehouse's published copy: warehouse.published.duckdb beside warehouse.duckdb."""
    path = Path(path)
    return path.with_name(f"{path.stem}.published{path.suffix}")


@contextmanager
def open_to_publish(path: str | Path, *, patience: float = PATIENCE) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the warehouse for one transaction, after which everybody may read what it wrote.

    Raises WarehouseError as `open_for_writing` does, and where the copy cannot be written, though the transaction stands.
    """
    with open_for_writing(path, patience=patience) as connection:
        with transaction(connection):
            yield connection
        _publish(connection, Path(path))


def publish_copy(path: str | Path) -> None:
    """Copy the warehouse as it stands into the published copy, after changes that were written without publishing.

    Raises WarehouseError as `open_for_writing` does, and where the copy cannot be written.
    """
    with open_for_writing(path) as connection:
        _publish(connection, Path(path))


def _publish(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    copy = published(path)
    unfinished = copy.with_name(f".{copy.name}.{os.getpid()}.tmp")
    try:
        unfinished.unlink(missing_ok=True)  # of a process of the same number that was killed here
        connection.execute("checkpoint")  # from here on the file stays as it is until somebody else writes
        connection.execute(f"attach {quoted(str(unfinished))} as published_copy (storage_version '{STORAGE}')")
        if copy.exists():
            _give_to_the_same(unfinished, copy.stat())
        connection.execute(f"copy from database {_name(connection)} to published_copy")
        connection.execute("detach published_copy")
        made = path.stat().st_mtime_ns
        os.utime(unfinished, ns=(made, made))
        os.replace(unfinished, copy)
    except OSError as error:
        raise WarehouseError(f"{copy} could not be written: {error.strerror}") from error
    except duckdb.Error as error:
        if _FULL not in (said := one_line(error)):
            raise
        raise WarehouseError(
            f"what was written to {path} stands, and there is no room for {copy} ({said[:_SHOWN]}); make room: the next "
            "landing writes it, and until then `ldpflow query` asks the warehouse itself"
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)


def _give_to_the_same(file: Path, before: os.stat_result) -> None:
    """Let those read a file, still empty, who may read the copy that it will replace; nobody else where that cannot be."""
    mode = stat.S_IMODE(before.st_mode)
    try:
        os.chown(file, -1, before.st_gid)
    except PermissionError:  # this user is not of that group
        mode &= ~stat.S_IRWXG
    file.chmod(mode)


def _name(connection: duckdb.DuckDBPyConnection) -> str:
    """What DuckDB calls the warehouse that is open, quoted."""
    ((name,),) = connection.execute("select current_database()").fetchall()
    return '"' + str(name).replace('"', '""') + '"'


@contextmanager
def open_published(path: str | Path, *, patience: float = 30.0) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the newest state of a warehouse that can be read without waiting: its published copy, or the warehouse itself.

    The warehouse itself is opened where it has changed since it was published and nobody writes, and where there is no copy.
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
