"""Report batches as Parquet: the columns of the files, and functions that write and read them.

A file appears whole under its name or not at all (written beside it, then moved), and only its owner can read it.  What is
read is checked: the scheme's digest and the columns.  A report whose length does not fit its level is kept as one of an
unknown level.  What a report may be is the mechanism's to say (`accepts`), and the aggregate counts what it refuses.

The shape of the files.

Reports: one row per client.  An attribute whose report is one integer at one level is a column of its name (int64); any other
is a pair of columns, NAME_level (uint8) and NAME_values (list of int64).  A client that did not report an attribute has nulls.
A label is a column of one integer.  Where reports have names, two more columns of 16 bytes hold them: _report_id and
_client_token, no attribute's name.
Aggregates: one row per statistic.  Both carry the scheme's digest in the file's metadata and are refused under another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpcore.errors import InvalidReport, SchemeMismatch
from dpcore.mechanisms import Reports
from dpcore.protocol.report import Answers, ReportBatch, concatenate, in_order
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.tokens import NAME_BYTES, are_there
from dpcore.wire.files import opened, write_whole
from dpcore.wire.json_report import ROUND_NAME

DIGEST = b"ldpflow.scheme_digest"
KIND = b"ldpflow.kind"
NAMES = ("_report_id", "_client_token")  # columns that a report file may have
ROUND = b"ldpflow.round"  # of a report file: the round it is sent for
REFUSED = b"ldpflow.refused"  # of a collector's report file: reason -> how many reports it did not take, as JSON
SEGMENT = b"ldpflow.segment"  # of a collector's report file: which of its files it is
AGGREGATE = pa.schema(
    [
        ("attribute", pa.string()),
        ("given", pa.string()),  # '' or 'ATTRIBUTE=CATEGORY', the reported category
        # 'reports', 'count', 'sum', or 'clients', 'answered', 'rejected', 'example', 'marginal', 'labelled', 'pair'
        ("statistic", pa.string()),
        ("level", pa.int64()),
        ("cell", pa.int64()),
        ("value", pa.int64()),
    ]
)
UNKNOWN_LEVEL = 255  # no mechanism has so many
PART = 1 << 17  # reports read at a time, twice a pipeline's block
_SHARE = 1 << 17  # ids whose first 47 bits are hardly ever those of another's
_WIDE = 1 << 16  # values of an integer, beyond which a dictionary of them is longer than they are
_REASON = re.compile(r"[a-z_]{1,63}")  # for which a collector refuses reports
_MOST_REFUSED = 10**12  # for one reason: as many as clients that may be planned for


@lru_cache(maxsize=1024)
def sizes_of(scheme: Scheme, name: str) -> tuple[int, ...]:
    """Return how many integers a report of each level of an attribute, or a label, holds."""
    return scheme.reported[name].mechanism.sizes


def is_single(scheme: Scheme, name: str) -> bool:
    """Return whether a report of the attribute is one integer at one level."""
    return sizes_of(scheme, name) == (1,)


def report_schema(scheme: Scheme, names: Collection[str] = ()) -> pa.Schema:
    """Return the columns of a report file under a scheme; names: those of `NAMES` that it has."""
    return _report_schema(scheme, tuple(name for name in NAMES if name in names))


@lru_cache(maxsize=256)
def _report_schema(scheme: Scheme, names: tuple[str, ...]) -> pa.Schema:
    fields: list[tuple[str, pa.DataType]] = []
    for name in scheme.reported:
        if is_single(scheme, name):
            fields.append((name, pa.int64()))
        else:
            fields += [(f"{name}_level", pa.uint8()), (f"{name}_values", pa.list_(pa.int64()))]
    fields += [(name, pa.binary(NAME_BYTES)) for name in names]
    return pa.schema(fields, metadata=metadata(scheme, "reports"))


def metadata(scheme: Scheme, kind: str) -> dict[bytes, bytes]:
    """Return the metadata that every file has."""
    return {DIGEST: scheme.digest.encode(), KIND: kind.encode()}


def write_reports(path: Path, scheme: Scheme, batch: ReportBatch, sent_for: str = "") -> None:
    """Write a batch as one Parquet file, one row per client, sorted by their ids where they have any.

    sent_for: the round that the reports are for, by which they are known to be late; '' for whichever counts them.
    """
    if batch.ids is not None and batch.n:
        sizes = {name: attribute.mechanism.sizes for name, attribute in scheme.reported.items()}
        batch = in_order(batch, order_of(batch.ids), sizes)
    write_table(path, table_of(scheme, batch, sent_for), **layout(scheme))


def by_id(table: pa.Table) -> pa.Table:
    """Return the rows of reports in order of their ids, which are random, so that their place reveals nothing.

    The order in which they came would, beside a proxy's log, say whose each of them is.
    """
    if NAMES[0] not in table.schema.names or not len(table):
        return table
    table = table.combine_chunks()
    order = order_of(names_of(pa.concat_arrays(table.column(NAMES[0]).chunks)))
    return table.take(pa.array(order))


def order_of(ids: np.ndarray) -> np.ndarray:
    """Return the places of ids, (n, 16) uint8, in the order of their bytes; of equal ones the first comes first."""
    words = np.ascontiguousarray(ids).view(">u8").astype(np.uint64)
    first = words[:, 0]
    if len(first) <= _SHARE:
        # Numbers are sorted in half the time of their places, which are put in place of their last bits.
        low = np.uint64(_SHARE - 1)
        together = np.sort(first & ~low | np.arange(len(first), dtype=np.uint64))
        if np.all(together[1:] & ~low != together[:-1] & ~low):
            return (together & low).astype(np.intp)
    order = np.argsort(first)
    if np.any(first[order[1:]] == first[order[:-1]]):  # senders choose ids, and may choose such; that sort is stable
        order = np.lexsort((words[:, 1], first))
    return np.asarray(order)


def layout(scheme: Scheme) -> dict[str, Any]:
    """Return how Parquet lays out the columns of a report file: noise as differences of few bits, ids as they are.

    All else is by dictionary.  Ids and noise packed so are not compressed: no compressor makes them shorter by a twentieth.
    """
    wide: list[str] = []
    few: list[str] = []
    for name in scheme.reported:
        if is_single(scheme, name):
            few.append(name)
        else:
            few.append(f"{name}_level")
            (wide if _is_wide(scheme, name) else few).append(f"{name}_values.list.element")
    return {
        "compression": dict.fromkeys(few, "zstd"),
        "use_dictionary": few,
        "write_statistics": few,
        "column_encoding": dict.fromkeys(wide, "DELTA_BINARY_PACKED"),
    }


def _is_wide(scheme: Scheme, name: str) -> bool:
    """Whether an attribute's reports hold integers of more values than a dictionary is good for."""
    mechanism = scheme.reported[name].mechanism
    spans = [high - low for low, high in map(mechanism.ranges, range(len(mechanism.sizes)))]
    return any(np.any(span >= _WIDE) for span in spans)


def table_of(scheme: Scheme, batch: ReportBatch, sent_for: str) -> pa.Table:
    """Return a batch as the columns of a report file."""
    columns: list[pa.Array] = []
    for name in scheme.reported:
        answers = batch.of(name)
        reports, absent = answers.reports, None
        if len(answers) < batch.n:
            absent = np.ones(batch.n, dtype=bool)
            absent[answers.clients] = False
        if is_single(scheme, name):
            columns.append(_column(pa.int64(), _spread(reports.values, absent), absent))
        else:
            levels = _spread(reports.level, absent)
            lengths = np.asarray(scheme.reported[name].mechanism.sizes)[levels]
            if absent is not None:
                lengths[absent] = 0
            offsets = np.zeros(batch.n + 1, dtype=np.int32)
            np.cumsum(lengths, out=offsets[1:])
            columns.append(_column(pa.uint8(), levels, absent))
            values = _column(pa.int64(), reports.values)
            columns.append(_column(pa.list_(pa.int64()), offsets, absent, children=[values]))
    named = {name: held for name, held in zip(NAMES, (batch.ids, batch.tokens), strict=True) if held is not None}
    columns += [_names(held) for held in named.values()]
    schema = report_schema(scheme, named)
    stamp = {ROUND: sent_for.encode()} if sent_for else {}
    return pa.Table.from_arrays(columns, schema=schema.with_metadata({**(schema.metadata or {}), **stamp}))


def _column(kind: pa.DataType, held: np.ndarray, absent: np.ndarray | None = None, **children: Any) -> pa.Array:
    """A column of what an array holds, null where `absent`, (n,) bool: Arrow's own way would load pandas, to see what it is."""
    is_there = None if absent is None else pa.py_buffer(np.packbits(~absent, bitorder="little"))
    n = len(held) - 1 if children else len(held)  # a list's are offsets
    return pa.Array.from_buffers(kind, n, [is_there, pa.py_buffer(np.ascontiguousarray(held))], **children)


def _spread(answers: np.ndarray, absent: np.ndarray | None) -> np.ndarray:
    """The answers of those who answered, zeros in the places of the others."""
    if absent is None:
        return answers
    all_of_them = np.zeros(len(absent), dtype=answers.dtype)
    all_of_them[~absent] = answers
    return all_of_them


def read_reports(path: Path, scheme: Scheme) -> ReportBatch:
    """Return the batch in a file.

    Raises InvalidReport where the file is unreadable or not of this shape, SchemeMismatch where it belongs to another scheme.
    """
    return concatenate(read_parts(path, scheme))


def read_parts(
    path: Path, scheme: Scheme, size: int = PART, *, without: np.ndarray | None = None
) -> Iterator[ReportBatch]:
    """Yield the batch in a file in parts of `size` reports, in order, the last one shorter; one part where there are none.

    without: positions of reports that are left out.  No more of the file is held than a part and what is read ahead of it.
    Raises what `read_reports` does.
    """
    try:
        with opened(path) as source, pq.ParquetFile(source) as file:
            check_stamp(path, scheme, "reports", file.schema_arrow.metadata or {})
            named = [name for name in NAMES if name in file.schema_arrow.names]
            if not file.schema_arrow.equals(report_schema(scheme, named)):
                raise InvalidReport(
                    f"{path} does not have the columns of a report file under scheme {scheme.name}; collect it anew"
                )
            if not file.metadata.num_rows:
                yield batch_of(scheme, pa.RecordBatch.from_pylist([], file.schema_arrow))
            at = 0
            for columns in file.iter_batches(size, use_threads=False):
                mask = np.ones(len(columns), dtype=bool)
                if without is not None:
                    mask[without[(without >= at) & (without < at + len(columns))] - at] = False
                at += len(columns)
                yield batch_of(scheme, columns if mask.all() else columns.filter(pa.array(mask)))
    except FileNotFoundError:
        raise missing(path, "reports") from None
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, error) from None


def batch_of(scheme: Scheme, columns: pa.RecordBatch) -> ReportBatch:
    """Return the reports in the columns of a report file."""
    ids, tokens = (names_of(columns.column(name)) if name in columns.schema.names else None for name in NAMES)
    answers = {name: answers_of(scheme, name, columns) for name in scheme.reported}
    return ReportBatch(scheme.digest, columns.num_rows, answers, ids, tokens)


def _names(names: np.ndarray) -> pa.Array:
    """Ids or tokens, (n, 16) uint8, as a column: null where all bytes are zero."""
    absent = ~are_there(names)
    return _column(pa.binary(NAME_BYTES), names, absent if absent.any() else None)


def names_of(column: pa.Array) -> np.ndarray:
    """Return ids or tokens of a column, (n, 16) uint8, zeros where it is null."""
    values = column.fill_null(bytes(NAME_BYTES)) if column.null_count else column
    start = values.offset * NAME_BYTES
    data = np.frombuffer(values.buffers()[1] or b"", dtype=np.uint8)
    return data[start : start + len(values) * NAME_BYTES].reshape(-1, NAME_BYTES).copy()


def read_stamp(path: Path, scheme: Scheme) -> tuple[str, int]:
    """Return the round that a file of reports is sent for, '' if it declares none, and how many reports it holds.

    Raises what `read_reports` does, but for the columns.
    """
    footer, held = _stamp(path, scheme)
    sent_for = held.get(ROUND, b"").decode("latin-1")
    if not ROUND_NAME.fullmatch(sent_for):
        raise InvalidReport(f"{path} does not say which round it is for; put back the file as it was written")
    return sent_for, int(footer.num_rows)


def read_refused(path: Path, scheme: Scheme) -> dict[str, int]:
    """Return how many reports a collector refused beside those in its file, by reason; raises what `read_stamp` does."""
    _, held = _stamp(path, scheme)
    try:
        refused = json.loads(held.get(REFUSED, b"{}"))
    except (ValueError, RecursionError):
        refused = None
    if not isinstance(refused, dict) or not all(
        _REASON.fullmatch(reason) and type(count) is int and 1 <= count <= _MOST_REFUSED
        for reason, count in refused.items()
    ):
        raise InvalidReport(f"{path} does not say how many reports were refused; put back the file as it was written")
    return refused


def _stamp(path: Path, scheme: Scheme) -> tuple[Any, Mapping[bytes, bytes]]:
    """A file's footer and its metadata."""
    try:
        with opened(path) as file:
            footer = pq.read_metadata(file)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, error) from None
    held = footer.metadata or {}
    check_stamp(path, scheme, "reports", held)
    return footer, held


def answers_of(scheme: Scheme, name: str, columns: pa.RecordBatch) -> Answers:
    """Return the answers to an attribute in the columns of a report file."""
    if is_single(scheme, name):
        column = columns.column(name)
        values = column.drop_null().to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
        return Answers(_answered(column), Reports(np.zeros(len(values), dtype=np.uint8), values))
    levels, lists = columns.column(f"{name}_level"), columns.column(f"{name}_values")
    clients = _answered(levels)
    level = levels.drop_null().to_numpy(zero_copy_only=False).copy()
    if len(clients) < len(lists):
        lists = lists.take(pa.array(clients))
    lengths = (lists.value_lengths().fill_null(0) if lists.null_count else lists.value_lengths()).to_numpy()
    flat = lists.flatten()
    # What its level does not describe becomes a report of a level nobody knows, which the aggregate refuses and counts.
    sizes = np.array([*sizes_of(scheme, name), -1])
    odd = lengths != sizes[np.minimum(level, len(sizes) - 1)]
    if flat.null_count:
        owner = np.repeat(np.arange(len(lengths)), lengths)
        odd[owner[flat.is_null().to_numpy(zero_copy_only=False)]] = True
    if odd.any():
        level[odd] = UNKNOWN_LEVEL
        flat = flat.filter(pa.array(np.repeat(~odd, lengths)))
    return Answers(clients, Reports(level, flat.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)))


def _answered(column: pa.Array) -> np.ndarray:
    """The positions of those who answered."""
    if not column.null_count:
        return np.arange(len(column))
    return np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))


def write_table(path: Path, table: pa.Table, **layout: Any) -> None:
    """Write a table as one Parquet file that its owner alone can read."""
    write_whole(path, lambda beside: pq.write_table(table, beside, **layout), private=True)


def missing(path: Path, kind: str) -> InvalidReport:
    """Return what to raise where there is no such file."""
    return InvalidReport(f"no {kind} at {path}; collect the round first")


def unreadable(path: Path, error: Exception) -> InvalidReport:
    """Return what to raise where a file is no Parquet file."""
    reason = str(error).splitlines()[0]
    return InvalidReport(f"{path} cannot be read as Parquet ({reason}); it may be cut short: collect it anew")


def check_stamp(path: Path, scheme: Scheme, kind: str, held: Mapping[bytes, bytes]) -> None:
    """Raise InvalidReport where a file's metadata is of another kind, SchemeMismatch where it is of another scheme."""
    if held.get(KIND) != kind.encode():
        raise InvalidReport(f"{path} is not a file of {kind} that ldpflow wrote")
    if held.get(DIGEST) != scheme.digest.encode():
        other = held.get(DIGEST, b"")[:12].decode("latin-1")
        other = other if other.isascii() and other.isalnum() else "none"  # somebody may have written two lines
        raise SchemeMismatch(
            f"{path} belongs to scheme {other}, expected {scheme.digest[:12]}; use the scheme it was made under"
        )
