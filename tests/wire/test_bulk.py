"""Many reports as an Arrow stream: what comes back, what is refused whole, and what each row is refused for."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import dpcore as dp
from dpcore import wire
from dpcore.errors import InvalidReport
from dpcore.protocol import tokens
from dpcore.protocol.report import Report, batch_of
from dpcore.protocol.scheme import Scheme
from tests.helpers import client_cases
from tests.helpers.schemes import Parsed

SCHEMES = Parsed(client_cases.SCHEMES)


def reports_of(name: str, count: int = 8, tokened: bool = True) -> list[Report]:
    """Every second one with a token."""
    scheme, records = SCHEMES[name], client_cases.RECORDS[name]
    named = [tokens.token_of(bytes([k]) * 16, scheme.digest) if tokened and k % 2 else None for k in range(count)]
    return [dp.Client(scheme, dp.seeded(k), token).report(records[k % 2]) for k, token in enumerate(named)]


def stream(columns: pa.RecordBatch, **options: object) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, columns.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_batch(columns)
    return bytes(sink.getvalue().to_pybytes())


def reasons(columns: pa.RecordBatch, scheme: Scheme) -> list[str]:
    faults = wire.judge(wire.read_stream(stream(columns), scheme))
    return [wire.REASONS[fault - 1] if fault else "" for fault in faults]


def changed(rows: wire.Rows, column: str, row: int, value: object) -> pa.RecordBatch:
    place = rows.columns.schema.get_field_index(column)
    values = rows.columns.column(place).to_pylist()
    values[row] = value
    return rows.columns.set_column(
        place, rows.columns.schema.field(place), pa.array(values, rows.columns.schema[place].type)
    )


def test_rows_come_back_as_they_were_sent(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for name in SCHEMES:
        for tokened in [True, False]:
            with subtests.test(name=name, tokened=tokened):
                scheme, reports = SCHEMES[name], reports_of(name, tokened=tokened)
                rows = wire.read_stream(wire.write_stream(batch_of(reports), scheme, "2026-11-20"), scheme)
                assert (len(rows), rows.sent_for) == (8, "2026-11-20")
                assert not wire.judge(rows).any()
                assert rows.columns.equals(wire.rows_of(reports, scheme).columns)
                assert [tokens.to_text(row.tobytes()) for row in rows.ids] == [report.id for report in reports]
                first = rows.where(np.arange(8) < 3)
                file = tmp_path / "segment.parquet"
                file.write_bytes(wire.write_segment(scheme, "r", [first.to_bytes(), rows.to_bytes()], {"not_json": 2}))
                assert (wire.read_stamp(file, scheme), wire.read_refused(file, scheme)) == (("r", 11), {"not_json": 2})
                whole = dp.aggregate(scheme, wire.read_reports(file, scheme))
                assert whole.equals(dp.aggregate(scheme, batch_of([*reports[:3], *reports])))


def test_a_stream_may_come_in_batches(subtests: pytest.Subtests) -> None:
    for parts in [(8,), (3, 5), (2, 2, 4), ()]:
        with subtests.test(parts=parts):
            scheme = SCHEMES["one_of_three"]
            columns = wire.rows_of(reports_of("one_of_three"), scheme).columns
            sink, begin = pa.BufferOutputStream(), 0
            with pa.ipc.new_stream(sink, columns.schema) as writer:
                for part in parts:
                    writer.write_batch(columns.slice(begin, part))
                    begin += part
            rows = wire.read_stream(sink.getvalue().to_pybytes(), scheme)
            assert rows.columns.equals(columns.slice(0, begin))


def test_every_row_is_judged_by_itself_for_its_first_fault() -> None:
    scheme = SCHEMES["everything"]
    rows = wire.rows_of(reports_of("everything"), scheme)
    level = rows.columns.column("dyadic_level")[1].as_py()
    other = (level + 1) % len(scheme.attributes["dyadic"].mechanism.sizes)
    cases = [
        ("_report_id", 3, None, "malformed_id"),
        ("_report_id", 3, bytes(16), "malformed_id"),
        ("_client_token", 0, bytes(16), "malformed_token"),
        ("coin", 2, None, "incomplete"),
        ("dyadic_level", 2, None, "incomplete"),
        ("dyadic_values", 2, None, "incomplete"),
        ("dyadic_values", 2, [1, 1], "wrong_length"),
        ("dyadic_values", 2, [None], "wrong_length"),
        ("dyadic_level", 2, 200, "unknown_level"),
        ("dyadic_level", 1, other, "wrong_level"),
        ("dyadic_values", 2, [-1], "out_of_range"),
        ("dyadic_values", 2, [2**62], "out_of_range"),
        ("coin", 2, 2, "out_of_range"),
        ("bits_values", 0, [-1, 0], "out_of_range"),
    ]
    for column, row, value, reason in cases:
        found = reasons(changed(rows, column, row, value), scheme)
        assert found == ["" if place != row else reason for place in range(8)], (column, value)
    one = SCHEMES["one_of_three"]
    rows = wire.rows_of(reports_of("one_of_three"), one)
    asked = rows.columns.column("colour").to_pylist()
    drawn = next(row for row in range(0, 8, 2) if asked[row] is None)
    assert reasons(changed(rows, "colour", drawn, 1), one)[drawn] == "incomplete"
    alone = next(row for row in range(0, 8, 2) if asked[row] is not None)
    assert reasons(changed(rows, "income_values", alone, [1]), one)[alone] == "incomplete"  # half an answer
    moved = rows.columns.column("_client_token").to_pylist()
    units = {tokens.unit(one, tokens.to_text(name), None): name for name in moved if name}
    wrong = next(name for unit, name in units.items() if ("colour" in unit) != (asked[1] is not None))
    assert reasons(changed(rows, "_client_token", 1, wrong), one)[1] == "wrong_unit"


def test_what_is_no_stream_is_refused_whole() -> None:
    scheme = SCHEMES["one_of_three"]
    rows = wire.rows_of(reports_of("one_of_three"), scheme)
    good = stream(rows.columns)
    assert len(wire.read_stream(good, scheme)) == 8
    schema = rows.columns.schema
    odd = [
        b"",
        good[:-8],
        good[:-1],
        good + b"\0" * 8,
        good + good,
        b"PAR1" + good,
        stream(rows.columns, compression="zstd"),
        stream(rows.columns, compression="lz4"),
        stream(rows.columns.drop_columns(["_report_id"])),
        stream(rows.columns.drop_columns(["colour"])),
        stream(rows.columns.replace_schema_metadata(None)),
        stream(rows.columns.replace_schema_metadata({**schema.metadata, b"ldpflow.round": b"last week"})),
        stream(rows.columns.replace_schema_metadata({**schema.metadata, b"ldpflow.round": b"\xff\xfe"})),
        wire.write_stream(batch_of(reports_of("everything")), SCHEMES["everything"]),
    ]
    for content in odd:
        with pytest.raises(InvalidReport) as refused:
            wire.read_stream(content, scheme)
        assert "\n" not in str(refused.value)
    with pytest.raises(InvalidReport, match="with an id"):
        wire.write_stream(batch_of([Report(scheme.digest, reports_of("one_of_three")[0].answers)]), scheme)


@pytest.mark.parametrize(
    "count",
    [
        300,
        pytest.param(5_000, marks=pytest.mark.slow),
        pytest.param(30_000, marks=pytest.mark.nightly("every case")),
    ],
)
def test_a_mutated_stream_is_refused_or_holds_what_clients_can_send(count: int) -> None:
    rng = random.Random(7)
    contents = {name: stream(wire.rows_of(reports_of(name), scheme).columns) for name, scheme in SCHEMES.items()}
    read = 0
    for number in range(count):
        name = list(SCHEMES)[number % 2]
        content = bytearray(contents[name])
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(content))
            kind = rng.randrange(4)
            if kind == 0:
                del content[at : at + rng.randint(1, 40)]
            elif kind == 1:
                content[at : at + 4] = rng.choice(
                    [b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\xff\xff\xff\xff", b"\0\0\0\0"]
                )
            else:
                content[at] ^= 1 << rng.randrange(8)
        try:
            rows = wire.read_stream(bytes(content), SCHEMES[name])
        except InvalidReport:
            continue
        read += 1
        taken = rows.where(wire.judge(rows) == 0)
        again = pa.ipc.read_record_batch(pa.py_buffer(taken.to_bytes()), taken.columns.schema)
        sent = wire.read_stream(stream(again), SCHEMES[name])
        assert not wire.judge(sent).any()
    assert 0 < read < count
