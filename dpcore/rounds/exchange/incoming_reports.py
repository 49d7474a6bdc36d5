"""Reports from elsewhere: what others' devices said under a scheme of stated channels becomes a file that rounds count as ours.

A row is a report, or so many that said the same.  Rows are sorted by what they say, so that the order in which they came is
forgotten, and the same reports are the same file, which no two rounds count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpcore import wire
from dpcore.errors import InvalidReport, SchemeError
from dpcore.mechanisms import Reports
from dpcore.mechanisms.categorical.unary_encoding import packed
from dpcore.mechanisms.stated.stated_channel import Stated
from dpcore.populations.dialect import Dialect
from dpcore.populations.formats import read_columns
from dpcore.protocol.attribute import Attribute
from dpcore.protocol.records.blocks import BLOCK
from dpcore.protocol.records.category_names import ABSENT, UNKNOWN, Names, without_point
from dpcore.protocol.report import Answers, ReportBatch
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.syntax.fields import listed
from dpcore.rounds.exchange.outgoing_reports import check_sent_for, check_target

MOST = 50_000_000  # reports of a file, all of which are held at once


def receive(
    scheme: Scheme,
    source: Path,
    target: Path,
    *,
    sent_for: str = "",
    count: str = "",
    dialect: Dialect = Dialect(),
) -> int:
    """Make a file of reports of a file of what was said, and return how many they are.

    source: a file of a format that is read as records are, with a column for each attribute, of outputs' names or numbers, or
    of bits as a text of 0 and 1, and for each label.  target: a .parquet file that is not there yet.
    sent_for: as in `outgoing_reports.send`.
    count: the column that says how many reports a row stands for, '' where it stands for one.
    dialect: how the file is written.

    Raises InvalidRecord or InvalidReport, and SchemeError where the scheme has clients of its own.
    """
    if scheme.is_asked:
        raise SchemeError(
            f"{scheme.name} has clients of its own, whose reports `ldpflow collect` takes as they are; receive is for stated "
            "channels"
        )
    target = wire.location(target)
    check_target(target, endings=(".parquet",))
    check_sent_for(sent_for)
    columns = {name: attribute.column for name, attribute in scheme.reported.items()}
    asked = list(dict.fromkeys([*columns.values(), *([count] if count else [])]))
    parts: list[list[np.ndarray]] = []
    first = 0
    for table in read_columns(wire.location(source), asked, BLOCK, dialect=dialect):
        frame = table.to_pandas(ignore_metadata=True)
        said = [_said(scheme, name, frame[column].tolist(), first) for name, column in columns.items()]
        times = _whole(frame[count].tolist(), count, first) if count else np.ones(len(frame), dtype=np.int64)
        parts.append([*said, times[:, None]])
        first += len(frame)
    *said, times = (np.concatenate(column) for column in zip(*parts, strict=True))
    _check_units(scheme, dict(zip(columns, said, strict=True)))
    n = int(times.sum())
    if not 0 < n <= MOST:
        raise InvalidReport(
            f"{source} holds {n:,} reports; a file has between 1 and {MOST:,}: split it, or leave it out"
        )
    order = np.lexsort(np.hstack(said).T[::-1])
    rows = np.repeat(order, times[order, 0])
    answers = {name: _answers(held[rows]) for name, held in zip(columns, said, strict=True)}
    wire.write_reports(target, scheme, ReportBatch(scheme.digest, n, answers), sent_for)
    return n


def _check_units(scheme: Scheme, said: Mapping[str, np.ndarray]) -> None:
    """Raise InvalidReport where a client answers more than one unit of a scheme by which it reports one."""
    if scheme.reporting == "one":
        answered = sum(np.any([said[name][:, 0] >= 0 for name in unit], axis=0).astype(int) for unit in scheme.units)
        if np.any(more := np.asarray(answered) > 1):
            raise InvalidReport(
                f"row {int(np.argmax(more)) + 1} answers more than one question ({int(more.sum())} rows do); under "
                'reporting = "one" a client answers one: leave the others empty'
            )


def _said(scheme: Scheme, name: str, values: Sequence[Any], first: int) -> np.ndarray:
    """The integers of the reports, (n, size) int64, -1 of who was not asked where a client answers one unit."""
    attribute, n = scheme.reported[name], len(values)
    if name in scheme.labels:
        return attribute.encode(values, first)[:, None]
    (size,) = attribute.mechanism.sizes
    if isinstance(attribute.mechanism, Stated):
        outputs = _outputs(attribute)
        found, what = outputs.cells(values), f"one of {listed(tuple(outputs.spellings))}"
        is_there = found != ABSENT
    else:
        k, texts = attribute.mechanism.inputs, [_text(value) for value in values]
        found = np.array([0 if len(text) == k and not text.strip("01") else UNKNOWN for text in texts], dtype=np.int64)
        is_there, what = (
            np.array([text != "" for text in texts], dtype=bool),
            f"a text of {k} digits, 1 or 0 for each category in their order",
        )
    if scheme.reporting == "all" and not is_there.all():
        raise _refused(attribute, first + int(np.argmin(is_there)), "says nothing", "fill it in, or leave the row out")
    said = np.full((n, size), -1, dtype=np.int64)
    if np.any(found[is_there] < 0):
        raise _refused(
            attribute, first + int(np.argmax(is_there & (found < 0))), "is no output of its channel", f"expected {what}"
        )
    if isinstance(attribute.mechanism, Stated):
        said[is_there, 0] = found[is_there]
    else:
        ones = np.array([list(text) for text, there in zip(texts, is_there, strict=True) if there]) == "1"
        said[is_there] = packed(ones.reshape(-1, attribute.mechanism.inputs)).reshape(-1, size)
    return said


def _outputs(attribute: Attribute) -> Names:
    """What files call the outputs of a channel: by their names, else as categories and their codes, else by numbers from 0."""
    mechanism = attribute.mechanism
    assert isinstance(mechanism, Stated)
    (many,) = mechanism.outputs
    if mechanism.names or len(attribute.categories) != many:
        return Names(attribute.column, mechanism.names or tuple(map(str, range(many))), {})
    return Names(attribute.column, attribute.categories, attribute.codes)


def _text(value: Any) -> str:
    """A cell of a file as text, '' where it is empty; a whole number without a point."""
    if value is None or value != value:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _whole(values: Sequence[Any], column: str, first: int) -> np.ndarray:
    """How many reports each row stands for, (n,) int64."""
    texts = [without_point(_text(value)) for value in values]
    for place, text in enumerate(texts, first + 1):
        if not (text.isascii() and text.isdigit() and len(text) <= len(str(MOST))):
            raise InvalidReport(f"column {column!r} must hold whole numbers from 0 to {MOST:,}; row {place} does not")
    return np.array(list(map(int, texts)), dtype=np.int64)


def _answers(said: np.ndarray) -> Answers:
    clients = np.flatnonzero(said[:, 0] >= 0)
    return Answers(clients, Reports(np.zeros(len(clients), dtype=np.uint8), said[clients].ravel()))


def _refused(attribute: Attribute, position: int, what: str, remedy: str) -> InvalidReport:
    return InvalidReport(f"row {position + 1} of column {attribute.column!r} {what}; {remedy}")
