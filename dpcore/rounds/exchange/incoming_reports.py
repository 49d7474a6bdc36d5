"""Reports of other systems under a scheme of stated channels, as a report file for rounds.

A row is a report, or a number of equal reports.  Rows are sorted by content, which removes their order; equal reports give an
identical file, which only one round counts.
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

MOST = 50_000_000  # reports of a file, which are in memory at once


def receive(
    scheme: Scheme,
    source: Path,
    target: Path,
    *,
    sent_for: str = "",
    count: str = "",
    dialect: Dialect = Dialect(),
) -> int:
    """Convert a file of other systems' outputs to a file of reports, and return their number.

    source: a file in a format for records, with a column for each attribute (names or numbers of outputs, or bits as a text of
    0 and 1) and for each label.  target: a new .parquet file.
    sent_for: as in `outgoing_reports.send`.
    count: column with the number of reports of a row, '' for one report per row.
    dialect: of the file.

    Raises InvalidRecord or InvalidReport, and SchemeError for a scheme without stated channels.
    """
    if scheme.is_asked:
        raise SchemeError(
            f"scheme {scheme.name}: receive is for stated channels; use `ldpflow collect` for its reports"
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
        outputs = [_outputs(scheme, name, frame[column].tolist(), first) for name, column in columns.items()]
        times = _whole(frame[count].tolist(), count, first) if count else np.ones(len(frame), dtype=np.int64)
        parts.append([*outputs, times[:, None]])
        first += len(frame)
    *outputs, times = (np.concatenate(column) for column in zip(*parts, strict=True))
    _check_units(scheme, dict(zip(columns, outputs, strict=True)))
    n = int(times.sum())
    if not 0 < n <= MOST:
        raise InvalidReport(f"{source}: {n:,} reports; a file needs between 1 and {MOST:,}: split it, or omit it")
    order = np.lexsort(np.hstack(outputs).T[::-1])
    rows = np.repeat(order, times[order, 0])
    answers = {name: _answers(values[rows]) for name, values in zip(columns, outputs, strict=True)}
    wire.write_reports(target, scheme, ReportBatch(scheme.digest, n, answers), sent_for)
    return n


def _check_units(scheme: Scheme, outputs: Mapping[str, np.ndarray]) -> None:
    """Raise InvalidReport if a client answers more than one unit under reporting = "one"."""
    if scheme.reporting == "one":
        answered = sum(np.any([outputs[name][:, 0] >= 0 for name in unit], axis=0).astype(int) for unit in scheme.units)
        if np.any(more := np.asarray(answered) > 1):
            raise InvalidReport(
                f"row {int(np.argmax(more)) + 1}: more than one attribute answered, as in {int(more.sum())} rows; with "
                'reporting = "one", leave all but one empty'
            )


def _outputs(scheme: Scheme, name: str, values: Sequence[Any], first: int) -> np.ndarray:
    """The integers of the reports, (n, size) int64, -1 for attributes that a client was not asked."""
    attribute, n = scheme.reported[name], len(values)
    if name in scheme.labels:
        return attribute.encode(values, first)[:, None]
    (size,) = attribute.mechanism.sizes
    if isinstance(attribute.mechanism, Stated):
        names = _output_names(attribute)
        cells, expected = names.cells(values), f"one of {listed(tuple(names.spellings))}"
        is_present = cells != ABSENT
    else:
        k, texts = attribute.mechanism.inputs, [_text(value) for value in values]
        cells = np.array([0 if len(text) == k and not text.strip("01") else UNKNOWN for text in texts], dtype=np.int64)
        is_present = np.array([text != "" for text in texts], dtype=bool)
        expected = f"a text of {k} digits, 1 or 0 for each category in order"
    if scheme.reporting == "all" and not is_present.all():
        raise _invalid(attribute, first + int(np.argmin(is_present)), "empty", "fill it in, or omit the row")
    outputs = np.full((n, size), -1, dtype=np.int64)
    if np.any(cells[is_present] < 0):
        raise _invalid(
            attribute,
            first + int(np.argmax(is_present & (cells < 0))),
            "not an output of its channel",
            f"expected {expected}",
        )
    if isinstance(attribute.mechanism, Stated):
        outputs[is_present, 0] = cells[is_present]
    else:
        ones = np.array([list(text) for text, present in zip(texts, is_present, strict=True) if present]) == "1"
        outputs[is_present] = packed(ones.reshape(-1, attribute.mechanism.inputs)).reshape(-1, size)
    return outputs


def _output_names(attribute: Attribute) -> Names:
    """The spellings of a channel's outputs in files: names, otherwise categories and their codes, otherwise numbers from 0."""
    mechanism = attribute.mechanism
    assert isinstance(mechanism, Stated)
    (many,) = mechanism.outputs
    if mechanism.names or len(attribute.categories) != many:
        return Names(attribute.column, mechanism.names or tuple(map(str, range(many))), {})
    return Names(attribute.column, attribute.categories, attribute.codes)


def _text(value: Any) -> str:
    """A cell of a file as text, '' if it is empty; whole numbers without a decimal point."""
    if value is None or value != value:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _whole(values: Sequence[Any], column: str, first: int) -> np.ndarray:
    """Number of reports of each row, (n,) int64."""
    texts = [without_point(_text(value)) for value in values]
    for place, text in enumerate(texts, first + 1):
        if not (text.isascii() and text.isdigit() and len(text) <= len(str(MOST))):
            raise InvalidReport(f"column {column!r}, row {place}: must be a whole number from 0 to {MOST:,}")
    return np.array(list(map(int, texts)), dtype=np.int64)


def _answers(outputs: np.ndarray) -> Answers:
    clients = np.flatnonzero(outputs[:, 0] >= 0)
    return Answers(clients, Reports(np.zeros(len(clients), dtype=np.uint8), outputs[clients].ravel()))


def _invalid(attribute: Attribute, position: int, problem: str, remedy: str) -> InvalidReport:
    return InvalidReport(f"column {attribute.column!r}, row {position + 1}: {problem}; {remedy}")
