"""Real records from files, by column name, only the columns a scheme asks for.

The reader says whether a file can be read; whether its values are allowed is the scheme's business (`Scheme.encode`).
A CSV row with too few or too many fields is refused, because the last line of a file cut short looks like that.
A CSV cut within its last field, or between two lines, cannot be told from a whole one; nor can JSON lines cut between
two; Parquet knows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from dpcore.errors import InvalidRecord
from dpcore.populations.formats import Dialect, ending, read_columns, resolved
from dpcore.protocol.blocks import BLOCK
from dpcore.protocol.names import BLANKS, says_nothing
from dpcore.wire.files import location

if TYPE_CHECKING:
    import pandas as pd

    from dpcore.protocol.scheme import Scheme

_COMMA = re.compile(r"\s*[-+]?\d+,(\d+)\s*")
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
    questions = [question for attribute in scheme.reported.values() for question in attribute.questions]
    columns = {
        name: [question for question in questions if question.column == name]
        for name in dict.fromkeys(question.column for question in questions)
    }
    numbers = {name for name, asked in columns.items() if all(attribute.reads_numbers for attribute in asked)}
    names = {
        name: [spelling for attribute in asked for spelling in (*attribute.categories, *attribute.codes)]
        for name, asked in columns.items()
        if name not in numbers and name not in also
    }
    wanted = list(dict.fromkeys([*columns, *also]))
    first = 0
    decimal = dialect.decimal
    for table in read_columns(path, wanted, size, names=names, dialect=dialect):
        if decimal is None:
            found = [table.column(name) for name in numbers]
            decimal = "," if _has_commas(found, path, wanted, dialect) else "."
        for name in numbers:
            codes = {code for attribute in columns[name] for code in attribute.codes}
            read = _numbers(table.column(name), name, codes, path, first, decimal)
            table = table.set_column(table.column_names.index(name), name, read)
        first += table.num_rows
        yield table


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
    column: pa.ChunkedArray, name: str, codes: Collection[str], path: Path, first: int, decimal: str
) -> pa.ChunkedArray | pa.Array:
    """The column as float64 without nulls; refuses what is neither a number nor a missing value, nor a code of one."""
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        numbers = column if column.type == pa.float64() else column.cast(pa.float64(), safe=False)
        return numbers.fill_null(math.nan) if numbers.null_count else numbers
    if pa.types.is_string(column.type):
        if decimal == ",":
            column = pc.replace_substring(column, ",", ".")
        if not codes:
            try:  # Arrow reads what is a number as Python does; anything else is looked at one by one
                numbers = column.cast(pa.float64())
                if numbers.null_count == 0 and pc.all(pc.is_finite(numbers)).as_py():
                    return numbers
            except pa.ArrowInvalid:
                pass
        column = pc.utf8_trim(column, BLANKS)
    return pa.array(_spelled(_frame(pa.table({name: column}))[name], name, codes, path, first), pa.float64())


def _spelled(column: pd.Series, name: str, codes: Collection[str], path: Path, first: int) -> Any:
    """What the texts of a column say, and whatever else may be a number, (n,) float64."""
    import numpy as np
    import pandas as pd

    try:
        # Through text, because pandas would make nanoseconds of a date.
        numbers = pd.to_numeric(column.astype("str"), errors="coerce").astype("float64")
        words = column[np.isinf(numbers)].astype("str").str.contains("i", case=False)  # not digits beyond doubles
        numbers[words.index[words]] = np.nan
        is_silent = column.astype("str").isin(list(codes))
        numbers[is_silent] = np.nan
    except (TypeError, ValueError):
        raise InvalidRecord(f"column {name!r} of {path} must hold numbers, and it holds lists") from None
    doubtful = column[numbers.isna() & column.notna() & ~is_silent]
    bad = doubtful[~doubtful.astype(str).map(says_nothing).astype(bool)]
    if len(bad):
        raise InvalidRecord(
            f"column {name!r} of {path} must hold numbers, without a thousands separator and with the decimal mark that "
            f"--decimal says; record {first + int(bad.index[0]) + 1} does not ({len(bad)} of its block)"
        )
    return numbers.to_numpy()
