"""Converts frames to rows with the exact types of a table, or names the column with an error.

Tables and columns are defined by the migrations only; this module reads them from an empty warehouse in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import duckdb
import pandas as pd
import pyarrow as pa

from dpcore.errors import WarehouseError
from dpcore.results.warehouse.connection import empty, scratch

_ARROW = {
    "VARCHAR": pa.string(),
    "DOUBLE": pa.float64(),
    "BIGINT": pa.int64(),
    "BOOLEAN": pa.bool_(),
    "TIMESTAMP": pa.timestamp("us"),
}
_IN_WORDS = {
    "VARCHAR": "text",
    "DOUBLE": "numbers",
    "BIGINT": "integers below 2^63",
    "BOOLEAN": "true or false",
    "TIMESTAMP": "times with a time zone",
}


@dataclass(frozen=True)
class Column:
    """A column of a table: its DuckDB type, whether it can be null, and whether it has a default."""

    name: str
    type: str
    is_nullable: bool
    has_default: bool


@cache
def columns(table: str) -> tuple[Column, ...]:
    """Return the columns of a table, in its order."""
    return _catalogue()[table]


@cache
def _catalogue() -> dict[str, tuple[Column, ...]]:
    with scratch() as connection:
        rows = connection.execute(
            "select table_name, column_name, data_type, is_nullable, column_default is not null "
            "from duckdb_columns() where not internal order by table_name, column_index"
        ).fetchall()
    columns: dict[str, tuple[Column, ...]] = {}
    for table, *column in rows:
        columns[table] = (*columns.get(table, ()), Column(*column))
    return columns


def to_rows(table: str, frame: pd.DataFrame) -> pa.Table:
    """Return the frame as an Arrow table with the table's columns, order and types; NaN, NaT and None become nulls.

    Columns with a default may be missing, so that a new column is set in one place only and older rows still land.
    Raises WarehouseError for a missing or unknown column, a value of another type, or a null in a column without nulls.
    """
    expected: Sequence[Column] = columns(table)
    names = [column.name for column in expected]
    if unknown := [str(name) for name in frame.columns if name not in names]:
        raise WarehouseError(f"{table}: no column {', '.join(unknown)}; its columns are {', '.join(names)}")
    expected = [column for column in expected if column.name in frame.columns or not column.has_default]
    if missing := [column.name for column in expected if column.name not in frame.columns]:
        raise WarehouseError(f"{table}: missing column {', '.join(missing)}; got {', '.join(map(str, frame.columns))}")
    if doubled := [column.name for column in expected if isinstance(frame[column.name], pd.DataFrame)]:
        raise WarehouseError(f"{table}: column {', '.join(doubled)} occurs twice")
    return pa.table({column.name: _to_array(table, column, frame[column.name]) for column in expected})


def _to_array(table: str, column: Column, series: pd.Series) -> pa.Array:
    wrong = WarehouseError(f"{table}.{column.name}: needs {_IN_WORDS[column.type]}, got values of another type")
    inferred = pd.api.types.infer_dtype(series, skipna=True)
    # Arrow would convert true to 1 and treat a time without a zone as UTC; both indicate a mistake.
    if inferred == "boolean" and column.type in ("BIGINT", "DOUBLE"):
        raise wrong
    if column.type == "TIMESTAMP":
        series = _to_utc(series, wrong)
    elif isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(object)
    try:
        array = pa.array(series, type=_ARROW[column.type], from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise wrong from None
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if array.null_count and not column.is_nullable:
        raise WarehouseError(f"{table}.{column.name}: must not be null, got {array.null_count} nulls or NaNs")
    return array


def _to_utc(series: pd.Series, wrong: WarehouseError) -> pd.Series:
    if series.isna().all():
        return pd.Series([None] * len(series), dtype=object)
    if not all(getattr(moment, "tzinfo", None) is not None for moment in series.dropna()):
        raise wrong
    return pd.to_datetime(series, utc=True).dt.tz_localize(None).dt.floor("us")


def repeated(connection: duckdb.DuckDBPyConnection, table: str, content: pa.Table) -> str:
    """Return the key of a duplicate row as text, '' if there is none, for tables with nulls in their key (`truths.x`).

    A unique constraint, unlike a primary key, allows repeated nulls.
    """
    names = _nullable_keys().get(table)
    if not names:
        return ""
    listed = ", ".join(f'"{name}"' for name in names)
    connection.register("incoming", content)
    keys = connection.execute(
        f"select {listed} from incoming group by {listed} having count(*) > 1 order by {listed} limit 1"
    ).fetchall()  # all rows, because an unfinished result blocks the connection
    connection.unregister("incoming")
    return ", ".join(map(str, keys[0])) if keys else ""


@cache
def _nullable_keys() -> dict[str, list[str]]:
    rows = empty().execute(
        "select table_name, constraint_column_names from duckdb_constraints() where constraint_type = 'UNIQUE'"
    )
    return dict(rows.fetchall())
