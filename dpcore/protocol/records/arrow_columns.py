"""Arrow's columns, by their own methods: whoever hands one in has pyarrow, and nobody else needs it.

What an array holds is seen through DLPack, because Arrow's `to_numpy` and numpy's `asarray` load pandas for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from dpcore.errors import InvalidRecord


def as_columns(records: Any) -> Any:
    """Return records whose columns are found by name: a table of Arrow of polars' DataFrame, of DuckDB's relation and the like.

    A mapping, a DataFrame of pandas and a table of Arrow come back as they are.  Raises InvalidRecord without pyarrow.
    """
    if not hasattr(records, "__arrow_c_stream__") or hasattr(records, "iloc") or hasattr(records, "to_pylist"):
        return records
    try:
        table = import_module("pyarrow").table
    except ImportError:
        raise InvalidRecord("records of this kind are read by pyarrow, which is not installed; install it") from None
    return table(records)


def is_arrow(column: Any) -> bool:
    """Return whether a column is an array of Arrow's, in one piece or in chunks."""
    return hasattr(column, "dictionary_encode")


def whole(column: Any) -> Any:
    """Return the array in one piece."""
    if not hasattr(column, "chunks"):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def as_numpy(array: Any) -> np.ndarray:
    """Return an array of numbers in one piece, without nulls, as numpy sees it; not to be written to."""
    return np.from_dlpack(array)
