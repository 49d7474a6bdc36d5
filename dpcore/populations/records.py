"""Real people's records from CSV, Parquet and JSON-lines files, by column name, only the columns a scheme asks for.

The reader says whether a file can be read; whether its values are allowed is the scheme's business (`Scheme.encode`).
Rules.
A message names the file, the column and the position, never a value: not the file's other column names, which are a
record where a file has no header, nor the words of the parser, which quote the line.
CSV codes stay text ("1", "01").
A CSV row with too few or too many fields is refused, because the last line of a file cut short looks like that.
A CSV cut within its last field, or between two lines, cannot be told from a whole one; nor can JSON lines cut between
two; Parquet knows.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from dpcore.errors import InvalidRecord
from dpcore.protocol.blocks import BLOCK
from dpcore.wire.files import location, opened

if TYPE_CHECKING:
    import pandas as pd

    from dpcore.protocol.scheme import Scheme

_CHUNK = 1 << 22  # bytes of CSV parsed at a time; no line may be longer
_NO_VALUE = ("", "na", "n/a", "nan", "null", "none")  # how files write a missing number, in lower case
_RAGGED = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")


def read_records(path: str | Path, scheme: Scheme) -> pd.DataFrame:
    """Return the records of a file as a frame of the scheme's columns, named as in the file, one row a person.

    path: a .csv (UTF-8, comma, a header line), .parquet or .jsonl file (an object a line; numbers, texts and null), here or
    at a URL that fsspec knows.
    Numeric columns come as float64 with NaN where the file has no value; categorical columns of JSON come as text, those of a
    CSV and texts of a Parquet file as pandas' categories.

    Raises InvalidRecord where the file or a column is missing, cannot be read or is cut short,
    or where a numeric column holds something that is not a number.
    """
    return _frame(pa.concat_tables(read_blocks(path, scheme)))


def read_blocks(path: str | Path, scheme: Scheme, size: int = BLOCK, *, also: Sequence[str] = ()) -> Iterator[pa.Table]:
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
    names = columns.keys() - numbers - set(also)
    first = 0
    for table in read_columns(path, list(dict.fromkeys([*columns, *also])), size, names=names):
        n = table.num_rows
        for name in table.column_names:
            if name in numbers:
                codes = {code for attribute in columns[name] for code in attribute.codes}
                read = _numbers(table.column(name), name, codes, path, first)
                table = table.set_column(table.column_names.index(name), name, read)
        first += n
        yield table


def read_columns(
    path: Path, columns: Sequence[str], size: int = BLOCK, *, names: Collection[str] = ()
) -> Iterator[pa.Table]:
    """Yield some columns of a file in tables of `size` rows as it has them, those of a CSV or of JSON as text.

    names: columns that say few texts again and again; of Parquet and CSV they come as dictionaries, each text read once.
    Raises InvalidRecord as `read_blocks` does.
    """
    if size < 1:
        raise InvalidRecord(f"size must be at least 1, got {size}")
    readers: dict[str, Callable[..., Iterator[pa.Table]]] = {
        ".csv": partial(_csv, names=names),
        ".parquet": partial(_parquet, names=names),
        ".jsonl": _json_lines,
    }
    if path.suffix.lower() not in readers:
        raise InvalidRecord(f"records must be a .csv, .parquet or .jsonl file, got {path}")
    if not path.is_file():
        raise InvalidRecord(f"no file of records at {path}")
    with _plainly(path):
        yield from _exactly(readers[path.suffix.lower()](path, columns, size), size)


def _frame(table: pa.Table) -> pd.DataFrame:
    return table.to_pandas(ignore_metadata=True)  # an index a writer kept would hide positions


def _csv(path: Path, columns: Sequence[str], size: int, names: Collection[str]) -> Iterator[pa.Table]:
    with path.open(newline="", encoding="utf-8-sig") as lines:
        header = next(csv.reader(lines), None)
    if header is None:
        raise InvalidRecord(f"{path} is empty; expected a header line and records")
    _check_columns(path, columns, header)
    # Text throughout: a parser that guesses turns the code "01" into 1 and quotes what it cannot turn into a number.
    convert = pyarrow.csv.ConvertOptions(
        include_columns=list(columns),
        column_types={
            name: pa.dictionary(pa.int32(), pa.string()) if name in names else pa.string() for name in columns
        },
        strings_can_be_null=False,
    )
    with opened(path) as file:
        reader = pyarrow.csv.open_csv(
            file,
            read_options=pyarrow.csv.ReadOptions(block_size=_CHUNK, use_threads=False),
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
            convert_options=convert,
        )
        yield _empty(reader.schema)
        for batch in reader:
            yield pa.Table.from_batches([batch])
    # The parser takes everything after a quote that never closes for one field, and so would drop people in silence.
    with path.open("rb") as content:
        if sum(chunk.count(b'"') for chunk in iter(lambda: content.read(_CHUNK), b"")) % 2:
            raise InvalidRecord(f"{path} has a quote that never closes; it may be cut short or damaged")


def _parquet(path: Path, columns: Sequence[str], size: int, names: Collection[str]) -> Iterator[pa.Table]:
    with opened(path) as opening:
        metadata = pyarrow.parquet.read_metadata(opening)
        schema = metadata.schema.to_arrow_schema()
        _check_columns(path, columns, schema.names)
        texts = [name for name in names if _is_text(schema.field(name).type)]
        with pyarrow.parquet.ParquetFile(opening, metadata=metadata, read_dictionary=texts) as file:
            yield _empty(file.schema_arrow.field(name) for name in columns)
            for batch in file.iter_batches(batch_size=size, columns=list(columns)):
                yield pa.Table.from_batches([batch]).select(list(columns))


def _empty(fields: Iterable[pa.Field]) -> pa.Table:
    """A table without rows, made without pandas, which Arrow's own asks whether it knows an empty list."""
    return pa.Table.from_batches([], pa.schema(fields))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _json_lines(path: Path, columns: Sequence[str], size: int) -> Iterator[pa.Table]:
    schema = pa.schema([(column, pa.string()) for column in columns])
    yield _empty(schema)
    with path.open("rb") as lines:
        rows = (_json_record(path, number, line, columns) for number, line in enumerate(lines, 1))
        while block := list(islice(rows, size)):
            yield pa.table(list(map(list, zip(*block, strict=True))), schema=schema)


def _json_record(path: Path, number: int, line: bytes, columns: Sequence[str]) -> list[str | None]:
    """The columns of one line, as text; refuses what is no object, and values that are neither texts nor numbers."""
    try:
        record = json.loads(line.decode("utf-8"))
        json.dumps(record, ensure_ascii=False).encode()  # half of a pair of code units is no text
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise InvalidRecord(
            f"{path} record {number} is not an object of JSON on a line; it may be cut short or damaged"
        )
    for column in columns:
        if column not in record:
            raise InvalidRecord(f"{path} record {number} has no key {column!r} among its {len(record)}")
        if isinstance(record[column], (bool, list, dict)):
            raise InvalidRecord(f"column {column!r} of {path} must hold texts or numbers; record {number} does not")
    return [None if record[column] is None else str(record[column]) for column in columns]


def _exactly(tables: Iterator[pa.Table], size: int) -> Iterator[pa.Table]:
    """Cut a stream of tables of any lengths into tables of `size` rows, the last one the rest; never nothing at all."""
    rest = next(tables)
    yielded = False
    for table in tables:
        rest = pa.concat_tables([rest, table]) if rest.num_rows else table
        while rest.num_rows >= size:
            yield rest.slice(0, size)
            yielded, rest = True, rest.slice(size)
    if rest.num_rows or not yielded:
        yield rest


def _check_columns(path: Path, columns: Sequence[str], present: Sequence[str]) -> None:
    for column in columns:
        if present.count(column) > 1:
            raise InvalidRecord(f"{path} has column {column!r} more than once; rename or remove one")
        if column not in present:
            spelt = [name for name in present if name.strip().lower() == column.lower()]
            hint = f"it has {spelt[0]!r}" if spelt else "is the first line a header with column names, split at commas?"
            raise InvalidRecord(f"{path} has no column {column!r} among its {len(present)}; {hint}")


def _numbers(
    column: pa.ChunkedArray, name: str, codes: Collection[str], path: Path, first: int
) -> pa.ChunkedArray | pa.Array:
    """The column as float64 without nulls; refuses what is neither a number nor a missing value, nor a code of one."""
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        numbers = column if column.type == pa.float64() else column.cast(pa.float64(), safe=False)
        return numbers.fill_null(math.nan) if numbers.null_count else numbers
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
    bad = doubtful[~doubtful.astype(str).str.strip().str.lower().isin(_NO_VALUE)]
    if len(bad):
        raise InvalidRecord(
            f"column {name!r} of {path} must hold numbers, with a point and no thousands separator; "
            f"record {first + int(bad.index[0]) + 1} does not ({len(bad)} of its block)"
        )
    return numbers.to_numpy()


@contextmanager
def _plainly(path: Path) -> Iterator[None]:
    """Turn what the parsers raise into one clear line without the bytes they quote."""
    try:
        yield
    except (OSError, pa.ArrowException, csv.Error, UnicodeDecodeError) as error:
        ragged = _RAGGED.search(str(error))
        kind = "CSV in UTF-8" if path.suffix.lower() == ".csv" else "Parquet"
        reason = getattr(error, "strerror", None) or f"it may be cut short, damaged or not {kind}"
        if ragged:
            row = f"row {ragged[1]}" if ragged[1] else "one row"
            reason = f"{row} has {ragged[3]} fields where the header has {ragged[2]}; it may be cut short"
        raise InvalidRecord(f"{path} cannot be read: {reason}") from None
