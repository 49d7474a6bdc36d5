"""Views, macros and comments of the warehouse: created again whenever those of the code differ from those of the file.

In `views.sql` each view has its statement, then comments on columns that no table has.  Other columns inherit the comment of
the column of the same name in the tables that the view reads.  The first line below its name describes a row and becomes the
view's comment.  The `latest_` views of tables, with the rows of current runs, are generated from RESULTS.  Applied migrations
cannot change, so the comments on tables, with which the file begins, replace those of the migrations.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

import duckdb

from dpcore.errors import MigrationError

# Table that a run lands in -> what a row of its view `latest_TABLE` describes.
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
    "associations": "scheme, round, pair of attributes and joint functional or test",
    "regressions": "scheme, round, regression, quantity, category and term",
    "experiments": "scheme, round, label with a control arm, other arm, attribute and outcome",
    "smoothed": "scheme, round, attribute, group and number of a series of three or more rounds",
    "sensitivities": "scheme, round, attribute, estimator, group and number",
    "levels": "scheme, round, attribute, group and level that the level rule examined",
    "budgets": "scheme, round and attribute",
    "rejects": "scheme, round and reason for rejecting reports or records",
    "batches": "scheme, round and file of collected reports",
    "truths": "scheme, round, attribute, group and quantity (and x, for the density) of a simulated population",
    "checks": "scheme, round and check",
    "comparisons": "scheme, round, other run, attribute, group, other group and functional",
    "figures": "scheme, round and picture",
}
_LATEST = """-- one row per {row}, of the current run
create or replace view latest_{table} as
select latest_runs.scheme, latest_runs."round", {table}.*
from {table}
join latest_runs on latest_runs.run_id = {table}.run_id;
"""
_WORD = re.compile(r"[a-z_]+")


@cache
def shipped_views() -> tuple[tuple[str, str], ...]:
    """Return (name, SQL) of the views of this code, each after the views it reads."""
    latest = {f"latest_{table}": _LATEST.format(table=table, row=row) for table, row in RESULTS.items()}
    waiting = latest | {name: sql for name, sql in _statements().items() if _MACRO not in sql}
    ordered: list[tuple[str, str]] = []
    while waiting:
        ready = [name for name, sql in waiting.items() if not set(_WORD.findall(sql)) & (waiting.keys() - {name})]
        if not ready:
            raise MigrationError(f"views {', '.join(sorted(waiting))}: they read each other in a circle")
        ordered += [(name, waiting.pop(name)) for name in sorted(ready)]
    return tuple(ordered)


@cache
def shipped_macros() -> tuple[tuple[str, str], ...]:
    """Return (name, SQL) of the table macros of this code, which may read views."""
    return tuple((name, sql) for name, sql in _statements().items() if _MACRO in sql)


def create_views(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the views and macros, and all comments, in one transaction, unless the file already has those of this code."""
    if _is_current(connection):
        return
    with transaction(connection):
        connection.execute(_table_comments())
        for name, sql in shipped_views():
            connection.execute(sql)
            connection.execute(f"comment on view {name} is {quoted(a_row(sql))}")
        _comment_columns(connection)
        for name, sql in shipped_macros():
            connection.execute(sql)
            connection.execute(f"comment on macro table {name} is {quoted(a_row(sql))}")
        # A macro stores the digest without adding a table.
        connection.execute(f"create or replace macro {_MARK}() as '{_digest()}'")


def a_row(sql: str) -> str:
    """Return the first line of a statement, which describes a row."""
    return sql.split("\n", 1)[0].removeprefix("-- ")


_MARK = "ldpflow_views"
_NAME = "-- name: "  # above each statement of a file
_MACRO = "create or replace macro "


def _table_comments() -> str:
    return (files(__package__) / "views.sql").read_text(encoding="utf-8").split(_NAME, 1)[0]


@cache
def _statements() -> dict[str, str]:
    return named_statements(files(__package__) / "views.sql")


def named_statements(file: Traversable) -> dict[str, str]:
    """Return name -> SQL of a file in which each statement follows a line `-- name: NAME`."""
    _, *texts = file.read_text(encoding="utf-8").split(_NAME)
    named = (text.split("\n", 1) for text in texts)
    return {name: sql.rstrip() + "\n" for name, sql in named}


@cache
def _digest() -> str:
    return hashlib.sha256(repr((shipped_views(), shipped_macros(), _table_comments())).encode()).hexdigest()


def _is_current(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether the file has the views of this code: the digest agrees and no view is missing."""
    try:
        mark = connection.execute(f"select {_MARK}()").fetchone()
    except duckdb.CatalogException:  # a file without views
        return False
    names = {name for (name,) in connection.execute("select view_name from duckdb_views()").fetchall()}
    return (
        mark == (_digest(),)
        and names.issuperset(name for name, _ in shipped_views())
        and all(_is_macro(connection, name) for name, _ in shipped_macros())
    )


def _is_macro(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    """Whether a table macro of this name exists; listing all functions would take as long as opening the file."""
    try:
        connection.execute(f"from {name}()")
    except duckdb.CatalogException:
        return False
    except duckdb.BinderException:  # the macro exists and needs arguments
        pass
    return True


def _comment_columns(connection: duckdb.DuckDBPyConnection) -> None:
    """Give columns of views without a comment that of the same column in the tables and views they read."""
    rows = connection.execute(
        "select table_name, column_name, comment from duckdb_columns() where not internal"
    ).fetchall()
    comments = {(table, column): comment for table, column, comment in rows if comment is not None}
    statements = []
    for view, sql in shipped_views():
        sources = list(dict.fromkeys(word for word in _WORD.findall(sql) if word != view))
        for column in [column for table, column, comment in rows if table == view and comment is None]:
            inherited = next((comments[source, column] for source in sources if (source, column) in comments), None)
            if inherited is not None:
                comments[view, column] = inherited
                statements.append(f'comment on column {view}."{column}" is {quoted(inherited)}')
    connection.execute(";".join(statements))  # one call takes a quarter less time than one call each


@contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Commit at the end of the block, roll back if it raises anything, including an interrupt."""
    connection.execute("begin transaction")
    try:
        yield
    except BaseException:
        connection.execute("rollback")
        raise
    connection.execute("commit")


def one_line(error: BaseException) -> str:
    """Return the first paragraph of DuckDB's message on one line, without the excerpt of the statement."""
    return " ".join(str(error).strip().split("\n\n")[0].split())


def quoted(text: str) -> str:
    """Return a text as an SQL literal.

    >>> quoted("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"
