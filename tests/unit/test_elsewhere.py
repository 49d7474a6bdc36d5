"""A round whose files are elsewhere: the same bits at a URL of fsspec's, and files there are whole or absent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from schemes import HOUSEHOLDS

from dpcore import populations, wire
from dpcore.errors import DPCoreError, InvalidReport, SchemeError
from dpcore.results import warehouse
from dpcore.rounds import stages

SCHEME = HOUSEHOLDS.replace("200000", "3000")


@pytest.fixture
def store() -> Iterator[Any]:
    """An object store in memory, empty before and after."""
    held = fsspec.filesystem("memory")
    held.store.clear()
    yield held
    held.store.clear()


@pytest.fixture
def scheme_file(tmp_path: Path) -> Path:
    path = tmp_path / "scheme.toml"
    path.write_text(SCHEME, encoding="utf-8")
    return path


def whole_round(scheme: Path, data: str | Path, tmp_path: Path, **options: Any) -> Path:
    folder = stages.prepare(
        scheme, round_="2026-11-20", data=wire.location(data), warehouse_file=tmp_path / "w.duckdb", **options
    )
    made = stages.privatize_records(folder) if options.get("records") else [stages.privatize_shard(folder, 0)]
    stages.merge(folder, [stages.merge_some(folder, [stages.aggregate_shard(folder, reports)]) for reports in made])
    stages.estimate(folder)
    stages.compare(folder)
    return folder


@pytest.mark.slow
def test_a_round_elsewhere_has_the_bits_of_one_here(store: Any, scheme_file: Path, tmp_path: Path) -> None:
    here = whole_round(scheme_file, tmp_path / "here", tmp_path, seed=7)
    there = whole_round(scheme_file, "memory://bucket/ldpflow", tmp_path, seed=7)
    assert str(there) == f"memory://bucket/ldpflow/runs/{here.name}"
    for file in ("reports/00000.parquet", "aggregates/00000.parquet", "aggregate.parquet"):
        assert (there / file).read_bytes() == (here / file).read_bytes()
    assert stages.newest(stages.plan_of(there).scheme, "2026-11-20", Path("memory:/bucket/ldpflow")) == there
    stages.land(there)
    assert not store.exists(f"/bucket/ldpflow/runs/{here.name}/reports")
    assert list(warehouse.query(tmp_path / "w.duckdb", "select accepted from runs")["accepted"]) == [3000]


@pytest.mark.slow
def test_records_are_read_from_elsewhere(store: Any, scheme_file: Path, tmp_path: Path) -> None:
    rows = "".join(f"{1 + n % 2},{n * 100}\n" for n in range(500))
    store.pipe_file("/people/records.csv", f"urban_rural,income\n{rows}".encode())
    folder = whole_round(scheme_file, tmp_path, tmp_path, records=Path("memory://people/records.csv"))
    assert stages.plan_of(folder).input == "memory://people/records.csv"
    scheme = stages.plan_of(folder).scheme
    assert wire.read_aggregate(folder / "aggregate.parquet", scheme).n == 500
    frame = populations.read_records("memory://people/records.csv", scheme)
    frame.to_parquet(tmp_path / "records.parquet")
    store.pipe_file("/people/records.parquet", (tmp_path / "records.parquet").read_bytes())
    assert populations.read_records("memory://people/records.parquet", scheme).equals(frame)


def test_a_file_elsewhere_is_whole_or_absent(store: Any, scheme_file: Path, tmp_path: Path) -> None:
    path = wire.location("memory://bucket/file.parquet")

    def broken(draft: Path) -> None:
        draft.write_bytes(b"half")
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        wire.write_whole(path, broken)
    assert not path.exists()
    wire.write_bytes(path, b"cut short")
    folder = stages.prepare(scheme_file, round_="r", data=tmp_path)
    with pytest.raises(InvalidReport, match=r"memory://bucket/file\.parquet cannot be read as Parquet"):
        stages.aggregate_shard(folder, path)
    with pytest.raises(InvalidReport, match=r"no reports at memory://bucket/absent\.parquet"):
        stages.aggregate_shard(folder, wire.location("memory://bucket/absent.parquet"))


def test_the_warehouse_is_here(store: Any, scheme_file: Path) -> None:
    with pytest.raises(SchemeError, match="with data at memory://bucket, name it with --warehouse"):
        stages.prepare(scheme_file, data=Path("memory://bucket"))
    assert not store.store


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("data/var", "data/var"),
        ("/srv/ldpflow", "/srv/ldpflow"),
        ("file:///srv/ldpflow", "/srv/ldpflow"),
        ("memory://bucket/x", "memory://bucket/x"),
        (Path("memory://bucket/x"), "memory://bucket/x"),
    ],
)
def test_a_location_is_a_path_or_a_url_however_it_came(text: str | Path, expected: str) -> None:
    assert str(wire.location(text)) == expected


def test_a_protocol_nobody_knows_is_one_line() -> None:
    with pytest.raises(DPCoreError, match="nowhere://bucket cannot be reached: "):
        wire.location("nowhere://bucket")
