"""The draft of a scheme from the columns of a file: their names and types, the value labels of survey files, and no value.

Bounds and categories that are taken from data reveal something of it, so they are left to be filled in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from dpcore.errors import InvalidRecord
from dpcore.populations.dialect import Dialect
from dpcore.populations.formats import column_names, read_columns, value_labels
from dpcore.populations.records import parsed
from dpcore.protocol.domain.dates import DAYS
from dpcore.protocol.records.category_names import UNKNOWN, Names
from dpcore.protocol.syntax.attribute_types import CATEGORIES, CODES
from dpcore.wire.files import location

_ROWS = 1000  # whose types are looked at, where a file does not state them
_BOOLEAN = Names("", CATEGORIES, CODES)
_NOTE = """\
# A draft from the names and types of the columns of {file}. No value of the file is in here: bounds and categories that are
# taken from data reveal something of it. Replace each "?" by what is known of the question, and delete what is not to be asked.
"""


def proposed_scheme(path: str | Path, name: str, dialect: Dialect = Dialect()) -> str:
    """Return the text of a scheme that asks every column of a file, with "?" where its owner has to decide.

    name: the scheme's.  Raises InvalidRecord where the file cannot be read.
    """
    path = location(path)
    columns = column_names(path, dialect)
    if not columns:
        raise InvalidRecord(f"{path} has no columns; nothing can be proposed")
    labels = value_labels(path, dialect)
    table = next(read_columns(path, columns, _ROWS, dialect=dialect))
    taken: set[str] = set()
    parts = [_NOTE.format(file=path.name) + f'name = "{name}"\nclients = 1000  # how many are expected\n']
    for column in columns:
        attribute = _attribute_name(column, taken)
        taken.add(attribute)
        lines = [f"[attributes.{attribute}]", *_lines(table.column(column), labels.get(column, {}))]
        if attribute != column:
            lines.insert(2, f"column = {json.dumps(column, ensure_ascii=False)}")
        parts.append("\n".join([*lines, "epsilon = 1", ""]))
    return "\n".join(parts)


def _lines(column: pa.ChunkedArray, labels: dict[Any, str]) -> list[str]:
    if labels:
        names = json.dumps(list(dict.fromkeys(labels.values())), ensure_ascii=False)
        return ['type = "categorical"', f"categories = {names}  # the value labels of the file"]
    kind = _kind(column)
    if kind == "boolean":
        return ['type = "boolean"']
    if kind in ("numeric", "date"):
        return [
            f'type = "{kind}"',
            'lower = "?"  # the least possible value',
            'upper = "?"  # the largest possible value',
        ]
    return ['type = "categorical"', 'categories = ["?"]  # every possible answer']


def _kind(column: pa.ChunkedArray) -> str:
    """The type of attribute that a column's own type suggests; of texts, the first type whose every value is one."""
    if pa.types.is_boolean(column.type):
        return "boolean"
    if pa.types.is_temporal(column.type):
        return "date"
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type) or pa.types.is_decimal(column.type):
        return "numeric"
    texts = column.drop_null()
    if len(texts) and (_BOOLEAN.cells(texts) != UNKNOWN).all():
        return "boolean"
    for kind, calendar in (("date", DAYS), ("numeric", "")):
        for decimal in (".", ","):
            if len(texts) and not len(parsed(texts, (), decimal, calendar=calendar)[1]):
                return kind
    return "categorical"


def _attribute_name(column: str, taken: Sequence[str] | set[str]) -> str:
    """A name of an attribute that is like the column's, and that no other has."""
    plain = re.sub(r"[^a-z0-9]+", "_", column.lower()).strip("_")[:50]
    plain = plain if plain[:1].isalpha() else f"column_{plain}".rstrip("_")
    return next(name for name in (plain, *(f"{plain}_{place}" for place in range(2, 10_000))) if name not in taken)
