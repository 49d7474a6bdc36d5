"""The names in files of reports, ids and clients' tokens, by which it is seen that no report is counted twice."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpcore.errors import InvalidReport
from dpcore.protocol.tokens import NAME_BYTES, are_there
from dpcore.wire.files import opened
from dpcore.wire.parquet_reports import names_of, unreadable
from dpcore.wire.parquet_schema import NAMES


def read_names(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the ids and the tokens of the reports in a file, (n, 16) uint8 each, zeros where there is none.

    Raises InvalidReport where it cannot be read or holds something else as names.
    """
    try:
        with opened(path) as source, pq.ParquetFile(source) as file:
            held = [name for name in NAMES if name in file.schema_arrow.names]
            table, n = file.read(held), file.metadata.num_rows
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, error) from None
    if any(table.schema.field(name).type != pa.binary(NAME_BYTES) for name in held):
        raise InvalidReport(f"{path} does not have the columns of a report file; collect it anew")
    names = {name: names_of(pa.concat_arrays(table.column(name).chunks)) for name in held if n}
    ids, tokens = (names.get(name, np.zeros((n, NAME_BYTES), dtype=np.uint8)) for name in NAMES)
    return ids, tokens


def repeated(names: np.ndarray) -> np.ndarray:
    """Return which names, (n, 16) uint8, occur earlier among them, (n,) bool; zeros are no name."""
    words = np.ascontiguousarray(names).view("<u8")
    order = np.lexsort((words[:, 1], words[:, 0]))  # stable: the first of equals comes first
    ordered, again = words[order], np.zeros(len(names), dtype=bool)
    again[order[1:]] = np.all(ordered[1:] == ordered[:-1], axis=1)
    return np.asarray(again & are_there(names))


def first_halves(names: np.ndarray, *, all_of: bool = False) -> np.ndarray:
    """Return the first half of every name that is there, or of all rows, (n,) uint64."""
    return np.ascontiguousarray(names if all_of else names[are_there(names)]).view("<u8")[:, 0].copy()


def twice(ordered: np.ndarray) -> np.ndarray:
    """Return the values that occur more than once among sorted ones, once each, sorted."""
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])


def is_within(values: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """Return which values are among sorted ones, (n,) bool."""
    if not len(ordered):
        return np.zeros(len(values), dtype=bool)
    return np.asarray(ordered[np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)] == values)


def among(names: np.ndarray, others: Iterable[np.ndarray]) -> np.ndarray:
    """Return which names, (n, 16) uint8, are in one of the others, (m, 16) each, (n,) bool; these may be many."""
    halves, is_among = np.ascontiguousarray(names).view("<u8")[:, 0], np.zeros(len(names), dtype=bool)
    ordered = np.sort(halves)
    for other in others:
        theirs = np.ascontiguousarray(other).view("<u8")[:, 0]
        at = np.minimum(np.searchsorted(ordered, theirs), len(ordered) - 1)
        shared = theirs[ordered[at] == theirs] if len(ordered) else theirs[:0]
        if len(shared):
            others_names = set(map(bytes, other[np.isin(theirs, shared)]))
            looked_at = np.flatnonzero(np.isin(halves, shared))
            is_among[looked_at] |= [bytes(names[row]) in others_names for row in looked_at]
    return np.asarray(is_among & are_there(names))
