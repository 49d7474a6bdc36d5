"""The catalogue of tables, views and macros as Markdown, from the comments in the warehouse.

It is the page `data/guide/reference/tables.md`, without its beginning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import duckdb

from dpcore.results.warehouse.schema_migration import migrate, shipped_migrations
from dpcore.results.warehouse.views import a_row, shipped_macros, shipped_views


def catalogue() -> str:
    """Return all tables with their columns, views and macros, with a description of their rows."""
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        migrate(connection)
        rows = connection.execute(
            "select table_name, column_name, data_type, comment from duckdb_columns() where not internal "
            "order by table_name, column_index"
        ).fetchall()
        grains = dict(connection.execute("select table_name, comment from duckdb_tables()").fetchall())
        signatures = dict(
            connection.execute(
                "select function_name, array_to_string(parameters, ', ') from duckdb_functions() where not internal"
            ).fetchall()
        )
        results = {name: _columns_of(connection, name, signatures[name]) for name, _ in shipped_macros()}
    columns: dict[str, list[tuple[str, str, str]]] = {}
    for table, *column in rows:
        columns.setdefault(table, []).append(tuple(column))
    tables = list(dict.fromkeys(table for _, table in _order(grains)))
    views = dict(sorted((name, a_row(sql)) for name, sql in shipped_views()))
    plain = {f"latest_{table}" for table in tables} & views.keys()
    parts = ["## Tables"]
    parts += [_described(name, grains[name], columns[name]) for name in tables]
    parts += ["## Views", "A `latest_` view has the columns of its table, with `scheme` and `round` before them:"]
    parts += [_table(("view", "one row per"), [(f"`{name}`", _grain(views[name])) for name in views if name in plain])]
    parts += [_described(name, views[name], columns[name]) for name in views if name not in plain]
    parts += ["## Macros", "Query them like tables: `from share_between('income', 0, 50000)`."]
    macros = [(f"`{name}({signatures[name]})`", _grain(a_row(sql)), results[name]) for name, sql in shipped_macros()]
    parts += [_table(("macro", "one row per", "columns"), macros)]
    return "\n\n".join(parts)


def _order(grains: dict[str, str]) -> list[tuple[int, str]]:
    """The tables in the order of their migrations; the table `migrations` is last."""
    created = [
        (migration.version, name)
        for migration in shipped_migrations()
        for name in re.findall(r"^create table (\w+)", migration.sql, re.M)
    ]
    return sorted((version if name != "migrations" else len(grains) + version, name) for version, name in created)


def _columns_of(connection: duckdb.DuckDBPyConnection, macro: str, signature: str) -> str:
    nothing = ", null" * signature.count(",")
    described = connection.execute(f"describe from {macro}(''{nothing})").fetchall()
    return ", ".join(f"`{column[0]}`" for column in described)


def _described(name: str, grain: str, columns: list[tuple[str, str, str]]) -> str:
    rows = [(f"`{column}`", kind.lower(), comment) for column, kind, comment in columns]
    return f"**`{name}`**: {grain}\n\n" + _table(("column", "type", "description"), rows)


def _grain(first_line: str) -> str:
    return first_line.removeprefix("one row per ")


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
