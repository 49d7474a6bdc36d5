"""Write and read report batches and aggregates as Parquet.

A file appears whole under its name or not at all (written beside it, then moved), and only its owner can read it.  What is
read is checked: the scheme's digest and the columns.  A report that is not as long as its level says is kept as one of an
unknown level.  What a report may be is the mechanism's to say (`accepts`), and the aggregate counts what it refuses.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dpcore.errors import InvalidReport, SchemeMismatch
from dpcore.functionals.group import Group
from dpcore.mechanisms import Reports
from dpcore.protocol.aggregates import Aggregate
from dpcore.protocol.labelled import Labelled
from dpcore.protocol.report import Answers, ReportBatch, concatenate
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.tokens import NAME_BYTES, are_there
from dpcore.wire.files import opened, write_whole
from dpcore.wire.schema import (
    AGGREGATE,
    DIGEST,
    KIND,
    NAMES,
    REFUSED,
    ROUND,
    is_single,
    metadata,
    report_schema,
    sizes_of,
)

UNKNOWN_LEVEL = 255  # no mechanism has so many
PART = 1 << 17  # reports read at a time, twice a pipeline's block
_WIDE = 1 << 16  # values of an integer, beyond which a dictionary of them is longer than they are


def write_reports(path: Path, scheme: Scheme, batch: ReportBatch, sent_for: str = "") -> None:
    """Write a batch as one Parquet file, one row per client, sorted by their ids where they have any.

    sent_for: the round that the reports are for, by which they are known to be late; '' for whichever counts them.
    """
    _write(path, by_id(table_of(scheme, batch, sent_for)), **layout(scheme))


def by_id(table: pa.Table) -> pa.Table:
    """Return the rows of reports in order of their ids, which are random, so that their place tells nothing.

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
    order = np.argsort(words[:, 0], kind="stable")
    first = words[order, 0]
    if np.any(first[1:] == first[:-1]):  # senders choose ids, and may choose such
        order = np.lexsort((words[:, 1], words[:, 0]))
    return np.asarray(order)


def layout(scheme: Scheme) -> dict[str, Any]:
    """Return how Parquet lays out the columns of a report file: noise as differences of few bits, all else by dictionary.

    Noise packed so is not compressed: no compressor makes it shorter by a twentieth.
    """
    wide: list[str] = []
    few = list(NAMES)
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
            columns.append(pa.array(_spread(reports.values, absent), mask=absent))
        else:
            levels = _spread(reports.level, absent)
            lengths = np.asarray(scheme.reported[name].mechanism.sizes)[levels]
            if absent is not None:
                lengths[absent] = 0
            offsets = np.zeros(batch.n + 1, dtype=np.int32)
            np.cumsum(lengths, out=offsets[1:])
            columns.append(pa.array(levels, mask=absent))
            nulls = None if absent is None else pa.array(absent)
            columns.append(
                pa.ListArray.from_arrays(pa.array(offsets), pa.array(reports.values, pa.int64()), mask=nulls)
            )
    named = {name: held for name, held in zip(NAMES, (batch.ids, batch.tokens), strict=True) if held is not None}
    columns += [_names(held) for held in named.values()]
    schema = report_schema(scheme, named)
    stamp = {ROUND: sent_for.encode()} if sent_for else {}
    return pa.Table.from_arrays(columns, schema=schema.with_metadata({**(schema.metadata or {}), **stamp}))


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
            _check_stamp(path, scheme, "reports", file.schema_arrow.metadata or {})
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
        raise _missing(path, "reports") from None
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, error) from None


def batch_of(scheme: Scheme, columns: pa.RecordBatch) -> ReportBatch:
    """Return the reports in the columns of a report file."""
    ids, tokens = (names_of(columns.column(name)) if name in columns.schema.names else None for name in NAMES)
    answers = {name: answers_of(scheme, name, columns) for name in scheme.reported}
    return ReportBatch(scheme.digest, columns.num_rows, answers, ids, tokens)


def _names(names: np.ndarray) -> pa.Array:
    """Ids or tokens, (n, 16) uint8, as a column: null where all bytes are zero."""
    mask = pa.array(~are_there(names))
    whole = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(NAME_BYTES), len(names), [None, pa.py_buffer(np.ascontiguousarray(names).tobytes())]
    )
    return pc.if_else(mask, pa.scalar(None, pa.binary(NAME_BYTES)), whole)


def names_of(column: pa.Array) -> np.ndarray:
    """Return ids or tokens of a column, (n, 16) uint8, zeros where it is null."""
    values = pc.fill_null(column, bytes(NAME_BYTES))
    start = values.offset * NAME_BYTES
    data = np.frombuffer(values.buffers()[1] or b"", dtype=np.uint8)
    return data[start : start + len(values) * NAME_BYTES].reshape(-1, NAME_BYTES).copy()


def read_stamp(path: Path, scheme: Scheme) -> tuple[str, int]:
    """Return the round that a file of reports is sent for, '' if it says none, and how many reports it holds.

    Raises what `read_reports` does, but for the columns.
    """
    footer, held = _stamp(path, scheme)
    return held.get(ROUND, b"").decode(), int(footer.num_rows)


def read_refused(path: Path, scheme: Scheme) -> dict[str, int]:
    """Return how many reports a collector refused beside those in its file, by reason; raises what `read_stamp` does."""
    _, held = _stamp(path, scheme)
    try:
        refused = {str(reason): int(count) for reason, count in json.loads(held.get(REFUSED, b"{}")).items()}
    except (ValueError, TypeError, AttributeError):
        refused = {"": 0}
    if any(count < 1 for count in refused.values()):
        raise InvalidReport(f"{path} does not say how many reports were refused; put back the file as it was written")
    return refused


def _stamp(path: Path, scheme: Scheme) -> tuple[Any, Mapping[bytes, bytes]]:
    """What a file's footer says, and its metadata."""
    try:
        with opened(path) as file:
            footer = pq.read_metadata(file)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, error) from None
    held = footer.metadata or {}
    _check_stamp(path, scheme, "reports", held)
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


def write_aggregate(path: Path, aggregate: Aggregate) -> None:
    """Write an aggregate as one Parquet file, one row per statistic."""
    scheme = aggregate.scheme
    rows: list[tuple[str, str, str, int, int, int]] = [("", "", "clients", 0, 0, aggregate.n)]
    rows += [(name, "", "answered", 0, 0, count) for name, count in aggregate.answered.items()]
    rows += [(reason, "", "rejected", 0, 0, count) for reason, count in aggregate.rejected.items()]
    rows += [(reason, "", "example", 0, 0, position) for reason, position in aggregate.examples.items()]
    for name, statistics in aggregate.statistics.items():
        rows += statistic_rows(scheme, name, "", statistics)
    for (name, other), tables in aggregate.pairs.items():
        for category, statistics in zip(scheme.attributes[other].categories, tables, strict=True):
            rows += statistic_rows(scheme, name, str(Group(other, category)), statistics)
    for name, counts in aggregate.marginals.items():
        rows += [(name, "", "marginal", 0, cell, int(count)) for cell, count in enumerate(counts)]
    if aggregate.labelled is not None:
        for number, table in enumerate(aggregate.labelled.tables()):
            held = table.ravel()
            rows += [("", "", "labelled", number, int(cell), int(held[cell])) for cell in np.flatnonzero(held)]
    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    _write(
        path,
        pa.Table.from_arrays(columns, schema=AGGREGATE.with_metadata(metadata(scheme, "aggregate"))),
        compression="zstd",
    )


def statistic_rows(
    scheme: Scheme, name: str, given: str, statistics: np.ndarray
) -> list[tuple[str, str, str, int, int, int]]:
    """Return (attribute, given, statistic, level, cell, value) for each of an attribute's statistics."""
    labels = scheme.attributes[name].mechanism.labels()
    return [
        (name, given, str(statistic), int(level), int(cell), int(value))
        for statistic, level, cell, value in zip(labels.statistic, labels.level, labels.cell, statistics, strict=True)
    ]


def read_aggregate(path: Path, scheme: Scheme) -> Aggregate:
    """Return the aggregate in a file, bit-equal to the one written.

    Raises InvalidReport where the file is unreadable or not of this shape, SchemeMismatch where it belongs to another scheme.
    """
    try:
        with opened(path) as file:
            table = pq.read_table(file, partitioning=None)
    except FileNotFoundError:
        raise _missing(path, "aggregate") from None
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, error) from None
    _check_stamp(path, scheme, "aggregate", table.schema.metadata or {})
    if not table.schema.equals(AGGREGATE):
        raise InvalidReport(f"{path} does not have the columns of an aggregate; aggregate the reports anew")
    kinds = np.asarray(table.column("statistic").to_pylist())
    names = np.asarray(table.column("attribute").to_pylist())
    givens = np.asarray(table.column("given").to_pylist())
    values = table.column("value").to_numpy()
    measured = np.isin(kinds, ("reports", "count", "sum"))

    def one(kind: str) -> dict[str, int]:
        return {str(name): int(value) for name, value in zip(names[kinds == kind], values[kinds == kind], strict=True)}

    def block(name: str, given: str, size: int) -> np.ndarray:
        statistics = values[measured & (names == name) & (givens == given)]
        if len(statistics) != size:
            raise InvalidReport(f"{path} lacks statistics of {name}; aggregate the reports anew")
        return statistics.astype(np.int64)

    zero = Aggregate.zero(scheme)
    return Aggregate(
        scheme,
        one("clients").get("", 0),
        {name: block(name, "", len(size)) for name, size in zero.statistics.items()},
        {
            (name, other): np.stack(
                [
                    block(name, str(Group(other, category)), size.shape[1])
                    for category in scheme.attributes[other].categories
                ]
            )
            for (name, other), size in zero.pairs.items()
        },
        one("answered"),
        one("rejected"),
        one("example"),
        {
            str(name): values[(kinds == "marginal") & (names == name)]
            for name in sorted(set(names[kinds == "marginal"]))
        },
        _filled(zero.labelled, table.filter(pa.array(kinds == "labelled"))),
    )


def _filled(zero: Labelled | None, rows: pa.Table) -> Labelled | None:
    """The tables by label, from their entries that are not zero."""
    if zero is None:
        return None
    numbers, cells, values = (rows.column(name).to_numpy() for name in ("level", "cell", "value"))
    for number, table in enumerate(zero.tables()):
        table.reshape(-1)[cells[numbers == number]] = values[numbers == number]
    return zero


def _write(path: Path, table: pa.Table, **layout: Any) -> None:
    write_whole(path, lambda beside: pq.write_table(table, beside, **layout), private=True)


def _missing(path: Path, kind: str) -> InvalidReport:
    return InvalidReport(f"no {kind} at {path}; collect the round first")


def unreadable(path: Path, error: Exception) -> InvalidReport:
    """Return what to raise where a file is no Parquet file."""
    reason = str(error).splitlines()[0]
    return InvalidReport(f"{path} cannot be read as Parquet ({reason}); it may be cut short: collect it anew")


def _check_stamp(path: Path, scheme: Scheme, kind: str, held: Mapping[bytes, bytes]) -> None:
    if held.get(KIND) != kind.encode():
        raise InvalidReport(f"{path} is not a file of {kind} that ldpflow wrote")
    if held.get(DIGEST) != scheme.digest.encode():
        other = held.get(DIGEST, b"").decode()[:12]
        raise SchemeMismatch(
            f"{path} belongs to scheme {other}, expected {scheme.digest[:12]}; use the scheme it was made under"
        )
