"""Opens the warehouse: late, for one purpose, and for a short time.

DuckDB lets one process write a file while nobody reads it, or many read it while nobody writes.  So whoever finds the
file taken waits, at irregular intervals, says for whom after a second, and again when patience ends.

The lock is DuckDB's own, one of the operating system on the file itself: it ends with the process that holds it, and what
that had not committed is not there.  DuckDB names the process that has it, whoever that is: a lock of ours beside it would
know writers of ours alone, and not the notebook for which they all wait.  But it is a lock of POSIX's, which ends, too, when
its process closes any other handle to the file: a second process could then write beside the first.  So nothing here opens a
file that this process has open.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb

from dpcore.errors import WarehouseError
from dpcore.results.warehouse.in_memory import copy_empty
from dpcore.results.warehouse.migrate import applied_versions, check_history, migrate, shipped_migrations
from dpcore.results.warehouse.transaction import one_line
from dpcore.wire.locks import attempts

# The network is never asked for an extension; the storage version keeps files readable by DuckDB 1.4 clients.
_OFFLINE: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
STORAGE = "v1.4.0"
_WRITING = _OFFLINE | {"storage_compatibility_version": STORAGE}
# A reader reads this one file: no other files, no settings.
_READING = _OFFLINE | {"enable_external_access": "false", "lock_configuration": "true"}

_MAGIC, _MAGIC_AT = b"DUCK", 8  # after the checksum of the header
_TAKEN = ("Could not set lock", "different configuration")  # by another process; by this process
_DAMAGED = ("Could not read enough bytes", "checksum", "Corrupt", "Failed to deserialize")  # in DuckDB's messages
_HOLDER = re.compile(r"held in (.+? \(PID \d+\))")
PATIENCE = (
    600.0  # seconds that who writes waits: a landing takes 0.1 s, but people who look at a warehouse take minutes
)
_A_MOMENT = 0.1  # seconds between two looks of a thread that waits for another
_one_writer = threading.Lock()  # threads of one process would share the file and collide row by row
_here: Counter[str] = Counter()  # how often this process has each file open, or is about to
_counting = threading.Lock()


class Locked(WarehouseError):
    """Somebody else has the file, and had it until patience ended."""


@contextmanager
def open_for_writing(path: str | Path, *, patience: float = PATIENCE) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the warehouse for writing, created with its folders and migrated where needed; closed at the end.

    path: a DuckDB file, or the name of one to be.  patience: seconds to wait for others to let go of it.
    Only one writer at a time, across threads and processes; opening it twice in one thread waits for itself.
    Raises WarehouseError when the file stays locked (naming the holder), is not a DuckDB file, or holds other tables;
    MigrationError when it cannot be migrated.  Errors of DuckDB inside the block become WarehouseErrors of one line.
    """
    path = Path(path)
    deadline = time.monotonic() + patience
    for _ in attempts(patience, lambda: f"{path} is being written by another thread of this process; waiting for it"):
        if _one_writer.acquire(timeout=min(_A_MOMENT, patience)):
            break
    else:
        raise Locked(f"another thread of this process has been writing {path} for {patience:g} s; try again later")
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
    """Open an existing warehouse for reading only; closed at the end.

    The connection sees this file and no other, and cannot change settings.  Times are UTC.
    Raises WarehouseError when the file is missing, locked for longer than `patience` seconds or not a warehouse, and
    MigrationError when newer code wrote it.  Errors of DuckDB inside the block become WarehouseErrors of one line.
    """
    path = Path(path)
    if not path.exists():
        raise WarehouseError(f"no warehouse at {path}: run `ldpflow run` first, or name another file with --warehouse")
    with _connected(path, read_only=True, deadline=time.monotonic() + patience) as connection, _in_our_words(path):
        with _named(path):
            applied = applied_versions(connection)
            if not applied:
                raise WarehouseError("the file holds no tables yet: run `ldpflow run` first")
            check_history(applied, shipped_migrations())
        yield connection


def rows_there(path: str | Path, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Return the rows of a query with its values, of what is about to land there: none where there is no warehouse.

    One that older code wrote is brought up to date first.  Raises WarehouseError and MigrationError as the two openings do.
    """
    if not Path(path).exists():
        return []
    with open_for_reading(path) as connection:
        if not _is_behind(connection):
            return connection.execute(sql, values).fetchall()
    with open_for_writing(path) as connection:
        return connection.execute(sql, values).fetchall()


def bring_up_to_date(path: str | Path) -> None:
    """Migrate an existing warehouse that older code wrote, as its next landing would; one of this version is not touched.

    Raises WarehouseError and MigrationError as the two openings do.
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
    """Look at a file and connect to it; one that this process has open, or is about to, is not looked at."""
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
        return f"{path} is locked by {holder[1] if holder else 'a connection of this process'}"

    for _ in attempts(deadline - time.monotonic(), lambda: f"{locked()}; waiting for it"):
        try:
            return duckdb.connect(str(path), read_only=read_only, config=_READING if read_only else _WRITING)
        except (duckdb.IOException, duckdb.ConnectionException) as error:
            if not any(sign in one_line(error) for sign in _TAKEN):
                raise WarehouseError(f"{path} could not be opened: {_told(error)}") from error
            cause = error
        except duckdb.Error as error:
            raise WarehouseError(f"{path} could not be opened: {_told(error)}") from error
    raise Locked(f"{locked()}; end it, or try again when it has finished") from cause


def _check_kind(path: Path) -> None:
    """Refuse what is not a DuckDB file: DuckDB itself would open a CSV file and show it as a table."""
    try:
        with path.open("rb") as file:
            start = file.read(_MAGIC_AT + len(_MAGIC))
    except FileNotFoundError:
        return
    except OSError as error:
        raise WarehouseError(f"{path} could not be opened: {error.strerror}") from error
    if start[_MAGIC_AT:] != _MAGIC:
        kind = "not a DuckDB file" if start else "an empty file, not a DuckDB file,"
        raise WarehouseError(f"{path} is {kind} and was left as it is; name another file with --warehouse")


def _create_if_missing(path: Path) -> None:
    """Make the file appear whole: one that is being created looks like no DuckDB file to everybody else."""
    if path.exists():
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.unlink(missing_ok=True)  # of a process of the same number that was killed here
        copy_empty(draft, STORAGE)
        with duckdb.connect(str(draft), config=_WRITING) as connection:
            migrate(connection)  # the views
        with suppress(PermissionError, NotImplementedError):  # file systems without links: opening will create it
            os.link(draft, path)  # unlike a rename, never over another's file
    except FileExistsError:
        pass  # another process was first; or the parent is a file, which opening will say
    except (OSError, duckdb.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else one_line(error)
        raise WarehouseError(f"{path} could not be created: {reason}") from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


@contextmanager
def _in_our_words(path: Path) -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        raise WarehouseError(f"{path}: {_told(error)}") from error


def _told(error: duckdb.Error) -> str:
    message = one_line(error)
    if any(sign in message for sign in _DAMAGED):
        return f"the file is cut short or damaged ({message}); put back a copy, or name another file with --warehouse"
    return message


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except WarehouseError as error:
        raise type(error)(f"{path}: {error}") from error
