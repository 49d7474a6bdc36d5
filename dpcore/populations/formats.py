"""Files of records in every format, as tables of Arrow with only the columns that are asked for.

The format is the file's ending: .csv, .tsv, .parquet, .arrow or .feather, .jsonl, .xlsx, and .sav, .dta or .sas7bdat with the
extra `survey`.  Text files may be compressed (.gz, .bz2, .zst) and are read as text throughout: a parser that guesses types
turns the code "01" into 1, and quotes what it cannot turn into a number.

Messages name the file, the column and the position.  They never quote a value, another column's name (a record, in a file
without a header), or the parser's own words, which quote the line.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from dpcore.errors import InvalidRecord
from dpcore.wire.files import location, opened

_CHUNK = 1 << 22  # bytes of CSV parsed at a time; no line may be longer
_RAGGED = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")
_COMPRESSION = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
SURVEY = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How a text file or a workbook is written; None where the file shows it.

    delimiter: one character between fields; without it the first of comma, semicolon, tab and bar at which the header has the
    columns.  decimal: '.' or ','.  encoding: a name that Python knows; without it a byte-order mark's, else UTF-8.
    sheet: a workbook's; without it the only one.
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter in ("tab", r"\t"):
            object.__setattr__(self, "delimiter", "\t")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise InvalidRecord(f"delimiter must be one character, or 'tab', got {self.delimiter!r}")
        if self.decimal not in (None, ".", ","):
            raise InvalidRecord(f"decimal must be '.' or ',', got {self.decimal!r}")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise InvalidRecord(
                    f"encoding {self.encoding!r} is unknown; use one such as latin-1 or cp1252"
                ) from None


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
    if not path.is_file():
        raise InvalidRecord(f"{path}: no such file of records")
    with _one_line_errors(path, dialect):
        yield from _exactly(reader(path, columns, size, names or {}, dialect), size)


def ending(path: Path) -> str:
    """Return the ending that tells a file's format, without the one of its compression."""
    *_, before, last = ["", *(suffix.lower() for suffix in path.suffixes or [""])]
    return before if last in _COMPRESSION else last


def resolved(path: Path, columns: Sequence[str], dialect: Dialect) -> Dialect:
    """Return the dialect of a CSV with its encoding and delimiter, as far as the file shows them."""
    encoding = dialect.encoding or _encoding(path)
    if dialect.delimiter is not None:
        return replace(dialect, encoding=encoding)
    first = "\t" if ending(path) == ".tsv" else ","
    headers = {}
    for delimiter in dict.fromkeys([first, *_DELIMITERS]):
        headers[delimiter] = _header(path, encoding, delimiter)
        if set(columns) <= set(headers[delimiter]):
            return replace(dialect, encoding=encoding, delimiter=delimiter)
    return replace(dialect, encoding=encoding, delimiter=max(headers, key=lambda sign: len(headers[sign])))


def _encoding(path: Path) -> str:
    with _content(path) as content:
        start = content.read(3)
    return next((name for mark, name in _MARKS.items() if start.startswith(mark)), "utf-8")


def _header(path: Path, encoding: str, delimiter: str) -> list[str]:
    with _content(path) as content, io.TextIOWrapper(content, encoding, newline="") as lines:
        return next(csv.reader(lines, delimiter=delimiter), [])


@contextmanager
def _content(path: Path) -> Iterator[Any]:
    """The bytes of a file, decompressed where its ending says so."""
    with opened(path) as file:
        compression = _COMPRESSION.get(path.suffix.lower())
        with pa.input_stream(str(file) if isinstance(file, Path) else file, compression=compression) as content:
            yield content


def _csv(
    path: Path, columns: Sequence[str], _: int, names: Mapping[str, Collection[str]], dialect: Dialect
) -> Iterator[pa.Table]:
    dialect = resolved(path, columns, dialect)
    encoding, delimiter = str(dialect.encoding), str(dialect.delimiter)
    header = _header(path, encoding, delimiter)
    if not header:
        raise InvalidRecord(f"{path} is empty; expected a header line and records")
    sign = _DELIMITERS.get(delimiter, repr(delimiter))
    _check_columns(path, columns, header, f"the header was split at {sign}; is it the first line, or say --delimiter")
    kinds = {name: pa.dictionary(pa.int32(), pa.string()) if name in names else pa.string() for name in columns}
    with _content(path) as content:
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
    with _content(path) as content, io.TextIOWrapper(content, encoding, newline="") as text:
        if sum(chunk.count('"') for chunk in iter(lambda: text.read(_CHUNK), "")) % 2:
            raise InvalidRecord(f"{path} has a quote that never closes; it may be cut short or damaged")


def _parquet(
    path: Path, columns: Sequence[str], size: int, names: Mapping[str, Collection[str]], _: Dialect
) -> Iterator[pa.Table]:
    with opened(path) as opening:
        metadata = pyarrow.parquet.read_metadata(opening)
        schema = metadata.schema.to_arrow_schema()
        _check_columns(path, columns, schema.names)
        texts = [name for name in columns if name in names and _is_text(schema.field(name).type)]
        with pyarrow.parquet.ParquetFile(opening, metadata=metadata, read_dictionary=texts) as file:
            yield _empty(file.schema_arrow.field(name) for name in columns)
            for batch in file.iter_batches(batch_size=size, columns=list(columns)):
                yield pa.Table.from_batches([batch]).select(list(columns))


def _arrow(path: Path, columns: Sequence[str], *_: Any) -> Iterator[pa.Table]:
    with opened(path) as opening, pa.input_stream(str(opening) if isinstance(opening, Path) else opening) as content:
        is_file = content.read(6) == b"ARROW1"
    with opened(path) as opening:
        if is_file:
            with pyarrow.ipc.open_file(opening) as file:
                _check_columns(path, columns, file.schema.names)
                yield _empty(file.schema.field(name) for name in columns)
                for number in range(file.num_record_batches):
                    yield pa.Table.from_batches([file.get_batch(number)]).select(list(columns))
        else:
            with pa.input_stream(str(opening) if isinstance(opening, Path) else opening) as content:
                stream = pyarrow.ipc.open_stream(content)
                _check_columns(path, columns, stream.schema.names)
                yield _empty(stream.schema.field(name) for name in columns)
                for batch in stream:
                    yield pa.Table.from_batches([batch]).select(list(columns))


def _json_lines(
    path: Path, columns: Sequence[str], size: int, _: Mapping[str, Collection[str]], dialect: Dialect
) -> Iterator[pa.Table]:
    schema = pa.schema([(column, pa.string()) for column in columns])
    yield _empty(schema)
    with _content(path) as content:
        encoding = dialect.encoding or _encoding(path)
        lines = enumerate((line for line in _lines(content, encoding) if line.strip()), 1)
        rows = (_json_record(path, number, line, columns) for number, line in lines)
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
            f"{path} record {number} is not an object of JSON on a line; it may be cut short or damaged"
        )
    for column in columns:
        if column not in record:
            raise InvalidRecord(f"{path} record {number} has no key {column!r} among its {len(record)}")
        if isinstance(record[column], (list, dict)):
            raise InvalidRecord(f"column {column!r} of {path} must hold texts or numbers; record {number} does not")
    return [_text(record[column]) for column in columns]


def _workbook(
    path: Path, columns: Sequence[str], size: int, _: Mapping[str, Collection[str]], dialect: Dialect
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
        _check_columns(path, columns, header)
        places = [header.index(column) for column in columns]
        schema = pa.schema([(column, pa.string()) for column in columns])
        yield _empty(schema)
        texts = ([_text(row[place]) for place in places] for row in rows if any(cell is not None for cell in row))
        while block := list(islice(texts, size)):
            yield pa.table(list(map(list, zip(*block, strict=True))), schema=schema)
        book.close()


def _survey(
    path: Path, columns: Sequence[str], size: int, names: Mapping[str, Collection[str]], dialect: Dialect
) -> Iterator[pa.Table]:
    pyreadstat = _extra("pyreadstat")
    read = getattr(pyreadstat, SURVEY[ending(path)])
    encoding = {"encoding": dialect.encoding} if dialect.encoding else {}
    try:
        _none, meta = read(str(path), metadataonly=True, **encoding)
        _check_columns(path, columns, meta.column_names)
        chunks = pyreadstat.read_file_in_chunks(read, str(path), chunksize=size, usecols=list(columns), **encoding)
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


_Reader = Callable[[Path, Sequence[str], int, Mapping[str, Collection[str]], Dialect], Iterator[pa.Table]]
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
        raise InvalidRecord(
            f"{package} reads this format and is not installed; run `pip install 'ldpflow[survey]'`"
        ) from None


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


def _is_text(kind: pa.DataType) -> bool:
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
            raise InvalidRecord(f"{path} has no column {column!r} among its {len(present)}; {hint}")


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
