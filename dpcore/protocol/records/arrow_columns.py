"""Arrow columns, used through their own methods, so that pyarrow is needed only by callers that pass them.

Arrays are viewed through DLPack, because Arrow's `to_numpy` and numpy's `asarray` import pandas.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from dpcore.errors import InvalidRecord


def as_columns(records: Any) -> Any:
    """Return records with columns by name: polars DataFrames, DuckDB relations and the like become Arrow tables.

    Mappings, pandas DataFrames and Arrow tables are returned unchanged.  Raises InvalidRecord without pyarrow.
    """
    if not hasattr(records, "__arrow_c_stream__") or hasattr(records, "iloc") or hasattr(records, "to_pylist"):
        return records
    try:
        table = import_module("pyarrow").table
    except ImportError:
        raise InvalidRecord(
            "records: pyarrow is needed to read this type and is not installed; install pyarrow"
        ) from None
    return table(records)


def is_arrow(column: Any) -> bool:
    """Return whether a column is an Arrow array, chunked or not."""
    return hasattr(column, "dictionary_encode")


def as_list(column: Any) -> list[Any]:
    """Return the values of a column, None for Arrow's nulls."""
    return column.to_pylist() if hasattr(column, "to_pylist") else list(column)


def whole(column: Any) -> Any:
    """Return the array as one chunk."""
    if not hasattr(column, "chunks"):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def as_numpy(array: Any) -> np.ndarray:
    """Return a read-only numpy view of an array of numbers, in one chunk and without nulls."""
    return np.from_dlpack(array)
