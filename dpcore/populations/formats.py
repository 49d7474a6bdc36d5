"""Files of records in every format, as tables of Arrow with only the columns that are asked for.

The format is the file's ending: .csv, .tsv, .parquet, .arrow or .feather, .jsonl, .xlsx, and .sav, .dta or .sas7bdat with the
extra `survey`.  Text files may be compressed (.gz, .bz2, .zst) and are read as text throughout: a parser that guesses types
turns the code "01" into 1, and quotes what it cannot turn into a number.

Messages name the file, the column and the position.  They never quote a value, another column's name (a record, in a file
without a header), or the parser's own words, which quote the line.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from dpcore.errors import InvalidRecord, installation
from dpcore.populations.dialect import DELIMITERS, Dialect, content_of, encoding_of, ending, header_of, resolved
from dpcore.wire.files import is_here, location, opened

_CHUNK = 1 << 22  # bytes of CSV parsed at a time; no line may be longer
_RAGGED = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")
SURVEY = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}


def read_columns(
    path: str | Path,
    columns: Sequence[str],
    size: int,
    *,
    names: Mapping[str, Collection[str]] | None = None,
    dialect: Dialect = Dialect(),
) -> Iterator[pa.Table]:
    """Yield some columns of a file in tables of `size` rows, the last one the rest; those of text files as text.

    names: columns of categories, each with its accepted spellings.  They come as dictionaries from Parquet and CSV, and as
    labels from survey files whose value labels are among the spellings.  A file without records yields one empty table.
    Raises InvalidRecord where the file or a column is missing, cannot be read, or is cut short; a damaged file may show only
    at a later `next`.
    """
    path = location(path)
    if size < 1:
        raise InvalidRecord(f"size must be at least 1, got {size}")
    reader = _READERS.get(ending(path))
    if reader is None:
        raise InvalidRecord(f"{path}: unknown format; records are {', '.join(_READERS)} files, the text ones also .gz")
    if ending(path) in SURVEY and not is_here(path):
        raise InvalidRecord(f"{path}: {ending(path)} files are read from a disk of this machine only; copy it there")
    if not path.is_file():
        raise InvalidRecord(f"{path}: no such file of records")
    with _one_line_errors(path, dialect):
        yield from _exactly(reader(path, columns, size, names or {}, dialect), size)


def column_names(path: Path, dialect: Dialect = Dialect()) -> list[str]:
    """Return the names of a file's columns; of a text file those at the delimiter that gives most.

    Raises InvalidRecord as `read_columns` does.
    """
    if ending(path) not in _READERS or not path.is_file():
        next(read_columns(path, [], 1, dialect=dialect))  # raises the reason
    with _one_line_errors(path, dialect):
        if ending(path) in (".csv", ".tsv"):
            written = resolved(path, [], dialect)
            return header_of(path, str(written.encoding), str(written.delimiter))
        if ending(path) == ".jsonl":
            with content_of(path) as content:
                first = next(
                    (line for line in _lines(content, dialect.encoding or encoding_of(path)) if line.strip()), "{}"
                )
            try:
                return list(json.loads(first))
            except ValueError:
                raise InvalidRecord(f"{path} record 1 must be a JSON object on one line") from None
        if ending(path) in SURVEY:
            return list(_survey_metadata(path, dialect).column_names)
        return list(next(_READERS[ending(path)](path, None, 1, {}, dialect)).column_names)


def value_labels(path: Path, dialect: Dialect = Dialect()) -> dict[str, dict[Any, str]]:
    """Return the value labels of a survey file's columns, column -> value -> label; none of other files."""
    return _survey_metadata(path, dialect).variable_value_labels if ending(path) in SURVEY else {}


def _csv(
    path: Path, columns: Sequence[str], _: int, names: Mapping[str, Collection[str]], dialect: Dialect
) -> Iterator[pa.Table]:
    dialect = resolved(path, columns, dialect)
    encoding, delimiter = str(dialect.encoding), str(dialect.delimiter)
    header = header_of(path, encoding, delimiter)
    if not header:
        raise InvalidRecord(f"{path} is empty; expected a header line and records")
    sign = DELIMITERS.get(delimiter, repr(delimiter))
    _check_columns(path, columns, header, f"the header was split at {sign}; is it the first line, or say --delimiter")
    kinds = {name: pa.dictionary(pa.int32(), pa.string()) if name in names else pa.string() for name in columns}
    with content_of(path) as content:
        reader = pyarrow.csv.open_csv(
            content,
            read_options=pyarrow.csv.ReadOptions(
                block_size=_CHUNK, use_threads=False, encoding="utf8" if encoding.startswith("utf-8") else encoding
            ),
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                include_columns=list(columns), column_types=kinds, strings_can_be_null=False
            ),
        )
        yield _empty(reader.schema)
        for batch in reader:
            yield pa.Table.from_batches([batch])
    # The parser takes everything after a quote that never closes for one field, and so would drop records silently.
    with content_of(path) as content, io.TextIOWrapper(content, encoding, newline="") as text:
        if sum(chunk.count('"') for chunk in iter(lambda: text.read(_CHUNK), "")) % 2:
            raise InvalidRecord(f"{path} has a quote that never closes; it may be cut short or damaged")


def _parquet(
    path: Path, columns: Sequence[str] | None, size: int, names: Mapping[str, Collection[str]], _: Dialect
) -> Iterator[pa.Table]:
    with opened(path) as opening:
        metadata = pyarrow.parquet.read_metadata(opening)
        schema = metadata.schema.to_arrow_schema()
        columns = schema.names if columns is None else columns
        _check_columns(path, columns, schema.names)
        texts = [name for name in columns if name in names and is_text(schema.field(name).type)]
        with pyarrow.parquet.ParquetFile(opening, metadata=metadata, read_dictionary=texts) as file:
            yield _empty(file.schema_arrow.field(name) for name in columns)
            for batch in file.iter_batches(batch_size=size, columns=list(columns)):
                yield pa.Table.from_batches([batch]).select(list(columns))


def _arrow(path: Path, columns: Sequence[str] | None, *_: Any) -> Iterator[pa.Table]:
    with content_of(path) as content:
        is_file = content.read(6) == b"ARROW1"
    with opened(path) if is_file else content_of(path) as content:
        reader = pyarrow.ipc.open_file(content) if is_file else pyarrow.ipc.open_stream(content)
        columns = reader.schema.names if columns is None else columns
        _check_columns(path, columns, reader.schema.names)
        yield _empty(reader.schema.field(name) for name in columns)
        for batch in map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader:
            yield pa.Table.from_batches([batch]).select(list(columns))


def _json_lines(
    path: Path, columns: Sequence[str], size: int, _: Mapping[str, Collection[str]], dialect: Dialect
) -> Iterator[pa.Table]:
    with content_of(path) as content:
        encoding = dialect.encoding or encoding_of(path)
        lines = enumerate((line for line in _lines(content, encoding) if line.strip()), 1)
        yield from _of_texts(columns, (_json_record(path, number, line, columns) for number, line in lines), size)


def _of_texts(columns: Sequence[str], rows: Iterator[list[str | None]], size: int) -> Iterator[pa.Table]:
    """Rows of texts as tables, after an empty one."""
    schema = pa.schema([(column, pa.string()) for column in columns])
    yield _empty(schema)
    while block := list(islice(rows, size)):
        yield pa.table(list(map(list, zip(*block, strict=True))), schema=schema)


def _lines(content: Any, encoding: str) -> Iterator[str]:
    """The lines of a text; what is no text of the encoding comes as a character that no JSON has."""
    return io.TextIOWrapper(content, encoding, errors="replace")


def _json_record(path: Path, number: int, line: str, columns: Sequence[str]) -> list[str | None]:
    """The columns of one line, as text; refuses what is no object, and lists and objects in a column."""
    try:
        record = json.loads(line) if "\N{REPLACEMENT CHARACTER}" not in line else None
        json.dumps(record, ensure_ascii=False).encode()  # half of a pair of code units is no text
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise InvalidRecord(
            f"{path} record {number} must be a JSON object on one line; the file may be cut short or damaged"
        )
    for column in columns:
        if column not in record:
            raise InvalidRecord(f"{path} record {number} has no key {column!r}; it has {len(record)} others")
        if isinstance(record[column], (list, dict)):
            raise InvalidRecord(f"column {column!r} of {path} must hold texts or numbers; record {number} does not")
    return [_text(record[column]) for column in columns]


def _workbook(
    path: Path, columns: Sequence[str] | None, size: int, _: Mapping[str, Collection[str]], dialect: Dialect
) -> Iterator[pa.Table]:
    openpyxl = _extra("openpyxl")
    with opened(path) as opening:
        try:
            book = openpyxl.load_workbook(opening, read_only=True, data_only=True)
        except Exception:  # of zip files, XML and the library's own
            raise InvalidRecord(f"{path} cannot be read: it may be cut short, damaged or not Excel's .xlsx") from None
        sheets = book.sheetnames
        if (dialect.sheet is None and len(sheets) > 1) or dialect.sheet not in (None, *sheets):
            raise InvalidRecord(f"{path} has {len(sheets)} sheets; choose one with --sheet")
        rows = book[dialect.sheet or sheets[0]].iter_rows(values_only=True)
        header = [str(name) for name in next(rows, ())]
        columns = header if columns is None else columns
        _check_columns(path, columns, header)
        places = [header.index(column) for column in columns]
        texts = ([_text(row[place]) for place in places] for row in rows if any(cell is not None for cell in row))
        yield from _of_texts(columns, texts, size)
        book.close()


def _survey_metadata(path: Path, dialect: Dialect) -> Any:
    """The names, value labels and number of rows of a survey file's columns."""
    pyreadstat = _extra("pyreadstat")
    try:
        return getattr(pyreadstat, SURVEY[ending(path)])(str(path), metadataonly=True, **_encoding(dialect))[1]
    except pyreadstat.PyreadstatError:
        raise InvalidRecord(f"{path} cannot be read: it may be cut short or damaged") from None


def _encoding(dialect: Dialect) -> dict[str, str]:
    return {"encoding": dialect.encoding} if dialect.encoding else {}


def _survey(
    path: Path, columns: Sequence[str], size: int, names: Mapping[str, Collection[str]], dialect: Dialect
) -> Iterator[pa.Table]:
    meta = _survey_metadata(path, dialect)
    _check_columns(path, columns, meta.column_names)
    pyreadstat = _extra("pyreadstat")
    try:
        chunks = pyreadstat.read_file_in_chunks(
            getattr(pyreadstat, SURVEY[ending(path)]),
            str(path),
            chunksize=size,
            usecols=list(columns),
            **_encoding(dialect),
        )
        for frame, _meta in chunks:
            data = {}
            for column in columns:
                data[column] = pa.array(frame[column], from_pandas=True)
                labels = meta.variable_value_labels.get(column, {})
                if set(labels.values()) & set(names.get(column, ())):
                    coded = [labels.get(value, value) for value in data[column].to_pylist()]
                    data[column] = pa.array([_text(value) for value in coded], pa.string())
            yield pa.table(data)
        if not meta.number_rows:
            yield pa.table({column: pa.array([], pa.string()) for column in columns})
    except pyreadstat.PyreadstatError:
        raise InvalidRecord(f"{path} cannot be read: it may be cut short or damaged") from None


_Reader = Callable[[Path, Any, int, Mapping[str, Collection[str]], Dialect], Iterator[pa.Table]]
_READERS: dict[str, _Reader] = {
    ".csv": _csv,
    ".tsv": _csv,
    ".parquet": _parquet,
    ".arrow": _arrow,
    ".feather": _arrow,
    ".jsonl": _json_lines,
    ".xlsx": _workbook,
    **dict.fromkeys(SURVEY, _survey),
}


def _extra(package: str) -> Any:
    """A package that not every installation has."""
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError:
        raise InvalidRecord(f"{package} reads this format and is not installed; {installation(package)}") from None


def _text(value: Any) -> str | None:
    """A value as CSV would write it; None where there is none."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (bool, date)):
        return str(value).lower() if isinstance(value, bool) else value.isoformat()
    return str(value)


def _empty(fields: Iterable[pa.Field]) -> pa.Table:
    """A table without rows, made without pandas, which Arrow's own asks whether it knows an empty list."""
    return pa.Table.from_batches([], pa.schema(fields))


def is_text(kind: pa.DataType) -> bool:
    """Return whether a type of Arrow holds texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


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


def _check_columns(path: Path, columns: Sequence[str], present: Sequence[str], hint: str = "") -> None:
    for column in columns:
        if present.count(column) > 1:
            raise InvalidRecord(f"{path} has column {column!r} more than once; rename or remove one")
        if column not in present:
            spelt = [name for name in present if name.strip().lower() == column.lower()]
            hint = f"it has {spelt[0]!r}" if spelt else hint or "rename it, or say column = in the scheme"
            raise InvalidRecord(f"{path} has no column {column!r} among its {len(present)} columns; {hint}")


@contextmanager
def _one_line_errors(path: Path, dialect: Dialect) -> Iterator[None]:
    """Turn what the parsers raise into one clear line without the bytes they quote."""
    try:
        yield
    except (OSError, pa.ArrowException, csv.Error, UnicodeError, EOFError) as error:
        ragged = _RAGGED.search(str(error))
        is_text = ending(path) in (".csv", ".tsv")
        kind = f"CSV in {dialect.encoding or 'UTF-8'}; say --encoding where it is another" if is_text else ending(path)
        reason = getattr(error, "strerror", None) or f"it may be cut short, damaged or not {kind}"
        if ragged:
            row = f"row {ragged[1]}" if ragged[1] else "one row"
            reason = f"{row} has {ragged[3]} fields where the header has {ragged[2]}; it may be cut short"
        raise InvalidRecord(f"{path} cannot be read: {reason}") from None
