"""Brings a warehouse file to the tables and views of this code.

Rules: migrations are numbered files, contiguous from 1, each applied in one transaction together with the row that
records it, or all of them in one where a file is new; an applied migration is never edited; a file written by newer code is
refused; a database that is not a warehouse is never touched.  Views and macros hold no data, so they are simply created anew.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable

import duckdb

from dpcore.errors import MigrationError, WarehouseError
from dpcore.results.warehouse.transaction import one_line, transaction
from dpcore.results.warehouse.views import create_views

_FILE_NAME = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
_LEDGER = ["version", "name", "sha256", "applied_at"]  # columns of `migrations`, by which a warehouse is recognised


@dataclass(frozen=True)
class Migration:
    """One numbered SQL file."""

    version: int
    name: str
    sql: str

    @cached_property
    def sha256(self) -> str:
        """Digest of the text with Unix line ends, so that a checkout on Windows is not an edit."""
        return hashlib.sha256(self.sql.replace("\r\n", "\n").encode()).hexdigest()


def read_migrations(folder: Traversable) -> tuple[Migration, ...]:
    """Return the migrations of a folder in order; MigrationError when the numbers are not 1, 2, 3, ..."""
    migrations = []
    for file in folder.iterdir():
        if not file.name.endswith(".sql"):
            continue
        match = _FILE_NAME.fullmatch(file.name)
        if match is None:
            raise MigrationError(f"a migration is named like 0001_runs.sql, got {file.name}")
        migrations.append(Migration(int(match[1]), match[2], file.read_text(encoding="utf-8")))
    migrations.sort(key=lambda migration: migration.version)
    versions = [migration.version for migration in migrations]
    if versions != list(range(1, len(migrations) + 1)):
        raise MigrationError(f"migrations must be numbered 1, 2, 3, ... without gaps or doubles, got {versions}")
    return tuple(migrations)


@cache
def shipped_migrations() -> tuple[Migration, ...]:
    """Return the migrations that come with this code."""
    return read_migrations(files(__package__) / "migrations")


def migrate(connection: duckdb.DuckDBPyConnection, migrations: Sequence[Migration] | None = None) -> int:
    """Apply what is missing, create the views, and return how many migrations were applied.

    connection: open for writing.  migrations: those of this code unless told otherwise.
    Each migration is one transaction: after a failure the file holds the ones before it, whole.
    Raises WarehouseError for a database with other tables, MigrationError when an applied migration differs from the
    code's, when the file is newer than the code, or when a migration fails.
    """
    expected = shipped_migrations() if migrations is None else tuple(migrations)
    applied = applied_versions(connection)
    check_history(applied, expected)
    pending = expected[len(applied) :]
    for migration in pending:
        _apply(connection, migration)
    if migrations is None:
        create_views(connection)
    return len(pending)


def migrate_anew(connection: duckdb.DuckDBPyConnection) -> None:
    """Apply all migrations of this code to a database that holds nothing, in one transaction: half the time, and no views."""
    with transaction(connection):
        for migration in shipped_migrations():
            _execute(connection, migration)


def applied_versions(connection: duckdb.DuckDBPyConnection) -> dict[int, tuple[str, str]]:
    """Return version -> (name, sha256) of a warehouse, {} of an empty database; WarehouseError for any other."""
    with suppress(duckdb.CatalogException):  # it has no such table
        ledger = connection.execute("from migrations")
        if [name for name, *_ in ledger.description or ()] == _LEDGER:
            return {version: (name, sha256) for version, name, sha256, _ in sorted(ledger.fetchall())}
    # Only now: to list the columns, DuckDB plans every view, 30 ms of each opening.
    names = connection.execute(
        "select distinct table_name from duckdb_columns() "
        "where not internal and database_name = current_database() order by table_name limit 3"
    ).fetchall()
    if not names:
        return {}
    others = ", ".join(name for (name,) in names)
    raise WarehouseError(
        f"this DuckDB file holds other tables ({others}) and is not a warehouse; it was left as it is: name another file"
    )


def check_history(applied: dict[int, tuple[str, str]], expected: Sequence[Migration]) -> None:
    """Raise MigrationError unless what was applied is the beginning of what is expected."""
    if len(applied) > len(expected):
        raise MigrationError(
            f"the warehouse was written by a newer ldpflow: it has version {max(applied)}, this code knows versions up to "
            f"{len(expected)}; update ldpflow, or name another warehouse file"
        )
    if list(applied) != list(range(1, len(applied) + 1)):
        raise MigrationError(f"the warehouse's migrations must be 1, 2, 3, ..., its ledger says {list(applied)}")
    for migration, (name, sha256) in zip(expected, applied.values(), strict=False):
        if migration.sha256 != sha256:
            raise MigrationError(
                f"migration {migration.version} ({name}) was edited after it had been applied to this warehouse: "
                "restore its text and put the change into a new migration, or start a new warehouse file"
            )


def _apply(connection: duckdb.DuckDBPyConnection, migration: Migration) -> None:
    try:
        with transaction(connection):
            _execute(connection, migration)
    except duckdb.Error as error:
        raise MigrationError(f"migration {migration.version} ({migration.name}) failed: {one_line(error)}") from error


def _execute(connection: duckdb.DuckDBPyConnection, migration: Migration) -> None:
    connection.execute(migration.sql)
    # The first migration creates the ledger it is recorded in.
    connection.execute(
        "insert into migrations values (?, ?, ?, ?)",
        [migration.version, migration.name, migration.sha256, datetime.now(UTC).replace(tzinfo=None)],
    )
