"""Numbers of records, also in texts."""

from __future__ import annotations

import math
import re
from numbers import Number
from typing import Any

import numpy as np

from dpcore.protocol.records.arrow_columns import as_numpy, is_arrow, whole
from dpcore.protocol.records.category_names import BLANKS, is_missing

_BLANK = rf"[{BLANKS}]*"  # as the client in the browser reads numbers in texts
_NUMERAL = re.compile(rf"{_BLANK}[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?{_BLANK}")


def floats(column: Any) -> np.ndarray:
    """Return numbers, and texts that spell one, as float64, (n,), NaN for no value; raises TypeError for anything else."""
    if is_arrow(column) and not column.null_count and str(column.type) == "double":
        return as_numpy(whole(column))
    values = np.asarray(column)
    if values.dtype.kind == "U":
        values = np.asarray(column, dtype=object)  # numpy's fixed-width texts lose trailing NULs
    if values.dtype.kind in "iuf":
        return values.astype(np.float64).reshape(-1)
    if values.dtype.kind not in "OU":
        raise TypeError
    return np.array([_float(value) for value in values.reshape(-1).tolist()], dtype=np.float64)


def numeral(text: str) -> float | None:
    """Return the number that a text spells, as clients read it; None if it spells none."""
    return float(text.strip(BLANKS)) if _NUMERAL.fullmatch(text) else None


def _float(value: Any) -> float:
    if isinstance(value, str):
        if not _NUMERAL.fullmatch(value):
            raise TypeError
        value = value.strip(BLANKS)
    if isinstance(value, (str, Number)) and not isinstance(value, bool):
        return float(value)  # type: ignore[arg-type]
    if value is None or is_missing(value):
        return math.nan
    raise TypeError
