"""Opens the warehouse for one purpose and a short time, or an empty one in memory.

With DuckDB, either one process writes a file or several processes read it.  If the file is locked, opening retries at irregular
intervals.  It names the holder of the lock after a second, and again at the timeout.

The lock is DuckDB's own, an operating-system lock on the file: it ends with its process, and uncommitted changes are lost.
DuckDB names the process that holds it; a lock of our own would not know other programs, such as notebooks.  A POSIX lock also
ends when its process closes any other handle to the file, and a second process could then write at the same time.  So this
module never opens a file that this process already has open.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from dpcore.errors import WarehouseError
from dpcore.results.warehouse.schema_migration import (
    applied_versions,
    check_history,
    migrate,
    migrate_anew,
    shipped_migrations,
)
from dpcore.results.warehouse.views import one_line, quoted
from dpcore.wire.locks import attempts

# Extensions are never downloaded; the storage version keeps files readable for DuckDB 1.4 clients.
_OFFLINE: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
STORAGE = "v1.4.0"
_WRITING = _OFFLINE | {"storage_compatibility_version": STORAGE}
# A reader has access to this file only and cannot change settings.
_READING = _OFFLINE | {"enable_external_access": "false", "lock_configuration": "true"}

_MAGIC, _MAGIC_AT = b"DUCK", 8  # after the checksum of the header
_TAKEN = ("Could not set lock", "different configuration")  # by another process; by this process
_DAMAGED = ("Could not read enough bytes", "checksum", "Corrupt", "Failed to deserialize")  # in DuckDB's messages
_HOLDER = re.compile(r"held in (.+? \(PID \d+\))")
PATIENCE = (
    600.0  # seconds that a writer waits: a landing takes 0.1 s, but interactive readers hold the file for minutes
)
_A_MOMENT = 0.1  # seconds between attempts of a thread that waits for another
_one_writer = threading.Lock()  # threads of one process would share the file and conflict
_here: Counter[str] = Counter()  # number of handles of this process to each file
_counting = threading.Lock()
_one_at_a_time = threading.Lock()  # users of the empty warehouse in memory


class Locked(WarehouseError):
    """Another process or thread had the file until the timeout."""


@contextmanager
def open_for_writing(path: str | Path, *, patience: float = PATIENCE) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the warehouse for writing; it is created and migrated if necessary, and closed at the end.

    path: an existing or new DuckDB file.  patience: timeout in seconds if the file is locked.
    There is one writer at a time, across threads and processes; opening it twice in one thread waits until the timeout.
    Raises WarehouseError if the file stays locked (with its holder), is not a DuckDB file, or has other tables;
    MigrationError if it cannot be migrated.  Errors of DuckDB inside the block become WarehouseErrors of one line.
    """
    path = Path(path)
    deadline = time.monotonic() + patience
    for _ in attempts(patience, lambda: f"{path}: another thread of this process is writing; waiting"):
        if _one_writer.acquire(timeout=min(_A_MOMENT, patience)):
            break
    else:
        raise Locked(f"{path}: another thread of this process has been writing for {patience:g} s; try again later")
    try:
        _create_if_missing(path)
        with _connected(path, read_only=False, deadline=deadline) as connection, _in_our_words(path):
            with _named(path):
                migrate(connection)
            yield connection
    finally:
        _one_writer.release()


@contextmanager
def open_for_reading(path: str | Path, *, patience: float = 30.0) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open an existing warehouse read-only; it is closed at the end.

    The connection has access to this file only and cannot change settings.  Times are UTC.
    Raises WarehouseError if the file is missing, locked for longer than `patience` seconds or not a warehouse, and
    MigrationError if newer code wrote it.  Errors of DuckDB inside the block become WarehouseErrors of one line.
    """
    path = Path(path)
    if not path.exists():
        raise WarehouseError(
            f"{path}: no such warehouse; run `ldpflow run` first, or name another file with --warehouse"
        )
    with _connected(path, read_only=True, deadline=time.monotonic() + patience) as connection, _in_our_words(path):
        with _named(path):
            applied = applied_versions(connection)
            if not applied:
                raise WarehouseError("the file has no tables yet; run `ldpflow run` first")
            check_history(applied, shipped_migrations())
        yield connection


def rows_there(path: str | Path, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Return the rows of a query with its values; [] if there is no warehouse.

    A warehouse of older code is migrated first.  Raises WarehouseError and MigrationError as `open_for_writing` does.
    """
    if not Path(path).exists():
        return []
    with open_for_reading(path) as connection:
        if not _is_behind(connection):
            return connection.execute(sql, values).fetchall()
    with open_for_writing(path) as connection:
        return connection.execute(sql, values).fetchall()


def bring_up_to_date(path: str | Path) -> None:
    """Migrate an existing warehouse of older code; one of this version is not changed.

    Raises WarehouseError and MigrationError as `open_for_writing` does.
    """
    with open_for_reading(path) as connection:
        is_behind = _is_behind(connection)
    if is_behind:
        with open_for_writing(path):
            pass


def _is_behind(connection: duckdb.DuckDBPyConnection) -> bool:
    return len(applied_versions(connection)) < len(shipped_migrations())


@contextmanager
def _connected(path: Path, *, read_only: bool, deadline: float) -> Iterator[duckdb.DuckDBPyConnection]:
    """Check the kind of a file and connect to it; a file that this process has open is not checked."""
    file = os.path.realpath(path)
    with _counting:
        if not _here[file]:
            _check_kind(path)
        _here[file] += 1
    try:
        connection = _connect(path, read_only=read_only, deadline=deadline)
        try:
            yield connection
        finally:
            connection.close()
    finally:
        with _counting:
            _here[file] -= 1


def _connect(path: Path, *, read_only: bool, deadline: float) -> duckdb.DuckDBPyConnection:
    cause: duckdb.Error | None = None

    def locked() -> str:
        holder = _HOLDER.search(one_line(cause)) if cause else None
        return f"{path}: locked by {holder[1] if holder else 'a connection of this process'}"

    for _ in attempts(deadline - time.monotonic(), lambda: f"{locked()}; waiting"):
        try:
            return duckdb.connect(str(path), read_only=read_only, config=_READING if read_only else _WRITING)
        except (duckdb.IOException, duckdb.ConnectionException) as error:
            if not any(sign in one_line(error) for sign in _TAKEN):
                raise WarehouseError(f"{path}: cannot be opened: {_explained(error)}") from error
            cause = error
        except duckdb.Error as error:
            raise WarehouseError(f"{path}: cannot be opened: {_explained(error)}") from error
    raise Locked(f"{locked()}; stop it, or try again when it has finished") from cause


def _check_kind(path: Path) -> None:
    """Raise WarehouseError unless the file is a DuckDB file; DuckDB would open a CSV file as a table."""
    try:
        with path.open("rb") as file:
            start = file.read(_MAGIC_AT + len(_MAGIC))
    except FileNotFoundError:
        return
    except OSError as error:
        raise WarehouseError(f"{path}: cannot be opened: {error.strerror}") from error
    if start[_MAGIC_AT:] != _MAGIC:
        kind = "not a DuckDB file" if start else "an empty file, not a DuckDB file"
        raise WarehouseError(f"{path}: {kind}, it was not changed; name another file with --warehouse")


def _create_if_missing(path: Path) -> None:
    """Create the file atomically, because other processes would not recognize an incomplete file."""
    if path.exists():
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.unlink(missing_ok=True)  # left by a killed process with the same number
        copy_empty(draft, STORAGE)
        with duckdb.connect(str(draft), config=_WRITING) as connection:
            migrate(connection)  # the views
        with suppress(PermissionError, NotImplementedError):  # on file systems without links, opening creates the file
            os.link(draft, path)  # unlike a rename, it never replaces a file
    except FileExistsError:
        pass  # another process was first, or the parent is a file, which opening reports
    except (OSError, duckdb.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else one_line(error)
        raise WarehouseError(f"{path}: cannot be created: {reason}") from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


@contextmanager
def _in_our_words(path: Path) -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        raise WarehouseError(f"{path}: {_explained(error)}") from error


def _explained(error: duckdb.Error) -> str:
    message = one_line(error)
    if any(sign in message for sign in _DAMAGED):
        return f"the file is truncated or damaged ({message}); restore a copy, or name another file with --warehouse"
    return message


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except WarehouseError as error:
        raise type(error)(f"{path}: {error}") from error


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
