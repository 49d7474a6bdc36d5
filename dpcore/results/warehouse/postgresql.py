"""Writes a table or view to PostgreSQL in one transaction, with its types.

Rule 1.  An export replaces the table of an earlier export, identified by its comment.  With the same columns only the rows are
replaced, so that views and permissions remain; otherwise the table is.  Other tables and views are never replaced.
Rule 2.  The URL may contain a password, so no message contains any part of it.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pyarrow as pa

from dpcore.errors import WarehouseError
from dpcore.results.warehouse.queries import whole_table
from dpcore.results.warehouse.views import one_line

SCHEMES = ("postgresql://", "postgres://")
_EXPORT_COMMENT = "made by ldpflow export, which replaces it"  # comment that identifies exported tables
_PATIENCE = 30.0  # timeout of the connection, seconds
_ROWS = 8192  # rows converted at a time
_TIME = pa.timestamp("us", tz="UTC")
_TYPES: dict[pa.DataType, str] = {
    pa.bool_(): "boolean",
    pa.int8(): "smallint",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.string(): "text",
    pa.date32(): "date",
    _TIME: "timestamp with time zone",
}
_STANDING = """
    select obj_description(c.oid, 'pg_class'), array(
        select array[attname, format_type(atttypid, atttypmod)] from pg_attribute
        where attrelid = c.oid and attnum > 0 and not attisdropped order by attnum
    )
    from pg_class c where c.relnamespace = $1::regnamespace and c.relname = $2
"""


def export_to_postgresql(path: str | Path, table: str, url: str) -> tuple[int, str]:
    """Write a table or view to a table of the same name, and return the number of rows and the database's name.

    url: postgresql://USER@HOST:PORT/DATABASE, as for libpq; missing parts come from PGPASSWORD, ~/.pgpass and so on.
    Times (UTC) become timestamps with a time zone, 128-bit integers become numerics.
    Raises WarehouseError, with nothing changed, for an unknown table, for a table that no export created, and for errors of
    PostgreSQL.
    """
    content = whole_table(path, table)
    columns = [content.column(name) for name in content.column_names]
    content = pa.table([_in_utc(column) for column in columns], names=content.column_names)
    try:
        return asyncio.run(_write(url, table, content))
    except asyncpg.PostgresError as error:
        raise WarehouseError(f"PostgreSQL: rejected the export, nothing was changed: {one_line(error)}") from None
    except (OSError, TimeoutError) as error:
        if isinstance(error, socket.gaierror):
            reason = "unknown host name"
        else:
            reason = os.strerror(error.errno) if error.errno else "no answer"
        raise WarehouseError(f"PostgreSQL: no connection ({reason}); check the host and port of the URL") from None
    except (ValueError, asyncpg.InterfaceError):
        raise WarehouseError(
            "PostgreSQL: not a valid URL; use postgresql://USER@HOST:PORT/DATABASE, with %40 for @ in a name"
        ) from None


async def _write(url: str, table: str, content: pa.Table) -> tuple[int, str]:
    connection = await asyncpg.connect(url, timeout=_PATIENCE)
    try:
        async with connection.transaction():
            await connection.execute("select pg_advisory_xact_lock(hashtext('ldpflow export'))")
            schema, database = await connection.fetchrow("select current_schema(), current_database()")
            if schema is None:
                raise WarehouseError(f"{database}: this user can write to no schema; add ?search_path=SCHEMA")
            await _make_room(connection, schema, table, [[field.name, _type(table, field)] for field in content.schema])
            await connection.copy_records_to_table(
                table, schema_name=schema, columns=content.column_names, records=_records(content)
            )
        return content.num_rows, str(database)
    finally:
        await connection.close(timeout=_PATIENCE)


async def _make_room(connection: Any, schema: str, table: str, columns: list[list[str]]) -> None:
    """Create or empty the table with these columns, each a name and a type."""
    name = f"{_quoted(schema)}.{_quoted(table)}"
    standing = await connection.fetchrow(_STANDING, _quoted(schema), table)
    if standing is not None:
        comment, existing = standing
        if comment != _EXPORT_COMMENT:
            raise WarehouseError(f"{name}: exists and is not from an export; rename it, or add ?search_path=SCHEMA")
        if existing == columns:
            await connection.execute(f"delete from {name}")  # other sessions see the old rows until the commit
            return
        await connection.execute(f"drop table {name}")
    definitions = ", ".join(f"{_quoted(column)} {kind}" for column, kind in columns)
    await connection.execute(f"create table {name} ({definitions})")
    await connection.execute(f"comment on table {name} is '{_EXPORT_COMMENT}'")


def _records(content: pa.Table) -> Iterator[tuple[Any, ...]]:
    for batch in content.to_batches(max_chunksize=_ROWS):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _in_utc(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(_TIME) if pa.types.is_timestamp(column.type) else column


def _type(table: str, field: pa.Field) -> str:
    if pa.types.is_decimal(field.type):
        return f"numeric({field.type.precision},{field.type.scale})"
    if (kind := _TYPES.get(field.type)) is None:
        raise WarehouseError(f"{table}.{field.name}: type {field.type} cannot be exported to PostgreSQL")
    return kind


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
