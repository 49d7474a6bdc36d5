"""Real records from files, by column name, only the columns a scheme asks for.

The reader checks whether a file can be read; the scheme checks whether its values are allowed (`Scheme.encode`).
A CSV row with too few or too many fields is refused, because the last line of a file cut short looks like that.
Truncation goes unnoticed within the last field of a CSV, between two of its lines, and between two JSON lines; Parquet
detects it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpcore.errors import InvalidRecord
from dpcore.populations.dialect import Dialect, ending, resolved
from dpcore.populations.formats import is_text, read_columns
from dpcore.protocol.domain import dates
from dpcore.protocol.records.blocks import BLOCK
from dpcore.protocol.records.category_names import BLANKS, says_nothing
from dpcore.wire.files import location

if TYPE_CHECKING:
    import pandas as pd

    from dpcore.protocol.attribute import Attribute
    from dpcore.protocol.scheme import Scheme

_COMMA = re.compile(r"\s*[-+]?\d+,(\d+)\s*")
_FIRST, _LAST = np.datetime64("0001-01-01"), np.datetime64("10000-01-01")  # Python's calendar
_LAST_OF_ZONES = np.datetime64("2037-01-01")  # Arrow has no summer time after 2037
_THOUSANDS = 3  # digits after a comma that may as well separate thousands


def read_records(path: str | Path, scheme: Scheme, dialect: Dialect = Dialect()) -> pd.DataFrame:
    """Return the records of a file as a frame of the scheme's columns, named as in the file, one row a record.

    path: a file here or at a URL that fsspec knows, of a format that `formats` lists.
    Numeric columns come as float64 with NaN where the file has no value; categorical columns of JSON come as text, those of a
    CSV and texts of a Parquet file as pandas' categories.

    Raises InvalidRecord where the file or a column is missing, cannot be read or is cut short,
    or where a numeric column holds something that is not a number.
    """
    return _frame(pa.concat_tables(read_blocks(path, scheme, dialect=dialect)))


def read_blocks(
    path: str | Path, scheme: Scheme, size: int = BLOCK, *, also: Sequence[str] = (), dialect: Dialect = Dialect()
) -> Iterator[pa.Table]:
    """Yield the same records in tables of exactly `size` rows, the last one the rest; memory holds about one at a time.

    also: columns that the scheme does not ask for, kept as the file has them.  A file without records yields one empty table.
    Raises InvalidRecord as `read_records` does, from the first `next` on; a damaged CSV may show only later.
    """
    path = location(path)
    columns = questions_by_column(scheme)
    first = 0
    for table, decimal in read_tables(path, columns, size, also=also, dialect=dialect):
        for name, asked in columns.items():
            if reads_numbers(asked):
                read = _numbers(table.column(name), asked, path, first, decimal, dialect.zone or "")
                table = table.set_column(table.column_names.index(name), name, read)
        first += table.num_rows
        yield table


def read_tables(
    path: Path, columns: Mapping[str, Sequence[Attribute]], size: int, *, also: Sequence[str] = (), dialect: Dialect
) -> Iterator[tuple[pa.Table, str]]:
    """Yield tables of a file's columns as the file has them, each with the decimal mark of its texts.

    columns: as `questions_by_column` returns them.  Raises InvalidRecord as `read_blocks` does.
    """
    names = {
        name: [spelling for attribute in asked for spelling in (*attribute.categories, *attribute.codes)]
        for name, asked in columns.items()
        if not reads_numbers(asked) and name not in also
    }
    wanted = list(dict.fromkeys([*columns, *also]))
    decimal = dialect.decimal
    for table in read_columns(path, wanted, size, names=names, dialect=dialect):
        if decimal is None:
            numbers = [table.column(name) for name, asked in columns.items() if reads_numbers(asked)]
            decimal = "," if _has_commas(numbers, path, wanted, dialect) else "."
        yield table, decimal


def questions_by_column(scheme: Scheme) -> dict[str, list[Attribute]]:
    """Return the attributes of each column, in the scheme's order; for a joint attribute each side."""
    columns: dict[str, list[Attribute]] = {}
    for attribute in scheme.reported.values():
        for question in attribute.questions:
            columns.setdefault(question.column, []).append(question)
    return columns


def reads_numbers(asked: Sequence[Attribute]) -> bool:
    """Return whether a column holds numbers or dates: all attributes that are asked of it read them."""
    return all(attribute.reads_numbers for attribute in asked)


def _has_commas(columns: Sequence[Any], path: Path, wanted: Sequence[str], dialect: Dialect) -> bool:
    """Whether the comma is the decimal mark: in files that it does not separate, of columns with commas and no points."""
    if ending(path) not in (".csv", ".tsv") or resolved(path, wanted, dialect).delimiter == ",":
        return False
    texts = [text for column in columns for text in pc.unique(column).to_pylist() if text]
    places = {len(match[1]) for text in texts if (match := _COMMA.fullmatch(text))}
    if not places or any("." in text for text in texts):
        return False
    if places == {_THOUSANDS}:
        raise InvalidRecord(
            f"{path}: its commas may be decimal marks or separate thousands; say --decimal , or remove them"
        )
    return True


def _frame(table: pa.Table) -> pd.DataFrame:
    return table.to_pandas(ignore_metadata=True)  # an index a writer kept would hide positions


def _numbers(
    column: pa.ChunkedArray, asked: Sequence[Attribute], path: Path, first: int, decimal: str, zone: str
) -> pa.ChunkedArray | pa.Array:
    """The column as float64 without nulls; refuses what is neither a number nor a missing value, nor a code of one."""
    name = asked[0].column
    try:
        codes = {code for attribute in asked for code in attribute.codes}
        numbers, bad = parsed(column, codes, decimal, calendar=asked[0].calendar, zone=zone)
    except (TypeError, ValueError):
        raise InvalidRecord(f"column {name!r} of {path} must hold numbers, and it holds lists") from None
    if len(bad) and asked[0].is_date:
        remedy = "; write the zone, or say --zone" * (asked[0].calendar == dates.INSTANTS and not zone)
        raise InvalidRecord(
            f"column {name!r} of {path} must hold {dates.EXAMPLES[asked[0].calendar]}; record {first + int(bad[0]) + 1} does "
            f"not ({len(bad)} of its block){remedy}"
        )
    if len(bad):
        raise InvalidRecord(
            f"column {name!r} of {path} must hold numbers, without a thousands separator and with the decimal mark of "
            f"--decimal; record {first + int(bad[0]) + 1} does not ({len(bad)} of its block)"
        )
    return numbers


def parsed(
    column: pa.ChunkedArray, codes: Collection[str], decimal: str, *, calendar: str = "", zone: str = ""
) -> tuple[pa.ChunkedArray | pa.Array, np.ndarray]:
    """Return the numbers of a column as float64, NaN where there is none, and the places of what is no number.

    Words for no value, and the codes, are none and no fault.  calendar: the unit of dates or instants, '' of numbers.
    zone: the time zone of times that do not say theirs; '' for none.  Raises TypeError or ValueError for a column of lists.
    """
    nowhere = np.array([], dtype=np.int64)
    if calendar:
        return _days(column, codes, calendar, zone)
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        numbers = column if column.type == pa.float64() else column.cast(pa.float64(), safe=False)
        return (numbers.fill_null(math.nan) if numbers.null_count else numbers), nowhere
    if pa.types.is_string(column.type):
        if decimal == ",":
            column = pc.replace_substring(column, ",", ".")
        if not codes:
            try:  # Arrow reads what is a number as Python does; anything else is looked at one by one
                numbers = column.cast(pa.float64())
                if numbers.null_count == 0 and pc.all(pc.is_finite(numbers)).as_py():
                    return numbers, nowhere
            except pa.ArrowInvalid:
                pass
        column = pc.utf8_trim(column, BLANKS)
    return _spelled(_frame(pa.table({"x": column}))["x"], codes)


def _days(column: pa.ChunkedArray, codes: Collection[str], calendar: str, zone: str) -> tuple[pa.Array, np.ndarray]:
    """The days since 1970-01-01 in a column of dates, times or texts, as `parsed` returns them; numbers have none."""
    if pa.types.is_temporal(column.type) and calendar == dates.DAYS:
        return column.cast(pa.date32()).cast(pa.int32()).cast(pa.float64()).fill_null(math.nan), np.array([], np.int64)
    coded = column.combine_chunks()
    coded = coded if pa.types.is_dictionary(coded.type) else coded.dictionary_encode()
    numbers = np.append(_days_at_once(coded.dictionary, codes, calendar, zone), math.nan)
    is_bad = np.zeros(len(numbers), dtype=bool)
    for place in np.flatnonzero(np.isnan(numbers[:-1])).tolist():
        value = coded.dictionary[place].as_py()
        try:
            is_silent = value in codes or (isinstance(value, str) and says_nothing(value))
            number = None if is_silent else dates.day_number(value, calendar, zone)
            is_bad[place] = not isinstance(value, (str, date))
        except (TypeError, ValueError):
            is_bad[place] = True
        else:
            numbers[place] = math.nan if number is None or is_bad[place] else number
    places = coded.indices.fill_null(len(numbers) - 1).to_numpy(zero_copy_only=False)
    return pa.array(numbers[places], pa.float64()), np.flatnonzero(is_bad[places])


def _days_at_once(values: pa.Array, codes: Collection[str], calendar: str, zone: str) -> np.ndarray:
    """The days of the values that Arrow reads as `day_number` does; NaN of others, and of all where Arrow refuses one."""
    days = np.full(len(values), math.nan)
    try:
        if is_text(values.type):
            texts = pc.utf8_trim(values, BLANKS)
            is_code = pc.is_in(values, pa.array(list(codes), values.type))
            is_moment = pc.match_substring_regex(texts, f"^(?:{dates.MOMENT.pattern})$")
            texts = pc.if_else(pc.and_not(is_moment, is_code), texts, None)
            if calendar == dates.DAYS:
                values = pc.utf8_slice_codeunits(texts, 0, 10).cast(pa.date32())
            else:
                values = texts.cast(pa.timestamp("us", None if zone else "UTC"))
        elif calendar == dates.DAYS or not pa.types.is_timestamp(values.type):
            return days
        is_local = calendar == dates.INSTANTS and values.type.tz is None
        if is_local:  # raises where the clock skips a time
            values = pc.assume_timezone(values, zone, ambiguous="earliest")
    except pa.ArrowException:
        return days
    moments = values.to_numpy(zero_copy_only=False).astype("datetime64[ms]")
    is_known = (moments >= _FIRST) & (moments < (_LAST_OF_ZONES if is_local else _LAST))
    days[is_known] = moments[is_known].astype(np.int64) / dates.MILLISECONDS
    return days


def _spelled(column: pd.Series, codes: Collection[str]) -> tuple[pa.Array, np.ndarray]:
    """What the texts of a column say, and whatever else may be a number, as `parsed` returns them."""
    import pandas as pd

    # Through text, because pandas would make nanoseconds of a date.
    numbers = pd.to_numeric(column.astype("str"), errors="coerce").astype("float64")
    words = column[np.isinf(numbers)].astype("str").str.contains("i", case=False)  # not digits beyond doubles
    numbers[words.index[words]] = np.nan
    is_silent = column.astype("str").isin(list(codes))
    numbers[is_silent] = np.nan
    doubtful = column[numbers.isna() & column.notna() & ~is_silent]
    bad = doubtful.index[~doubtful.astype(str).map(says_nothing).astype(bool)]
    return pa.array(numbers.to_numpy(), pa.float64()), bad.to_numpy()
