"""Reports from elsewhere: what others' devices said under a scheme of stated channels becomes a file that rounds count as ours.

A row is a report, or so many that said the same.  Rows are sorted by what they say, so that the order in which they came is
forgotten, and the same reports are the same file, which no two rounds count.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def _said(scheme: Scheme, name: str, values: Sequence[Any], first: int) -> np.ndarray:
    """The integers of the reports, (n, size) int64, -1 of who was not asked where a client answers one unit."""
    attribute, n = scheme.reported[name], len(values)
    if name in scheme.labels:
        return attribute.encode(values, first)[:, None]
    texts = [_text(value) for value in values]
    (size,) = attribute.mechanism.sizes
    is_there = np.array([text != "" for text in texts], dtype=bool)
    if scheme.reporting == "all" and not is_there.all():
        raise _refused(attribute, first + int(np.argmin(is_there)), "says nothing", "fill it in, or leave the row out")
    said = np.full((n, size), -1, dtype=np.int64)
    if isinstance(attribute.mechanism, Stated):
        known = _outputs(attribute)
        found = np.array([known.get(text, -1) for text in texts], dtype=np.int64)
        what = f"one of {listed(tuple(known))}"
        said[:, 0] = found
    else:
        k = attribute.mechanism.inputs
        found = np.array([0 if len(text) == k and not text.strip("01") else -1 for text in texts], dtype=np.int64)
        what = f"a text of {k} digits, 1 or 0 for each category in their order"
    if np.any(found[is_there] < 0):
        raise _refused(
            attribute, first + int(np.argmax(is_there & (found < 0))), "is no output of its channel", f"expected {what}"
        )
    if not isinstance(attribute.mechanism, Stated):
        ones = np.array([list(text) for text, there in zip(texts, is_there, strict=True) if there]) == "1"
        said[is_there] = packed(ones.reshape(-1, attribute.mechanism.inputs)).reshape(-1, size)
    return said


def _outputs(attribute: Attribute) -> dict[str, int]:
    """What files call the outputs of a channel: by their names, else as categories are, else by their numbers from 0."""
    mechanism = attribute.mechanism
    assert isinstance(mechanism, Stated)
    (many,) = mechanism.outputs
    names = mechanism.names or (
        attribute.categories if len(attribute.categories) == many else tuple(map(str, range(many)))
    )
    return {name: place for place, name in enumerate(names)}


def _text(value: Any) -> str:
    """A cell of a file as text, '' where it is empty; a whole number without a point."""
    if value is None or value != value:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _whole(values: Sequence[Any], column: str, first: int) -> np.ndarray:
    """How many reports each row stands for, (n,) int64."""
    texts = [_text(value) for value in values]
    for place, text in enumerate(texts, first + 1):
        if not (text.isascii() and text.isdigit() and len(text) <= len(str(MOST))):
            raise InvalidReport(f"column {column!r} must hold whole numbers from 0 to {MOST:,}; row {place} does not")
    return np.array(list(map(int, texts)), dtype=np.int64)


def _answers(said: np.ndarray) -> Answers:
    clients = np.flatnonzero(said[:, 0] >= 0)
    return Answers(clients, Reports(np.zeros(len(clients), dtype=np.uint8), said[clients].ravel()))


def _refused(attribute: Attribute, position: int, what: str, remedy: str) -> InvalidReport:
    return InvalidReport(f"row {position + 1} of column {attribute.column!r} {what}; {remedy}")
