from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore import wire
from dpcore.errors import InvalidReport, SchemeMismatch
from dpcore.protocol.report import with_ids
from dpcore.protocol.scheme import Scheme
from dpcore.wire import inbox
from dpcore.wire.inbox import read_names, repeated
from dpcore.wire.parquet_reports import order_of
from tests.helpers.client_cases import LABELLED

People = Callable[..., dict[str, np.ndarray]]


@pytest.mark.parametrize("reporting", ["all", "one"])
@pytest.mark.parametrize("n", [1, 300])
def test_reports_and_aggregates_come_back_bit_for_bit(
    tmp_path: Path, small_text: str, people: People, reporting: str, n: int
) -> None:
    scheme = Scheme.from_toml(f'reporting = "{reporting}"\n' + small_text)
    batch = dp.privatize(scheme, people(n), dp.seeded(1))
    wire.write_reports(tmp_path / "r.parquet", scheme, batch)
    again = wire.read_reports(tmp_path / "r.parquet", scheme)
    for name, answers in batch.answers.items():
        assert np.array_equal(again.answers[name].clients, answers.clients)
        assert np.array_equal(again.answers[name].reports.level, answers.reports.level)
        assert np.array_equal(again.answers[name].reports.values, answers.reports.values)
    batch.answers["colour"].reports.values[0] = 9  # one reject travels too
    whole = dp.aggregate(scheme, batch)
    wire.write_aggregate(tmp_path / "a.parquet", whole)
    back = wire.read_aggregate(tmp_path / "a.parquet", scheme)
    assert back.equals(whole)
    assert back.examples == whole.examples
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["a.parquet", "r.parquet"]


def test_a_report_is_counted_once_and_a_token_once_a_round(tmp_path: Path, small: Scheme, people: People) -> None:
    """Half an id in common is no id in common, reports without names are nobody's, and who is late gives way."""
    batch = with_ids(dp.privatize(small, people(30), dp.seeded(1)), dp.seeded(2))
    other = with_ids(dp.privatize(small, people(30), dp.seeded(3)), dp.seeded(4))
    assert batch.ids is not None
    assert other.ids is not None
    for each in (batch.ids, other.ids):
        each[:] = each[order_of(each)]  # as they stand in files
    other.ids[7, :8] = batch.ids[3, :8]
    files = {
        "a": (batch, "1"),
        "b": (other, "2"),
        "c": (replace(batch, ids=None), ""),
        "d": (replace(other, ids=None), ""),
    }

    def found(*counted: np.ndarray) -> tuple[dict[str, dict[str, list[int]]], dict[str, int]]:
        for name, (there, sent_for) in files.items():
            wire.write_reports(tmp_path / f"{name}.parquet", small, there, sent_for)
        named = {each.file: Path(each.path).stem for each in inbox.batches_of(tmp_path, small)}
        batches = inbox.batches_of(tmp_path, small)
        left = inbox.left_out(batches, "2", counted)
        places = {name: order_of(there.ids) for name, (there, _) in files.items() if there.ids is not None}
        told = {
            named[file]: {why: sorted(places[named[file]][positions].tolist()) for why, positions in of.items()}
            for file, of in left.items()
        }
        kept = {batch.file: inbox.ids_counted(batch, left.get(batch.file, {})) for batch in batches}
        return told, {named[file]: len(ids) for file, ids in kept.items()}

    assert found() == ({}, {"a": 30, "b": 30, "c": 0, "d": 0})
    other.ids[7] = other.ids[9] = batch.ids[3]
    assert found()[0] == {"a": {inbox.AGAIN: [3]}, "b": {inbox.AGAIN: [9]}}
    before = np.concatenate([other.ids[:2], np.zeros((1, 16), dtype=np.uint8)])
    assert found(before, batch.ids[5:6]) == (
        {"a": {inbox.AGAIN: [3, 5]}, "b": {inbox.AGAIN: [0, 1, 9]}},
        {"a": 28, "b": 27, "c": 0, "d": 0},
    )
    token = np.arange(16, dtype=np.uint8)
    heard = np.zeros((30, 16), dtype=np.uint8)
    heard[[4, 9, 20]] = token  # the ninth is counted already, and says nothing
    files["b"] = replace(other, tokens=heard), "2"
    files["a"] = replace(batch, tokens=heard), "1"
    assert found()[0] == {
        "a": {inbox.AGAIN: [3], inbox.SECOND: [4, 9, 20]},
        "b": {inbox.AGAIN: [9], inbox.SECOND: [20]},
    }
    left = np.array([3, 17])
    parts = list(wire.read_parts(tmp_path / "a.parquet", small, 8, without=left))
    assert [len(part) for part in parts] == [7, 8, 7, 6]
    kept = np.concatenate([part.ids for part in parts if part.ids is not None])
    assert np.array_equal(kept, np.delete(batch.ids, left, axis=0))


def test_a_file_holds_reports_and_nothing_else(tmp_path: Path, small: Scheme, people: People) -> None:
    wire.write_reports(tmp_path / "r.parquet", small, dp.privatize(small, people(10), dp.seeded(1)))
    assert pq.read_schema(tmp_path / "r.parquet").names == ["side", "colour", "height_level", "height_values"]


def test_files_of_another_scheme_of_another_kind_or_cut_short_are_refused(
    tmp_path: Path, small: Scheme, small_text: str, people: People
) -> None:
    path = tmp_path / "r.parquet"
    wire.write_reports(path, small, dp.privatize(small, people(100), dp.seeded(1)))
    other = Scheme.from_toml(small_text.replace("epsilon = 0.5", "epsilon = 0.6"))
    with pytest.raises(SchemeMismatch, match="belongs to scheme"):
        wire.read_reports(path, other)
    with pytest.raises(InvalidReport, match="not a file of aggregate"):
        wire.read_aggregate(path, small)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InvalidReport, match="cut short"):
        wire.read_reports(path, small)
    with pytest.raises(InvalidReport, match="no reports at"):
        wire.read_reports(tmp_path / "none.parquet", small)


CONTRADICTIONS: list[tuple[str, str, int | None]] = [
    *(
        (name, "value", value)
        for name in ("clients", "answered", "rejected", "example", "labelled")
        for value in (None, -1)
    ),
    *((name, "value", 1 << 62) for name in ("clients", "answered", "labelled")),
    *(("labelled", "cell", cell) for cell in (-1, 1 << 40)),
    *(("labelled", "level", level) for level in (-1, 99)),
    *(("count", "value", value) for value in (-1, 1 << 62)),
]  # a statistic, a column of its first row, and what is put there


def test_sums_that_contradict_one_another_are_refused(tmp_path: Path, subtests: pytest.Subtests) -> None:
    scheme, path = Scheme.from_toml(LABELLED), tmp_path / "a.parquet"
    records = {"pet": ["cat"] * 9, "income": [1.0] * 9, "Region": ["north"] * 9, "version": ["c0"] * 9}
    batch = dp.privatize(scheme, records, dp.seeded(1))
    batch.of("version").reports.values[0] = 999  # one reject
    wire.write_aggregate(path, dp.aggregate(scheme, batch))
    assert wire.read_aggregate(path, scheme).n == 8
    table = pq.read_table(path)
    for statistic, column, value in CONTRADICTIONS:
        with subtests.test(statistic=statistic, column=column, value=value):
            rows = table.to_pydict()
            rows[column][rows["statistic"].index(statistic)] = value
            pq.write_table(pa.Table.from_pydict(rows, schema=table.schema), path)
            with pytest.raises(InvalidReport, match="aggregate the reports anew"):
                wire.read_aggregate(path, scheme)


def test_malformed_reports_are_counted_and_the_rest_kept(tmp_path: Path, small: Scheme, people: People) -> None:
    path = tmp_path / "r.parquet"
    wire.write_reports(path, small, dp.privatize(small, people(50), dp.seeded(1)))
    table = pq.read_table(path)
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    columns["height_level"][3] = 200  # unknown
    columns["height_values"][5].pop()  # too short
    columns["height_values"][7] = None
    columns["height_values"][9][0] = None
    columns["side"][11] = None  # its pair's other half is there
    columns["height_level"][13] = None
    odd = pa.Table.from_pydict(columns, schema=table.schema)
    pq.write_table(odd, path)
    whole = dp.aggregate(small, wire.read_reports(path, small))
    assert whole.n == 44
    assert whole.rejected == {"height: out of range": 4, "incomplete": 2}
    assert whole.examples == {"height: out of range": 3, "incomplete": 11}


def test_names_are_told_apart_by_all_of_their_bytes() -> None:
    names = np.zeros((4, 16), dtype=np.uint8)
    names[:3, 0] = 7
    names[1, 15] = 1  # between two equals, of which it has half
    assert repeated(names).tolist() == [False, False, True, False]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(0, 6))
def test_what_is_left_out_is_what_one_finds_name_by_name(
    tmp_path: Path, small: Scheme, people: People, seed: int, files: int, most: int
) -> None:
    """Names of few halves, so that many share one of theirs, or both, or are none."""
    chance = np.random.default_rng(seed)
    folder = tmp_path / str(seed)
    for number in range(files):
        n = 1 + number + 4 * int(chance.integers(0, most + 1))  # no two files alike
        drawn = dp.privatize(small, people(n), dp.seeded(number))
        ids, names = (np.repeat(chance.integers(0, 4, (n, 2), dtype=np.uint8), 8, axis=1) for _ in range(2))
        tokens = None if number % 2 else names
        batch = replace(drawn, ids=ids, tokens=tokens)
        wire.write_reports(folder / f"{number}.parquet", small, batch, str(chance.integers(1, 3)))
    counted = [np.repeat(chance.integers(0, 4, (2, 2), dtype=np.uint8), 8, axis=1)]
    batches = {each.file: each for each in inbox.batches_of(folder, small)}
    found = inbox.left_out(batches.values(), "2", counted)
    seen, heard, expected = {row.tobytes() for row in counted[0]}, set(), dict[str, dict[str, list[int]]]()
    for file, batch in sorted(batches.items(), key=lambda each: (each[1].sent_for < "2", each[0])):
        ids, tokens = read_names(Path(batch.path))
        kept = []
        for place, (name, token) in enumerate(zip(map(bytes, ids), map(bytes, tokens), strict=True)):
            why = inbox.AGAIN if any(name) and name in seen else inbox.SECOND if any(token) and token in heard else ""
            seen.add(name)
            if why != inbox.AGAIN:
                heard.add(token)
            if why:
                expected.setdefault(file, {}).setdefault(why, []).append(place)
            elif any(name):
                kept.append(name)
        assert [row.tobytes() for row in inbox.ids_counted(batch, found.get(file, {}))] == kept
    assert found == expected
