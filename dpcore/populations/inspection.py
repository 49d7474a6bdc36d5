"""A file of records before a round: what it holds for a scheme, and the draft of a scheme from its columns.

What it holds is counted before anything is privatized: this is how `ldpflow check` sees it.  The draft has the columns' names
and types, the value labels of survey files, and no value.  Bounds and categories that are taken from data reveal something of
it, so they are left to be filled in.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dpcore.errors import InvalidRecord
from dpcore.populations.dialect import Dialect
from dpcore.populations.formats import column_names, read_columns, value_labels
from dpcore.populations.records import parsed, questions_by_column, read_tables
from dpcore.protocol.domain.dates import DAYS
from dpcore.protocol.records.arrow_columns import as_numpy, whole
from dpcore.protocol.records.blocks import BLOCK
from dpcore.protocol.records.category_names import ABSENT, UNKNOWN, Names
from dpcore.protocol.syntax.attribute_types import CATEGORIES, CODES
from dpcore.protocol.syntax.keys import OTHER
from dpcore.wire.files import location

if TYPE_CHECKING:
    from dpcore.protocol.attribute import Attribute
    from dpcore.protocol.scheme import Scheme

_DISTINCT = 1 << 17  # refused values that are counted each; beyond, those met once so far are counted together
_SHOWN = 3  # refused values by name
_RARE, _NO_VALUE = "(rare values)", "(no value)"
_ROWS = 1000  # whose types are looked at, where a file does not state them
_BOOLEAN = Names("", CATEGORIES, CODES)
_NOTE = """\
# A draft from the names and types of the columns of {file}. No value of the file is in here: bounds and categories that are
# taken from data reveal something of it. Replace each "?" by what is known of the question, and delete what is not to be asked.
"""


@dataclass(frozen=True, kw_only=True)
class ColumnCounts:
    """How many values of a column are accepted, and what becomes of the others.

    accepted: values that a client would report as they are.  clipped: numbers beyond the bounds.  other: values that become the
    category `other`.  missing: no value.  values: the refused values, each with its count, and missing ones if the scheme
    refuses them; nobody is shown those of few records.
    """

    attribute: str
    column: str
    accepted: int = 0
    clipped: int = 0
    other: int = 0
    missing: int = 0
    values: Counter[str] = field(default_factory=Counter, repr=False)

    @property
    def refused(self) -> int:
        """How many values stop a round."""
        return self.values.total()

    def reasons(self, least: int) -> list[str]:
        """Return why values are refused, with counts: those of at least `least` records by the value, three of them at most."""
        values = self.values.copy()
        missing = values.pop(_NO_VALUE, 0)
        shown = [(value, count) for value, count in values.most_common(_SHOWN) if count >= least]
        rest = values.total() - sum(count for _, count in shown)
        return [
            *([f"{missing:,} without a value"] if missing else []),
            *(f"{count:,} with {value!r}" for value, count in shown),
            *([f"{rest:,} with values of fewer than {least:,} records each"] if rest else []),
        ]

    def plus(self, *, refused: Iterable[object], **counts: int) -> ColumnCounts:
        """Return the counts with those of another block."""
        values = self.values + Counter(map(str, refused))
        if len(values) > _DISTINCT:
            rest = Counter({value: count for value, count in values.items() if count > 1})
            values = rest + Counter({_RARE: values.total() - rest.total()})
        return replace(self, values=values, **{kind: getattr(self, kind) + count for kind, count in counts.items()})


def inspect(path: str | Path, scheme: Scheme, dialect: Dialect = Dialect()) -> list[ColumnCounts]:
    """Return what each column of a file holds, in the scheme's order, sets after their boxes; nothing is privatized or written.

    Raises InvalidRecord where the file cannot be read or lacks a column.
    """
    questions = [question for one in scheme.reported.values() for question in one.sides or (*one.boxes, one)]
    counts = [ColumnCounts(attribute=question.name, column=question.column) for question in questions]
    for table, decimal in read_tables(location(path), questions_by_column(scheme), BLOCK, dialect=dialect):
        for place, question in enumerate(questions):
            count = _with_boxes if question.boxes else _with_numbers if question.reads_numbers else _with_categories
            counts[place] = count(counts[place], question, table, decimal, dialect.zone or "")
    return counts


def _with_numbers(counts: ColumnCounts, question: Attribute, table: pa.Table, decimal: str, zone: str) -> ColumnCounts:
    column = table.column(question.column)
    try:
        numbers, bad = parsed(column, question.codes, decimal, calendar=question.calendar, zone=zone)
    except (TypeError, ValueError):
        return counts.plus(refused=["a list"] * len(column))
    x = as_numpy(whole(numbers))
    is_bad = np.zeros(len(x), dtype=bool)
    is_bad[bad] = True
    is_missing = np.isnan(x) & ~is_bad
    is_outside = (question.bins is None) & ((x < float(question.lower)) | (x > float(question.upper)))
    is_refused = is_bad | (is_outside & (question.outside == "refuse"))
    return counts.plus(
        accepted=int((~is_bad & ~is_missing & ~is_outside).sum()),
        clipped=int((is_outside & ~is_refused).sum()),
        missing=int(is_missing.sum()),
        refused=_refused(question, column, is_refused, is_missing),
    )


def _with_categories(counts: ColumnCounts, question: Attribute, table: pa.Table, *_: str) -> ColumnCounts:
    column = table.column(question.column)
    try:
        cells = question.codes_of(column)
    except TypeError:
        return counts.plus(refused=["a list"] * len(column))
    is_missing, is_unknown = cells == ABSENT, cells == UNKNOWN
    is_refused = (is_unknown & (question.outside != OTHER)) | (cells < ABSENT)  # and sets that are too large
    return counts.plus(
        accepted=int((cells >= 0).sum()),
        other=int((is_unknown & ~is_refused).sum()),
        missing=int(is_missing.sum()),
        refused=_refused(question, column, is_refused, is_missing),
    )


def _with_boxes(counts: ColumnCounts, question: Attribute, table: pa.Table, *_: str) -> ColumnCounts:
    """With the sets of one block; a record with a refused box is counted in the box's column only."""
    cells = np.stack([box.names.cells(table.column(box.column)) for box in question.boxes], axis=1)
    if question.missing != "refuse":
        cells[cells == ABSENT] = 0  # no
    chosen = (cells == 1).sum(axis=1)[(cells >= 0).all(axis=1)]
    refused = [f"{number} options" for number in chosen[chosen > (question.at_most or 0)].tolist()]
    return counts.plus(accepted=len(chosen) - len(refused), refused=refused)


def _refused(
    question: Attribute, column: pa.ChunkedArray, is_refused: np.ndarray, is_missing: np.ndarray
) -> list[object]:
    """The values that are refused, what is missing as such where the scheme refuses it."""
    nothing = [_NO_VALUE] * int(is_missing.sum()) if question.missing == "refuse" else []
    places = np.flatnonzero(is_refused).tolist()
    return [*(column[place].as_py() for place in places), *nothing]


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
