"""How a text file of records is written: its delimiter, decimal mark and encoding, inferred from the file where possible."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from dpcore.errors import InvalidRecord
from dpcore.wire.files import opened

_COMPRESSION = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How a text file or a workbook is written; None where the file shows it.

    delimiter: one character between fields; without it the first of comma, semicolon, tab and bar at which the header has the
    columns.  decimal: '.' or ','.  encoding: a name that Python knows; without it a byte-order mark's, else UTF-8.
    sheet: a workbook's; without it the only one.  zone: the time zone of times that do not say theirs, such as Europe/Paris;
    without it those are refused.
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    zone: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter in ("tab", r"\t"):
            object.__setattr__(self, "delimiter", "\t")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise InvalidRecord(f"delimiter must be one character, or 'tab', got {self.delimiter!r}")
        if self.decimal not in (None, ".", ","):
            raise InvalidRecord(f"decimal must be '.' or ',', got {self.decimal!r}")
        if self.zone is not None:
            try:
                ZoneInfo(self.zone)
            except (ValueError, KeyError, OSError):
                raise InvalidRecord(f"zone {self.zone!r} is unknown; use a name such as UTC or Europe/Paris") from None
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise InvalidRecord(
                    f"encoding {self.encoding!r} is unknown; use one such as latin-1 or cp1252"
                ) from None


def ending(path: Path) -> str:
    """Return the ending that names a file's format, without that of its compression."""
    *_, before, last = ["", *(suffix.lower() for suffix in path.suffixes or [""])]
    return before if last in _COMPRESSION else last


def resolved(path: Path, columns: Sequence[str], dialect: Dialect) -> Dialect:
    """Return the dialect of a CSV with its encoding and delimiter: the first at which the header has the columns.

    Without such a delimiter, and without columns, it is the one that splits the header into most fields.
    """
    encoding = dialect.encoding or encoding_of(path)
    if dialect.delimiter is not None:
        return replace(dialect, encoding=encoding)
    first = "\t" if ending(path) == ".tsv" else ","
    headers = {}
    for delimiter in dict.fromkeys([first, *DELIMITERS]):
        headers[delimiter] = header_of(path, encoding, delimiter)
        if columns and set(columns) <= set(headers[delimiter]):
            return replace(dialect, encoding=encoding, delimiter=delimiter)
    return replace(dialect, encoding=encoding, delimiter=max(headers, key=lambda sign: len(headers[sign])))


def encoding_of(path: Path) -> str:
    """Return the encoding that a byte-order mark declares, else UTF-8."""
    with content_of(path) as content:
        start = content.read(3)
    return next((name for mark, name in _MARKS.items() if start.startswith(mark)), "utf-8")


def header_of(path: Path, encoding: str, delimiter: str) -> list[str]:
    """Return the names in the first line of a CSV, split at a delimiter."""
    with content_of(path) as content, io.TextIOWrapper(content, encoding, newline="") as lines:
        return next(csv.reader(lines, delimiter=delimiter), [])


@contextmanager
def content_of(path: Path) -> Iterator[Any]:
    """Yield the bytes of a file, decompressed if its ending names a compression."""
    with opened(path) as file:
        compression = _COMPRESSION.get(path.suffix.lower())
        with pa.input_stream(str(file) if isinstance(file, Path) else file, compression=compression) as content:
            yield content
