"""The views and macros of the warehouse: made anew whenever the code's are not the file's.

A view's file holds its statement and, after it, comments on columns that no table has; the other columns take the comment of
the column of the same name in what the view reads.  The first line of a file is what a row is, and becomes the view's comment.
The plain `latest_` views, of the rows of the run that stands, have no files: RESULTS is what they are made of.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.resources import files

import duckdb

from dpcore.errors import MigrationError
from dpcore.results.warehouse.transaction import quoted, transaction

# The tables that a run lands in: what there is one row of in the view `latest_TABLE`.
RESULTS = {
    "schemes": "scheme and round",
    "attributes": "scheme, round and attribute",
    "categories": "scheme, round, categorical attribute and category",
    "labels": "scheme, round, label and category",
    "weights": "scheme, round and attribute whose estimates are weighted",
    "aggregates": "scheme, round, attribute, group, statistic, level and cell",
    "frequencies": "scheme, round, attribute, estimator, group and category",
    "densities": "scheme, round, attribute, estimator, group and grid point",
    "functionals": "scheme, round, attribute, estimator, group and functional",
    "joint": "scheme, round, pair of attributes and cell of their two-way table",
    "associations": "scheme, round, pair of attributes and number or test of both",
    "sensitivities": "scheme, round, attribute, estimator, group and number",
    "levels": "scheme, round, attribute, group and level that the level rule looked at",
    "budgets": "scheme, round and attribute",
    "rejects": "scheme, round and reason for refusing reports or records",
    "batches": "scheme, round and file of collected reports",
    "truths": "scheme, round, attribute, group and quantity (and x, for the density) of simulated people",
    "checks": "scheme, round and check",
    "comparisons": "scheme, round, other run, attribute, group, other group and functional",
    "figures": "scheme, round and picture",
}
_LATEST = """-- one row per {row}, of the run that stands
create or replace view latest_{table} as
select latest_runs.scheme, latest_runs."round", {table}.*
from {table}
join latest_runs on latest_runs.run_id = {table}.run_id;
"""
_WORD = re.compile(r"[a-z_]+")


@cache
def shipped_views() -> tuple[tuple[str, str], ...]:
    """Return (name, SQL) of the views that come with this code, each after those it reads."""
    latest = {f"latest_{table}": _LATEST.format(table=table, row=row) for table, row in RESULTS.items()}
    waiting = latest | _files("views")
    ordered: list[tuple[str, str]] = []
    while waiting:
        ready = [name for name, sql in waiting.items() if not set(_WORD.findall(sql)) & (waiting.keys() - {name})]
        if not ready:
            raise MigrationError(f"views must not read each other in a circle, got {', '.join(sorted(waiting))}")
        ordered += [(name, waiting.pop(name)) for name in sorted(ready)]
    return tuple(ordered)


@cache
def shipped_macros() -> tuple[tuple[str, str], ...]:
    """Return (name, SQL) of the table macros that come with this code; they may read views."""
    return tuple(sorted(_files("macros").items()))


def create_views(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the views and macros, with their comments, unless the file has them already; all in one transaction."""
    if _is_current(connection):
        return
    with transaction(connection):
        for name, sql in shipped_views():
            connection.execute(sql)
            connection.execute(f"comment on view {name} is {quoted(a_row(sql))}")
        _comment_columns(connection)
        for name, sql in shipped_macros():
            connection.execute(sql)
            connection.execute(f"comment on macro table {name} is {quoted(a_row(sql))}")
        # A macro is the one place for a text that is no row of anybody's table.
        connection.execute(f"create or replace macro {_MARK}() as '{_digest()}'")


def a_row(sql: str) -> str:
    """Return the first line of a file: what a row is."""
    return sql.split("\n", 1)[0].removeprefix("-- ")


_MARK = "ldpflow_views"


@cache
def _files(folder: str) -> dict[str, str]:
    entries = (files(__package__) / folder).iterdir()
    return {
        file.name[: -len(".sql")]: file.read_text(encoding="utf-8") for file in entries if file.name.endswith(".sql")
    }


@cache
def _digest() -> str:
    return hashlib.sha256(repr((shipped_views(), shipped_macros())).encode()).hexdigest()


def _is_current(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether the file's views are this code's: marked so, and none has been dropped."""
    try:
        mark = connection.execute(f"select {_MARK}()").fetchone()
    except duckdb.CatalogException:  # there is none
        return False
    names = {name for (name,) in connection.execute("select view_name from duckdb_views()").fetchall()}
    return (
        mark == (_digest(),)
        and names.issuperset(name for name, _ in shipped_views())
        and all(_is_macro(connection, name) for name, _ in shipped_macros())
    )


def _is_macro(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    """Whether there is a table macro of this name; to list all functions takes as long as to open the file."""
    try:
        connection.execute(f"from {name}()")
    except duckdb.CatalogException:
        return False
    except duckdb.BinderException:  # it wants arguments
        pass
    return True


def _comment_columns(connection: duckdb.DuckDBPyConnection) -> None:
    """Give the views' columns that have no comment the one of their name in the tables and views each reads."""
    rows = connection.execute(
        "select table_name, column_name, comment from duckdb_columns() where not internal"
    ).fetchall()
    told = {(table, column): comment for table, column, comment in rows if comment is not None}
    statements = []
    for view, sql in shipped_views():
        sources = list(dict.fromkeys(word for word in _WORD.findall(sql) if word != view))
        for column in [column for table, column, comment in rows if table == view and comment is None]:
            inherited = next((told[source, column] for source in sources if (source, column) in told), None)
            if inherited is not None:
                told[view, column] = inherited
                statements.append(f'comment on column {view}."{column}" is {quoted(inherited)}')
    connection.execute(";".join(statements))  # one by one they take a third longer
