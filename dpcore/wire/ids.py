"""The ids of the reports in files, by which it is seen that none is there twice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpcore.errors import InvalidReport
from dpcore.tokens import NAME_BYTES
from dpcore.wire.codec import names_of
from dpcore.wire.schema import NAMES


def first_halves(path: Path, content: bytes) -> np.ndarray:
    """Return half of each id in a file of reports, (n,) uint64, of those that have one.

    path: where its bytes, `content`, are from.  Raises InvalidReport where they are no Parquet or hold something else as ids.
    """
    return _ids(path, content).view(np.uint64)[:, 0].copy()


def check_ids(files: Sequence[Path], halves: Sequence[np.ndarray]) -> None:
    """Raise InvalidReport where two reports in some files have one id; halves: of each file what `first_halves` returned.

    Files of which half an id is in none of the others are not read again.
    """
    every = np.sort(np.concatenate([np.zeros(0, dtype=np.uint64), *halves]))
    shared = np.unique(every[1:][every[1:] == every[:-1]])
    first: dict[bytes, Path] = {}
    for path, half in zip(files, halves, strict=True):
        if not len(shared) or not np.isin(half, shared).any():
            continue
        names = _ids(path, path.read_bytes())
        for name in map(bytes, names[np.isin(names.view(np.uint64)[:, 0], shared)]):
            if name in first:
                beside = "twice" if first[name] == path else f"that is in {first[name].name}, too"
                raise InvalidReport(f"{path} holds a report {beside}; remove one, or its client counts twice")
            first[name] = path


def _ids(path: Path, content: bytes) -> np.ndarray:
    """The ids that there are, (n, 16) uint8."""
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        if NAMES[0] not in file.schema_arrow.names:
            return np.zeros((0, NAME_BYTES), dtype=np.uint8)
        column = file.read([NAMES[0]]).column(0).combine_chunks()
    except (pa.ArrowException, OSError) as error:
        raise InvalidReport(
            f"{path} cannot be read as Parquet ({type(error).__name__}); it may be cut short: collect it anew"
        ) from None
    if column.type != pa.binary(NAME_BYTES):
        raise InvalidReport(f"{path} does not have the columns of a report file; collect it anew")
    names = names_of(column)
    return names[names.any(axis=1)]
