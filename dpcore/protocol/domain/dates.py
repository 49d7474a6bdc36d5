"""Dates as numbers: a `date` attribute is numeric, in days since 1970-01-01, as its unit says."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Collection
from typing import Any

import numpy as np

from dpcore.errors import SchemeError
from dpcore.protocol.records.arrow_columns import is_arrow
from dpcore.protocol.records.category_names import BLANKS, is_missing

DAYS = "days since 1970-01-01"  # the unit, in the words of the CF conventions
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = r"[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:Z|[-+][0-9]{2}:?[0-9]{2})?"
_MOMENT = re.compile(rf"({_DATE.pattern})(?:{_TIME})?")  # as the browser's client reads it
_STEP = re.compile(r"([0-9]{1,5}) days?")


def day_number(value: Any) -> float | None:
    """Return the days since 1970-01-01 of a date, a time of day left out; None where there is none.

    value: a date or a time, of the time zone that it names, or a text such as 2026-11-27 or
    2026-11-27T12:00:00+01:00; or a number of days.
    Raises ValueError for a text that is no date and TypeError for another type.
    """
    if is_missing(value):
        return None
    if isinstance(value, datetime.date):  # and so a datetime, and a Timestamp of pandas
        return float(datetime.date(value.year, value.month, value.day).toordinal() - _EPOCH)
    if isinstance(value, str):
        match = _MOMENT.fullmatch(value.strip(BLANKS))
        if match is None:
            raise ValueError("no date")
        return float(datetime.date.fromisoformat(match[1]).toordinal() - _EPOCH)
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return float(value)
    raise TypeError


def day_numbers(column: Any, codes: Collection[str] = ()) -> Any:
    """Return a column of dates as days since 1970-01-01, (n,), None where there is none.

    codes: texts that stay as they are.  Raises ValueError or TypeError where a value is no date.
    """
    if is_arrow(column):
        if str(column.type) == "double":
            return column
        is_time = str(column.type).startswith(("date", "timestamp"))
        column = column.cast("date32").to_pylist() if is_time else column.to_pylist()
    values = np.asarray(column)
    if values.dtype.kind == "M":
        days = values.astype("datetime64[D]")
        return np.where(np.isnat(days), np.nan, days.astype(np.int64).astype(np.float64))
    if values.dtype.kind in "iuf":
        return column
    listed = np.asarray(column, dtype=object).reshape(-1).tolist()
    return [value if isinstance(value, str) and value in codes else day_number(value) for value in listed]


def date_text(days: float) -> str:
    """Return the date that a number of days since 1970-01-01 lies in, such as 2026-11-27; '–' beyond the calendar."""
    try:
        return datetime.date.fromordinal(_EPOCH + math.floor(days)).isoformat()
    except (OverflowError, ValueError):
        return "–"


def bound(where: str, value: Any) -> int:
    """Return a bound of a scheme as days; raises SchemeError, which names it, where it is no date."""
    try:
        if isinstance(value, (datetime.date, str)) and not isinstance(value, datetime.datetime):
            number = day_number(value)
            if number is not None:
                return int(number)
    except ValueError:
        pass
    raise SchemeError(f"{where} must be a date, such as 2026-01-31, got {str(value)[:40]!r}")


def step(where: str, value: Any) -> int:
    """Return a step of a scheme in days; raises SchemeError, which names it, where it is none."""
    match = _STEP.fullmatch(value) if isinstance(value, str) else None
    if match is None or int(match[1]) == 0:
        raise SchemeError(f'{where} must be a number of days, such as "1 day" or "7 days", got {str(value)[:40]!r}')
    return int(match[1])


def in_days(functional: str) -> str:
    """Return the name of a functional with its dates as days.

    >>> in_days("cdf(2026-01-31)")
    'cdf(20484)'
    """
    return _DATE.sub(lambda match: f"{day_number(match[0]):.0f}", functional)
