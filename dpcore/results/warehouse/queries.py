"""Queries of the warehouse: one read-only statement, as a frame or a file; and counts of rows of Parquet files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from dpcore.errors import WarehouseError
from dpcore.results.warehouse.published_copy import open_published
from dpcore.results.warehouse.views import one_line

if TYPE_CHECKING:  # half a second, and `ldpflow query` needs neither
    import pandas as pd
    import pyarrow as pa

_READS = {
    duckdb.StatementType.SELECT,  # with, from, values, table, describe, show and summarize are selects too
    duckdb.StatementType.EXPLAIN,
    duckdb.StatementType.MULTI,  # pivot, which DuckDB splits in two
}


def query(path: str | Path, sql: str, *, patience: float = 30.0) -> pd.DataFrame:
    """Return the rows of one read-only statement.

    sql: select, with, from, values, table, describe, show, summarize, pivot or explain; other files cannot be read.
    Integers of 64 bits are exact; times are UTC; intervals are Timedeltas.
    Raises WarehouseError, in one line, if the warehouse cannot be read, the SQL has an error, or it is another statement.
    """
    _check_reads(sql)
    with open_published(path, patience=patience) as connection:
        return _to_frame(_relation(connection, sql).to_arrow_table())


def rows(path: str | Path, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the columns and the rows of one read-only statement as Python values; raises WarehouseError as `query` does."""
    _check_reads(sql)
    with open_published(path) as connection:
        relation = _relation(connection, sql)
        if "TIMESTAMP WITH TIME ZONE" in map(str, relation.types):  # DuckDB converts it by pytz, which may be missing
            columns = [column.to_pylist() for column in relation.to_arrow_table().columns]
            return list(relation.columns), list(zip(*columns, strict=True))
        return list(relation.columns), relation.fetchall()


@contextmanager
def reader(path: str | Path) -> Iterator[Callable[[str], pd.DataFrame]]:
    """Open a function from SQL to rows, as in `query`; all results are from one state of the warehouse.

    Raises WarehouseError as `query` does.
    """
    with open_published(path) as connection:

        def ask(sql: str) -> pd.DataFrame:
            _check_reads(sql)
            return _to_frame(_relation(connection, sql).to_arrow_table())

        yield ask


def export(path: str | Path, table: str, file: str | Path) -> None:
    """Write a table or view, sorted by its columns, to a .parquet or .csv file, which is replaced atomically.

    Raises WarehouseError for another suffix, an unknown table, or a folder that does not exist or cannot be written.
    """
    import pyarrow.csv
    import pyarrow.parquet

    file = Path(file)
    if file.suffix not in (".parquet", ".csv"):
        got = (
            f", got a file that ends in {file.suffix!r}" if file.suffix.isascii() and file.suffix[1:].isalpha() else ""
        )
        # The message has no other part of the name, which may be a URL with a password.
        raise WarehouseError(f"export: needs a .parquet or .csv file, or a postgresql:// URL{got}")
    content = whole_table(path, table)
    unfinished = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        if file.suffix == ".parquet":
            pyarrow.parquet.write_table(content, unfinished)
        else:
            pyarrow.csv.write_csv(content, unfinished)
        os.replace(unfinished, file)
    except OSError as error:
        raise WarehouseError(f"{file}: cannot be written: {error.strerror or one_line(error)}") from error
    finally:
        unfinished.unlink(missing_ok=True)


def whole_table(path: str | Path, table: str) -> pa.Table:
    """Return a table or view, sorted by its columns; raises WarehouseError for an unknown one."""
    with open_published(path) as connection:
        names = [name for (name,) in connection.execute("select name from (show tables) order by name").fetchall()]
        if table not in names:
            raise WarehouseError(f"warehouse: no table {table!r}; it has {', '.join(names)}")
        return _relation(connection, f'from "{table}" order by all').to_arrow_table()


def _check_reads(sql: str) -> None:
    try:
        statements = duckdb.extract_statements(sql)
    except duckdb.Error as error:
        raise WarehouseError(one_line(error)) from error
    if len(statements) != 1:
        raise WarehouseError(f"query: needs one statement, got {len(statements)}")
    if statements[0].type not in _READS:
        raise WarehouseError(f"query: needs a read-only statement such as select, got {statements[0].type.name}")


def _relation(connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.DuckDBPyRelation:
    relation = connection.sql(sql)
    if relation is None:
        raise WarehouseError("query: the statement returned no result")
    return relation


def _to_frame(table: pa.Table) -> pd.DataFrame:
    import pyarrow as pa

    columns = [_readable(column) for column in table.columns]
    frame: pd.DataFrame = pa.Table.from_arrays(columns, names=table.column_names).to_pandas()
    return frame


def _readable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    # Sums of integers have 128 bits in DuckDB and would become Decimal objects.
    if pa.types.is_decimal(column.type) and column.type.scale == 0:
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:
            return column
    # Intervals consist of months, days and nanoseconds; differences of times have no months.
    if column.type == pa.month_day_nano_interval():
        parts = column.to_pylist()
        if all(part is None or part.months == 0 for part in parts):
            nanoseconds = [None if part is None else part.days * 86_400 * 10**9 + part.nanoseconds for part in parts]
            return pa.chunked_array([pa.array(nanoseconds, type=pa.duration("ns"))])
    return column


@contextmanager
def counting() -> Iterator[Callable[[Path, Sequence[str]], int]]:
    """Open a function from a file and some of its columns to the number of groups by these columns, on one thread.

    It is the reference for the speed of counting reports.  For a column of lists, whose name ends in `_values`, the first
    element is used.
    """
    with duckdb.connect(config={"threads": 1}) as connection:

        def count_by(file: Path, columns: Sequence[str]) -> int:
            by = [f'"{name}"[1]' if name.endswith("_values") else f'"{name}"' for name in columns]
            rows = connection.execute(
                f"select {', '.join(by)}, count(*) from read_parquet(?) group by all", [str(file)]
            ).fetchall()
            return len(rows)

        yield count_by
