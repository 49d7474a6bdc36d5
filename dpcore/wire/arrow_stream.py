"""Reports in bulk as bytes: an Arrow stream, which clients post, and the rows of it that a collector keeps.

A stream has the columns of a report file with `_report_id`, with or without `_client_token`, and its metadata
(`parquet_reports`).  It ends with its end-of-stream mark and holds no compressed buffer and no dictionary, so that it never
grows when it is read. Bytes that are no such stream are refused whole; its rows are refused one by one, each for one of
`REASONS`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpcore.errors import InvalidReport
from dpcore.protocol import tokens
from dpcore.protocol.report import Report, ReportBatch
from dpcore.protocol.scheme import Scheme
from dpcore.wire.json_report import REASONS, ROUND_NAME
from dpcore.wire.parquet_reports import (
    DIGEST,
    KIND,
    NAMES,
    REFUSED,
    ROUND,
    SEGMENT,
    UNKNOWN_LEVEL,
    answers_of,
    by_id,
    is_single,
    layout,
    names_of,
    report_schema,
    sizes_of,
    table_of,
)

_END = b"\xff\xff\xff\xff\0\0\0\0"  # of every Arrow stream
_HEADER, _COMPRESSION = 2, 3  # fields of the flatbuffers' tables Message and RecordBatch


@dataclass(frozen=True, eq=False)
class Rows:
    """Reports of one scheme that are sent for one round, with ids; '' where they are for whichever round counts them."""

    scheme: Scheme
    sent_for: str
    columns: pa.RecordBatch

    def __len__(self) -> int:
        return int(self.columns.num_rows)

    def __repr__(self) -> str:
        return f"<Rows of {len(self)} reports under {self.scheme.digest[:12]}>"

    @cached_property
    def ids(self) -> np.ndarray:
        """The bytes of each report's id, (n, 16) uint8, zeros where it has none."""
        return names_of(self.columns.column(NAMES[0]))

    def where(self, mask: np.ndarray) -> Rows:
        """Return the rows for which `mask`, (n,) bool, is true."""
        return self if mask.all() else replace(self, columns=self.columns.filter(pa.array(mask)))

    def part(self, start: int, count: int) -> Rows:
        """Return at most `count` rows from `start` on."""
        return replace(self, columns=self.columns.slice(start, count))

    def to_stream(self) -> bytes:
        """Return the rows as a stream, which `read_stream` reads."""
        return _stream_of(pa.Table.from_batches([self.columns]), self.sent_for)

    def to_bytes(self) -> bytes:
        """Return the rows without their schema, as `write_segment` takes them."""
        return self.columns.serialize().to_pybytes()


def write_stream(batch: ReportBatch, scheme: Scheme, sent_for: str = "") -> bytes:
    """Return reports as a client posts many of them; raises InvalidReport where one has no id."""
    if batch.ids is None or not tokens.are_there(batch.ids).all():
        raise InvalidReport("a report travels with an id; see dpcore.protocol.report.with_ids")
    return _stream_of(table_of(scheme, batch, ""), sent_for)


def _stream_of(table: pa.Table, sent_for: str) -> bytes:
    schema = table.schema.with_metadata({**table.schema.metadata, ROUND: sent_for.encode()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_table(table.replace_schema_metadata(schema.metadata))
    return sink.getvalue().to_pybytes()


def read_stream(content: bytes, scheme: Scheme) -> Rows:
    """Return the rows of a stream, yet to be judged; raises InvalidReport where the bytes are not a stream of reports."""
    try:
        columns = _columns(content, scheme)
    except (pa.ArrowException, OSError, ValueError, struct.error, MemoryError):  # its text may show contents
        raise InvalidReport("not an Arrow stream, uncompressed and whole, of the columns of a report file") from None
    stamp = columns.schema.metadata or {}
    sent_for = stamp.get(ROUND, b"")
    if stamp.get(KIND) != b"reports" or stamp.get(DIGEST) != scheme.digest.encode():
        raise InvalidReport(f"not a stream of reports under scheme {scheme.digest[:12]}")
    if not ROUND_NAME.fullmatch(sent_for.decode("latin-1")):
        raise InvalidReport("a round is at most 63 letters, digits and ._:- such as 2026-11-20")
    return Rows(scheme, sent_for.decode(), _with_tokens(columns, scheme))


def _columns(content: bytes, scheme: Scheme) -> pa.RecordBatch:
    if not content.endswith(_END):
        raise pa.ArrowInvalid("cut short")
    source = pa.BufferReader(content)
    kinds = []
    for message in pa.ipc.MessageReader.open_stream(source):
        kinds.append(message.type)
        if message.type == "record batch" and _is_compressed(message.metadata.to_pybytes()):
            raise pa.ArrowInvalid("compressed")
    if source.tell() != len(content) or kinds[:1] != ["schema"] or set(kinds[1:]) - {"record batch"}:
        raise pa.ArrowInvalid("more than a stream, or a dictionary")
    with pa.ipc.open_stream(pa.py_buffer(content)) as reader:
        if reader.schema.remove_metadata() not in _schemas(scheme):
            raise pa.ArrowInvalid("other columns")
        batches = [pa.RecordBatch.from_arrays([[] for _ in reader.schema], schema=reader.schema), *reader]
    for batch in batches[1:]:
        batch.validate(full=True)
    return batches[1] if len(batches) == 2 else pa.concat_batches(batches)


def _schemas(scheme: Scheme) -> list[pa.Schema]:
    return [report_schema(scheme, names).remove_metadata() for names in (NAMES[:1], NAMES)]


def _is_compressed(message: bytes) -> bool:
    """Whether the header of a record batch, whose flatbuffer Arrow has verified, has the field `compression`."""

    def field(table: int, number: int) -> int:
        vtable = table - struct.unpack_from("<i", message, table)[0]
        size, at = struct.unpack_from("<H", message, vtable)[0], 4 + 2 * number
        offset = struct.unpack_from("<H", message, vtable + at)[0] if at < size else 0
        return table + offset if offset else 0

    header = field(struct.unpack_from("<I", message, 0)[0], _HEADER)
    return bool(field(header + struct.unpack_from("<I", message, header)[0], _COMPRESSION))


def _with_tokens(columns: pa.RecordBatch, scheme: Scheme) -> pa.RecordBatch:
    """The columns as they are kept: always with tokens, null where there are none, and with no metadata but the scheme's."""
    arrays = list(columns.columns)
    schema = report_schema(scheme, NAMES)
    if len(arrays) < len(schema):
        arrays.append(pa.nulls(len(columns), schema.field(NAMES[1]).type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def rows_of(reports: Sequence[Report], scheme: Scheme) -> Rows:
    """Return single reports that `read_report` has taken, all sent for one round, as rows."""
    arrays: list[pa.Array] = []
    for name in scheme.reported:
        answers = [report.answers.get(name) for report in reports]
        if is_single(scheme, name):
            arrays.append(pa.array([answer and answer[1][0] for answer in answers], pa.int64()))
        else:
            arrays.append(pa.array([answer and answer[0] for answer in answers], pa.uint8()))
            arrays.append(pa.array([answer and answer[1] for answer in answers], pa.list_(pa.int64())))
    names = [report.id for report in reports], [report.token for report in reports]
    arrays += [
        pa.array([text and tokens.from_text(text) for text in texts], pa.binary(tokens.NAME_BYTES)) for texts in names
    ]
    sent_for = reports[0].sent_for if reports else ""
    return Rows(scheme, sent_for, pa.RecordBatch.from_arrays(arrays, schema=report_schema(scheme, NAMES)))


def joined(parts: Sequence[Rows]) -> Rows:
    """Join rows of one scheme, sent for one round, in order; parts: at least one."""
    return (
        parts[0] if len(parts) == 1 else replace(parts[0], columns=pa.concat_batches([part.columns for part in parts]))
    )


def judge(rows: Rows) -> np.ndarray:
    """Return each row's first fault, (n,) uint8: 1 + its reason's place in `REASONS`, 0 where there is none."""
    scheme, columns = rows.scheme, rows.columns
    faults = np.zeros(len(rows), dtype=np.uint8)

    def refuse(reason: str, refused: Any) -> None:
        faults[refused & (faults == 0)] = 1 + REASONS.index(reason)

    refuse("malformed_id", ~tokens.are_there(rows.ids))
    held = columns.column(NAMES[1])
    named = _is_valid(held)
    clients = names_of(held) if named.any() else np.zeros((len(rows), tokens.NAME_BYTES), dtype=np.uint8)
    refuse("malformed_token", named & ~tokens.are_there(clients))
    answered = {name: _is_valid(columns.column(_first_of(scheme, name))) for name in scheme.reported}
    halves = [name for name in scheme.attributes if not is_single(scheme, name)]
    for name in halves:
        refuse("incomplete", answered[name] ^ _is_valid(columns.column(f"{name}_values")))
    refuse("incomplete", ~_is_complete(scheme, answered))
    levels = tokens.levels_said(scheme, clients, np.flatnonzero(named & (faults == 0)))
    for name, public in levels.items():
        refuse("wrong_unit", (public > tokens.NO_TOKEN) & ((public >= 0) != answered[name]))
    for name, attribute in scheme.reported.items():
        answers = answers_of(scheme, name, columns)
        level = np.zeros(len(answers), dtype=np.int64)
        if name in halves:
            level = columns.column(f"{name}_level").drop_null().to_numpy(zero_copy_only=False).astype(np.int64)
        public = levels[name][answers.clients] if name in levels else np.full(len(answers), tokens.NO_TOKEN)
        odd = answers.reports.level == UNKNOWN_LEVEL
        faulty = {
            "wrong_length": odd & (level < len(sizes_of(scheme, name))),
            "unknown_level": odd,
            "wrong_level": (public >= 0) & (level != public),
            "out_of_range": ~attribute.mechanism.accepts(answers.reports),
        }
        for reason, mask in faulty.items():
            if mask.any():
                refused = np.zeros(len(rows), dtype=bool)
                refused[answers.clients[mask]] = True
                refuse(reason, refused)
    return faults


def _is_valid(column: pa.Array) -> np.ndarray:
    if not column.null_count:
        return np.ones(len(column), dtype=bool)
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False))


def _first_of(scheme: Scheme, name: str) -> str:
    return name if is_single(scheme, name) else f"{name}_level"


def _is_complete(scheme: Scheme, answered: Mapping[str, np.ndarray]) -> np.ndarray:
    """Which rows have every label and answer everything, or exactly one unit where the scheme asks that of a client."""
    if scheme.reporting == "all":
        return np.asarray(np.logical_and.reduce(list(answered.values())))
    pattern = np.stack([answered[name] for name in scheme.attributes])
    units = [np.array([name in unit for name in scheme.attributes]) for unit in scheme.units]
    is_one = np.logical_or.reduce([(pattern == unit[:, None]).all(axis=0) for unit in units])
    return np.asarray(np.logical_and.reduce([is_one, *(answered[name] for name in scheme.labels)]))


def write_segment(
    scheme: Scheme,
    sent_for: str,
    bodies: Iterable[bytes],
    refused: Mapping[str, int],
    *,
    segment: str = "",
    as_they_came: bool = False,
) -> bytes:
    """Return a report file made of rows as `Rows.to_bytes` gave them, all of them sorted by their ids.

    refused: reason -> how many reports were not taken.  segment: which of its collector's files it is, without which two that
    hold refusals alone could be the same bytes.  as_they_came: unsorted, as an ldpflow before 2026-11-22 wrote them.
    """
    table = _table_of(scheme, bodies)
    stamp = {ROUND: sent_for.encode()} if sent_for else {}
    stamp |= {REFUSED: json.dumps(dict(refused)).encode()} if refused else {}
    stamp |= {SEGMENT: segment.encode()} if segment else {}
    table = table.replace_schema_metadata({**table.schema.metadata, **stamp})
    sink = pa.BufferOutputStream()
    pq.write_table(table if as_they_came else by_id(table), sink, **layout(scheme))
    return sink.getvalue().to_pybytes()


def write_kept(scheme: Scheme, sent_for: str, bodies: Iterable[bytes]) -> bytes:
    """Return a stream made of rows as `Rows.to_bytes` gave them, all of them sorted by their ids."""
    return _stream_of(by_id(_table_of(scheme, bodies)), sent_for)


def _table_of(scheme: Scheme, bodies: Iterable[bytes]) -> pa.Table:
    schema = report_schema(scheme, NAMES)
    return pa.Table.from_batches([pa.ipc.read_record_batch(pa.py_buffer(body), schema) for body in bodies], schema)
