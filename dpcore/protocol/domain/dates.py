"""Dates and times as numbers: both are numeric attributes in days since 1970-01-01, as their units say.

A `date` ignores the time of day and its zone; a `datetime` is an instant and needs a zone.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Collection
from fractions import Fraction
from typing import Any

import numpy as np

from dpcore.errors import SchemeError
from dpcore.protocol.records.arrow_columns import is_arrow
from dpcore.protocol.records.category_names import BLANKS, is_missing

DAYS = "days since 1970-01-01"  # the unit of a date, as in the CF conventions
INSTANTS = "days since 1970-01-01 00:00 UTC"  # the unit of a datetime
SUFFIXES = {DAYS: "", INSTANTS: "UTC"}  # what is written after a date or time of the unit
EXAMPLES = {DAYS: "dates such as 2026-01-31", INSTANTS: "times with their zone such as 2026-01-31T12:00Z"}
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_START = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MILLISECONDS = 86_400_000  # of a day
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?"
_ZONE = r"(?:Z|[-+](?:[01][0-9]|2[0-3]):?[0-5][0-9])"
MOMENT = re.compile(rf"({_DATE})(?:{_TIME}{_ZONE}?)?")  # as the browser's client reads it
_STEP = re.compile(r"([0-9]{1,5}) (day|hour|minute)s?")
_STEPS_OF_A_DAY = {"day": 1, "hour": 24, "minute": 24 * 60}


def day_number(value: Any, unit: str = DAYS, zone: str = "") -> float | None:
    """Return a date or time as days since 1970-01-01, a time with its fraction of a day; None for no value.

    value: a date or a time, a text such as 2026-11-27 or 2026-11-27T12:00:00+01:00, or a number of days.
    unit: DAYS, which ignores the time of day, or INSTANTS, with the resolution of a millisecond in UTC.
    zone: the time zone of times without one.
    Raises ValueError for a text that is neither date nor time or has no zone, and TypeError for another type.
    """
    if is_missing(value):
        return None
    if isinstance(value, str):
        value = _moment(value, unit)
    if isinstance(value, datetime.date):  # and so a datetime, and a Timestamp of pandas
        return float(_days(value, unit, zone))
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return float(value)
    raise TypeError


def _moment(text: str, unit: str) -> datetime.date:
    """The date or time that a text spells; raises ValueError if it spells none."""
    match = MOMENT.fullmatch(text.strip(BLANKS))
    if match is None:
        raise ValueError("no date")
    return datetime.date.fromisoformat(match[1]) if unit == DAYS else datetime.datetime.fromisoformat(match[0])


def _days(value: datetime.date, unit: str, zone: str = "") -> Fraction | int:
    """The days since 1970-01-01 of a date or, for INSTANTS, of a time, rounded down to a millisecond."""
    if unit == DAYS:
        return datetime.date(value.year, value.month, value.day).toordinal() - _EPOCH
    if not isinstance(value, datetime.datetime) or not (value.tzinfo or zone):
        raise ValueError("no time zone")
    if value.tzinfo is None:
        from zoneinfo import ZoneInfo  # a client may not have it installed

        value = value.replace(tzinfo=ZoneInfo(zone))
    return Fraction((value - _START) // datetime.timedelta(milliseconds=1), MILLISECONDS)


def day_numbers(column: Any, unit: str, codes: Collection[str] = ()) -> Any:
    """Return a column of dates or times as days since 1970-01-01, (n,), None for no value.

    unit: as in `day_number`.  codes: texts that are not converted.  Raises ValueError or TypeError for any other value.
    """
    if is_arrow(column):
        if str(column.type) == "double":
            return column
        is_day = unit == DAYS and str(column.type).startswith(("date", "timestamp"))
        column = column.cast("date32").to_pylist() if is_day else column.to_pylist()
    values = np.asarray(column)
    if values.dtype.kind == "M" and unit == DAYS:
        days = values.astype("datetime64[D]")
        return np.where(np.isnat(days), np.nan, days.astype(np.int64).astype(np.float64))
    if values.dtype.kind in "iuf":
        return column
    listed = np.asarray(column, dtype=object).reshape(-1).tolist()
    return [value if isinstance(value, str) and value in codes else day_number(value, unit) for value in listed]


def date_text(days: float, unit: str = DAYS) -> str:
    """Return a number of days since 1970-01-01 as a date such as 2026-11-27; '–' outside the calendar.

    An instant is shown with its time in UTC to the minute, as in 2026-11-27 13:05.
    """
    try:
        if unit == DAYS:
            return datetime.date.fromordinal(_EPOCH + math.floor(days)).isoformat()
        return f"{_START + datetime.timedelta(minutes=round(days * 24 * 60)):%Y-%m-%d %H:%M}"
    except (OverflowError, ValueError):
        return "–"


def bound(where: str, value: Any, unit: str) -> Fraction | int:
    """Return a bound of a scheme in days; raises SchemeError, which names the key, if it is no date or time."""
    try:
        moment = _moment(value, unit) if isinstance(value, str) else value
        if isinstance(moment, datetime.date) and isinstance(moment, datetime.datetime) == (unit == INSTANTS):
            return _days(moment, unit)
    except ValueError:
        pass
    example = "a date, such as 2026-01-31" if unit == DAYS else "a time with its zone, such as 2026-01-31T12:00:00Z"
    raise SchemeError(f"{where} must be {example}, got {str(value)[:40]!r}")


def step(where: str, value: Any, unit: str) -> Fraction:
    """Return a step of a scheme in days; raises SchemeError, which names the key, if it is no step."""
    match = _STEP.fullmatch(value) if isinstance(value, str) else None
    if match is None or int(match[1]) == 0 or (unit == DAYS and match[2] != "day"):
        kinds = 'days, such as "1 day" or "7 days"' if unit == DAYS else 'days, hours or minutes, such as "15 minutes"'
        raise SchemeError(f"{where} must be a number of {kinds}, got {str(value)[:40]!r}")
    return Fraction(int(match[1]), _STEPS_OF_A_DAY[match[2]])


def in_days(functional: str, unit: str) -> str:
    """Return the name of a functional with its dates or times as days.

    >>> in_days("cdf(2026-01-31)", DAYS)
    'cdf(20484)'
    """
    return MOMENT.sub(lambda match: f"{day_number(match[0], unit):.15g}", functional)
