"""Files whole or not at all, for whom they are, and the folder in which files of reports wait to be counted."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcore as dp
from dpcore import wire
from dpcore.errors import DPCoreError, InvalidReport, SchemeMismatch
from dpcore.protocol.report import in_order, with_ids
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.tokens import to_text
from dpcore.wire import inbox
from dpcore.wire.parquet_reports import DIGEST, KIND, ROUND, order_of

People = Callable[..., dict[str, np.ndarray]]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def sent(tmp_path: Path, small: Scheme, people: People) -> Path:
    """A file of ten reports."""
    wire.write_reports(
        tmp_path / "in" / "a.parquet", small, dp.privatize(small, people(10), dp.seeded(1)), "2026-11-20"
    )
    return tmp_path / "in" / "a.parquet"


OTHER_COLUMNS: dict[str, Callable[[pa.Table], pa.Table]] = {
    "more": lambda table: table.append_column("more", pa.array([1] * 10)),
    "of another type": lambda table: table.set_column(0, "side", table["side"].cast(pa.int32())),
    "fewer": lambda table: table.drop_columns(["colour"]),
    "in another order": lambda table: table.select([1, 0, 2, 3]),
}


def test_a_file_of_other_columns_is_refused(sent: Path, small: Scheme, subtests: pytest.Subtests) -> None:
    table = pq.read_table(sent)
    for name, change in OTHER_COLUMNS.items():
        with subtests.test(name):
            pq.write_table(change(table).replace_schema_metadata(table.schema.metadata), sent)
            with pytest.raises(InvalidReport, match="does not have the columns of a report file under scheme small"):
                wire.read_reports(sent, small)


NO_COUNTS = {
    "none": b'{"a": 0}',
    "negative": b'{"a": -1}',
    "cut short": b"[",
    "a list": b"[1]",
    "half": b'{"a": 1.5}',
    "true": b'{"a": true}',
    "infinite": b'{"a": Infinity}',
    "beyond 64 bits": b'{"a": 18446744073709551616}',
    "beyond 64 bits in all": b'{"a": 4611686018427387904}',
    "deep": b"[" * 100_000,
    "two lines": b'{"a\\nldpflow: b": 1}',
    "half a pair": b'{"\\ud800": 1}',
    "no text": b"\xff",
}


def test_what_a_collector_refused_is_a_count_of_each_reason(
    sent: Path, small: Scheme, subtests: pytest.Subtests
) -> None:
    assert wire.read_refused(sent, small) == {}
    table = pq.read_table(sent)

    def say(refused: bytes) -> None:
        pq.write_table(table.replace_schema_metadata({**table.schema.metadata, b"ldpflow.refused": refused}), sent)

    say(b'{"a": 1, "b": 20}')
    assert wire.read_refused(sent, small) == {"a": 1, "b": 20}
    for name, text in NO_COUNTS.items():
        with subtests.test(name):
            say(text)
            with pytest.raises(InvalidReport, match="does not say how many reports were refused"):
                wire.read_refused(sent, small)


def test_a_stamp_that_nobody_writes_is_refused_in_one_line(
    sent: Path, small: Scheme, subtests: pytest.Subtests
) -> None:
    table = pq.read_table(sent)
    for said in (b"\xff\xfe", b"2026\nldpflow: all is well", b"../../x", b"9" * 100_000):
        for key in (ROUND, DIGEST, KIND):
            with subtests.test(key=key, said=said[:30]):
                pq.write_table(table.replace_schema_metadata({**table.schema.metadata, key: said}), sent)
                with pytest.raises((InvalidReport, SchemeMismatch)) as refused:
                    inbox.batches_of(sent.parent, small)
                line = str(refused.value).removeprefix(str(sent))
                assert line.isprintable()
                assert len(line) < 120


def test_answers_of_few_values_go_by_dictionary_and_noise_by_differences(tmp_path: Path) -> None:
    scheme = dp.Scheme.from_toml("""
name = "wide"
[attributes.few]
type = "categorical"
categories = ["a", "b"]
epsilon = 1
[attributes.noise]
type = "numeric"
lower = 0
upper = 1
epsilon = 0.1
mechanism = "wavelet_laplace"
[attributes.cell]
type = "numeric"
lower = 0
upper = 1
epsilon = 1
mechanism = "dyadic_wave"
""")
    people = {"few": ["a", "b"] * 20, "noise": np.linspace(0, 1, 40), "cell": np.linspace(0, 1, 40)}
    wire.write_reports(tmp_path / "r.parquet", scheme, dp.privatize(scheme, people, dp.seeded(1)))
    group = pq.ParquetFile(tmp_path / "r.parquet").metadata.row_group(0)
    columns = {group.column(k).path_in_schema: group.column(k) for k in range(group.num_columns)}
    assert len(columns) == 5
    for name, column in columns.items():
        is_noise = name.startswith("noise_values")
        assert column.compression == ("UNCOMPRESSED" if is_noise else "ZSTD"), name
        assert ("DELTA_BINARY_PACKED" in column.encodings) is is_noise, name
        assert column.has_dictionary_page is not is_noise, name
        assert column.is_stats_set is not is_noise, name


def test_ids_are_ordered_by_all_their_bytes() -> None:
    random = np.random.default_rng(4)
    ids = random.integers(0, 256, (3000, 16), dtype=np.uint8)
    ids[1::3, :8], ids[2::3, :6] = ids[::3, :8], ids[::3, :6]  # as long as eight bytes, and as six
    ids[-1] = ids[0]
    alike = random.integers(0, 2, (150, 16), dtype=np.uint8)
    alike[:, :13] = 7
    for some in (ids, np.concatenate([ids[:50], alike]), ids[:50]):
        expected = sorted(range(len(some)), key=lambda place: (some[place].tobytes(), place))
        assert order_of(some).tolist() == expected


def test_a_folder_of_reports_is_read_with_suspicion(tmp_path: Path, sent: Path, small: Scheme) -> None:
    folder = sent.parent
    (found,) = inbox.batches_of(folder, small)
    assert (found.path, found.sent_for, found.reports) == (str(sent), "2026-11-20", 10)
    assert found.is_late("2026-11-21")
    assert not found.is_late("2026-11-20")
    content = sent.read_bytes()
    named = folder / inbox.sealed_name(12, content)
    assert named.name == f"00000012.sha256-{found.file[:16]}.parquet"
    named.write_bytes(content)
    with pytest.raises(InvalidReport, match=r"a\.parquet is a copy of 00000012"):
        inbox.batches_of(folder, small)
    sent.unlink()
    assert [batch.file for batch in inbox.batches_of(folder, small)] == [found.file]
    table = pq.read_table(named)
    pq.write_table(table.slice(1), named)
    with pytest.raises(InvalidReport, match="is damaged: its bytes are not those that its collector wrote"):
        inbox.batches_of(folder, small)
    (tmp_path / "empty").mkdir()
    for empty in (tmp_path / "none", tmp_path / "empty"):
        with pytest.raises(
            InvalidReport, match=r"holds no \.parquet files of reports; `ldpflow privatize` writes them"
        ):
            inbox.report_files(empty)
    with pytest.raises(InvalidReport, match=f"; look further down: {folder}$"):
        inbox.report_files(tmp_path)
    (tmp_path / "c" / "reports" / "digest").mkdir(parents=True)
    (tmp_path / "c" / "reports" / "digest" / "1.parquet").touch()
    for above in (tmp_path / "c", tmp_path / "c" / "reports"):
        with pytest.raises(InvalidReport, match=r"; look further down: [^,]*/c/reports/digest$"):
            inbox.report_files(above)


def test_a_round_takes_what_is_due_and_nobody_has_counted() -> None:
    batches = [
        inbox.Batch(path=name, file=name, sent_for=day, reports=1) for name, day in zip("abcd", "1223", strict=True)
    ]

    def taken(round_: str, again: bool = False, **counted: str) -> str:
        return "".join(batch.file for batch in inbox.due(batches, round_, counted, again=again))

    assert taken("2") == "abc"
    assert taken("3") == "abcd"
    assert taken("0") == ""
    assert taken("2", a="1") == "bc"
    assert taken("2", a="1", b="2") == "b"  # as it was counted
    assert taken("2", again=True, a="1", b="2") == "bc"
    said = str(inbox.nothing_due(Path("in"), "2", batches, {"a": "1", "x": "1"}))
    assert (
        said
        == "in holds no reports for round 2: of its 4 files other rounds have counted 1, and 3 are for later rounds"
    )
    assert inbox.content_of("ab") == inbox.content_of("ba") != inbox.content_of("ac")


@pytest.mark.parametrize("private", [False, True])
def test_a_file_is_there_whole_or_not_at_all(private: bool, tmp_path: Path) -> None:
    os.umask(umask := os.umask(0o022))
    path = tmp_path / "one" / "two" / "it"
    told: dict[str, Any] = {"private": private}
    wire.write_bytes(path, b"first", **told)
    assert mode(path) == (0o600 if private else 0o666 & ~umask)
    assert mode(path.parent) == (0o700 if private else 0o777 & ~umask)
    assert mode(tmp_path / "one") == 0o777 & ~umask
    for error, said in (
        (OSError(errno.ENOSPC, "pyarrow says something"), rf"No space left on device: '{path}'"),
        (OSError(errno.EIO, "broken"), "broken"),
        (KeyboardInterrupt("stop"), "stop"),
    ):

        def fail(beside: Path, error: BaseException = error) -> None:
            beside.write_bytes(b"half")
            assert mode(beside) == mode(path)
            assert beside.name.startswith(".it.")
            raise error

        with pytest.raises(type(error), match=said):
            wire.write_whole(path, fail, **told)
        assert path.read_bytes() == b"first"
        assert os.listdir(path.parent) == ["it"]
    wire.write_bytes(path, b"second", **told)
    assert path.read_bytes() == b"second"


def test_a_private_file_keeps_what_it_has_and_shuts_others_out(tmp_path: Path) -> None:
    path = tmp_path / "it"
    wire.private_file(path)
    assert (mode(path), path.read_bytes()) == (0o600, b"")
    path.write_bytes(b"held")
    for before, after in ((0o644, 0o600), (0o640, 0o600), (0o700, 0o700), (0o602, 0o600)):
        path.chmod(before)
        wire.private_file(path)
        assert mode(path) == after
    assert path.read_bytes() == b"held"
    wire.private_folder(tmp_path / "a" / "b")
    (tmp_path / "a" / "b").chmod(0o750)
    wire.private_folder(tmp_path / "a" / "b")
    assert mode(tmp_path / "a" / "b") == 0o750
    wire.remove_folder(tmp_path / "a")
    wire.remove_folder(tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_a_path_of_this_machine_is_told_in_some_ways(subtests: pytest.Subtests) -> None:
    for text, path in [
        ("data/var", "data/var"),
        (Path("x"), "x"),
        ("file:///a/b", "/a/b"),
        ("local://a", "/a"),
        (Path("file:///a"), "/a"),
    ]:
        with subtests.test(text=text, path=path):
            found = wire.location(text)
            assert found == Path(path)
            assert wire.is_here(found)


def test_what_is_elsewhere_is_no_path_and_what_nobody_knows_is_refused() -> None:
    there = wire.location(Path("memory://wire/it"))
    assert not wire.is_here(there)
    assert wire.location(there) is there
    wire.write_bytes(there / "deep", b"content")
    with wire.opened(there / "deep") as file:
        assert file.read() == b"content"
    wire.remove_folder(there)
    wire.remove_folder(there)
    assert not there.exists()
    with pytest.raises(DPCoreError, match="nosuch://bucket/x cannot be reached: "):
        wire.location("nosuch://bucket/x")


def test_lines_are_single_reports_in_the_order_of_their_ids_for_their_owner(
    tmp_path: Path, small: Scheme, people: People
) -> None:
    path, batch = tmp_path / "r.jsonl", with_ids(dp.privatize(small, people(5), dp.seeded(1)), dp.seeded(2))
    assert batch.ids is not None
    assert wire.write_lines(path, small, [batch], "2026-11-20") == 5
    reports = [wire.read_report(line, small) for line in path.read_bytes().splitlines()]
    assert [report.id for report in reports] == [to_text(one) for one in sorted(map(bytes, batch.ids))]
    assert {report.sent_for for report in reports} == {"2026-11-20"}
    assert mode(path) == 0o600
    assert wire.write_lines(path, small, []) == 0
    assert path.read_bytes() == b""


ORDERED = """
name = "ordered"
reporting = "{}"
[attributes.side]
type = "categorical"
categories = ["left", "right"]
mechanism = "randomized_response"
epsilon = 1
[attributes.x]
type = "numeric"
lower = 0
upper = 1
mechanism = "dyadic_wave"
cells = 64
epsilon = 1
[attributes.y]
type = "numeric"
lower = 0
upper = 1
mechanism = "wavelet_laplace"
finest_level = 3
epsilon = 1
"""


@pytest.mark.parametrize("kind", ["whole", "one"])
def test_reports_in_order_are_the_same_peoples(kind: str) -> None:
    scheme = dp.Scheme.from_toml(ORDERED.format("one" if kind == "one" else "all"))
    records = {"side": ["left", "right"] * 50, "x": np.linspace(0, 1, 100), "y": np.linspace(0, 1, 100)}
    batch = with_ids(dp.privatize(scheme, records, random=dp.seeded(7)), dp.seeded(8))
    sizes = {name: attribute.mechanism.sizes for name, attribute in scheme.attributes.items()}
    order = np.random.default_rng(3).permutation(100)
    moved = in_order(batch, order, sizes)
    assert batch.ids is not None
    assert moved.ids is not None
    assert moved.ids.tolist() == [batch.ids[place].tolist() for place in order]
    for name, attribute in scheme.attributes.items():
        said = []
        for one in (batch, moved):
            given = one.of(name)
            ends = np.cumsum([attribute.mechanism.sizes[level] for level in given.reports.level])
            parts = np.split(given.reports.values, ends[:-1])
            said.append({c: (int(given.reports.level[i]), parts[i].tolist()) for i, c in enumerate(given.clients)})
            assert given.clients.tolist() == sorted(given.clients.tolist())
        assert [said[1].get(place) for place in range(100)] == [said[0].get(place) for place in order]
