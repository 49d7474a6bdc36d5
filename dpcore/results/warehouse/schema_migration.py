"""Brings a warehouse file to the tables and views of this code.

Rules: migrations are numbered from 1 without gaps, each a file; older ones are joined in one.  Each is applied in one
transaction together with the row that records it; a new file gets all of them in one transaction.  An applied migration is
never edited.  A file of newer code is rejected, and a database that is not a warehouse is never changed.  Views, macros and
comments have no data and are created again.
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
from dpcore.results.warehouse.views import create_views, one_line, transaction

_NAME = re.compile(r"(\d{4})_([a-z0-9_]+)")
_JOINED = re.compile(r"^-- migration: (\S+)\n", re.MULTILINE)  # above each migration of a file that holds several
_LEDGER = ["version", "name", "sha256", "applied_at"]  # columns of `migrations`, which identify a warehouse


@dataclass(frozen=True)
class Migration:
    """One numbered text of SQL."""

    version: int
    name: str
    sql: str

    @cached_property
    def sha256(self) -> str:
        """Digest of the text with Unix line ends, so that a checkout on Windows has the same digest."""
        return hashlib.sha256(self.sql.replace("\r\n", "\n").encode()).hexdigest()


def read_migrations(folder: Traversable) -> tuple[Migration, ...]:
    """Return the migrations of a folder in order; raises MigrationError unless the numbers are 1, 2, 3, ..."""
    migrations = []
    for file in folder.iterdir():
        if not file.name.endswith(".sql"):
            continue
        text = file.read_text(encoding="utf-8")
        first, *joined = _JOINED.split(text)
        if first and joined:
            raise MigrationError(
                f"{file.name}: text above its first line '-- migration: NAME'; move it below that line or into another file"
            )
        named = zip(joined[::2], joined[1::2], strict=True) if not first else [(file.name.removesuffix(".sql"), text)]
        for name, sql in named:
            match = _NAME.fullmatch(name)
            if match is None:
                raise MigrationError(f"{file.name}: not a migration; its name has to be like 0001_runs.sql")
            migrations.append(Migration(int(match[1]), match[2], sql))
    migrations.sort(key=lambda migration: migration.version)
    versions = [migration.version for migration in migrations]
    if versions != list(range(1, len(migrations) + 1)):
        raise MigrationError(f"migrations: numbers must be 1, 2, 3, ... without gaps or duplicates, got {versions}")
    return tuple(migrations)


@cache
def shipped_migrations() -> tuple[Migration, ...]:
    """Return the migrations of this code."""
    return read_migrations(files(__package__) / "migrations")


def migrate(connection: duckdb.DuckDBPyConnection, migrations: Sequence[Migration] | None = None) -> int:
    """Apply missing migrations, create the views, and return the number of applied migrations.

    connection: open for writing.  migrations: default, those of this code.
    Each migration is one transaction: after a failure, all previous ones are applied.
    Raises WarehouseError for a database with other tables, MigrationError if an applied migration differs from the
    code's, if the file is newer than the code, or if a migration fails.
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
    """Apply all migrations of this code to an empty database in one transaction, without views; it takes half the time."""
    with transaction(connection):
        for migration in shipped_migrations():
            _execute(connection, migration)


def applied_versions(connection: duckdb.DuckDBPyConnection) -> dict[int, tuple[str, str]]:
    """Return version -> (name, sha256) of a warehouse, {} for an empty database; raises WarehouseError for any other."""
    with suppress(duckdb.CatalogException):  # no table `migrations`
        ledger = connection.execute("from migrations")
        if [name for name, *_ in ledger.description or ()] == _LEDGER:
            return {version: (name, sha256) for version, name, sha256, _ in sorted(ledger.fetchall())}
    # After the shortcut, because DuckDB plans every view to list the columns, which takes 30 ms.
    names = connection.execute(
        "select distinct table_name from duckdb_columns() "
        "where not internal and database_name = current_database() order by table_name limit 3"
    ).fetchall()
    if not names:
        return {}
    others = ", ".join(name for (name,) in names)
    raise WarehouseError(
        f"not a warehouse: this DuckDB file has other tables ({others}) and was not changed; name another file"
    )


def check_history(applied: dict[int, tuple[str, str]], expected: Sequence[Migration]) -> None:
    """Raise MigrationError unless the applied migrations are the first of the expected ones."""
    if len(applied) > len(expected):
        raise MigrationError(
            f"warehouse of a newer ldpflow: it has version {max(applied)}, this code supports versions up to "
            f"{len(expected)}; update ldpflow, or name another warehouse file"
        )
    if list(applied) != list(range(1, len(applied) + 1)):
        raise MigrationError(f"warehouse: its migrations must be 1, 2, 3, ..., got {list(applied)}")
    for migration, (name, sha256) in zip(expected, applied.values(), strict=False):
        if migration.sha256 != sha256:
            raise MigrationError(
                f"migration {migration.version} ({name}): its text differs from the one applied to this warehouse; "
                "restore it and add a new migration, or use a new warehouse file"
            )


def _apply(connection: duckdb.DuckDBPyConnection, migration: Migration) -> None:
    try:
        with transaction(connection):
            _execute(connection, migration)
    except duckdb.Error as error:
        raise MigrationError(f"migration {migration.version} ({migration.name}): failed: {one_line(error)}") from error


def _execute(connection: duckdb.DuckDBPyConnection, migration: Migration) -> None:
    connection.execute(migration.sql)
    # The first migration creates the table that records it.
    connection.execute(
        "insert into migrations values (?, ?, ?, ?)",
        [migration.version, migration.name, migration.sha256, datetime.now(UTC).replace(tzinfo=None)],
    )
