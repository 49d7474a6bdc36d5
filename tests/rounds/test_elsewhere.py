"""A round whose files are elsewhere: the same bits at a URL of fsspec's, and files there are whole or absent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from dpcore import populations, wire
from dpcore.errors import DPCoreError, InvalidReport, SchemeError
from dpcore.results import warehouse
from dpcore.rounds.run import Run, newest
from dpcore.rounds.steps import aggregation, estimation, landing, preparation, privatization, sequence
from tests.helpers import warehouses
from tests.helpers.schemes import HOUSEHOLDS, QUESTION

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


def whole_round(scheme: Path, data: str | Path, tmp_path: Path, **options: Any) -> Run:
    run = preparation.prepare(
        scheme, round_="2026-11-20", data=wire.location(data), warehouse=tmp_path / "w.duckdb", **options
    )
    made = sequence.privatize(run, sequence.Here())
    aggregation.merge(run, [aggregation.merge_some(run, [aggregation.aggregate_file(run, each)]) for each in made])
    estimation.estimate(run)
    return run


@pytest.mark.slow
def test_a_round_elsewhere_has_the_bits_of_one_here(store: Any, scheme_file: Path, tmp_path: Path) -> None:
    here = whole_round(scheme_file, tmp_path / "here", tmp_path, seed=7)
    there = whole_round(scheme_file, "memory://bucket/ldpflow", tmp_path, seed=7)
    assert str(there.folder) == f"memory://bucket/ldpflow/runs/{here.folder.name}"
    for file in ("reports/00000.parquet", "aggregates/00000.parquet", "aggregate.parquet"):
        assert (there.folder / file).read_bytes() == (here.folder / file).read_bytes()
    assert newest(there.scheme, "2026-11-20", Path("memory:/bucket/ldpflow")) == Run.at(there.folder)
    drawn = landing.draw(there, landing.land(there))
    named = warehouse.query(tmp_path / "w.duckdb", "select path from figures")["path"]
    assert sorted(named) == sorted(map(str, drawn))
    assert all(store.exists(path) and path.startswith("memory://bucket/ldpflow/figures/") for path in named)
    (tmp_path / "copy.duckdb").write_bytes(store.cat_file("/bucket/ldpflow/w.published.duckdb"))
    assert len(warehouse.query(tmp_path / "copy.duckdb", "from figures")) == len(named)
    assert not store.exists(f"/bucket/ldpflow/runs/{here.folder.name}/reports")
    assert list(warehouse.query(tmp_path / "w.duckdb", "select accepted from runs")["accepted"]) == [3000]


def test_pictures_and_the_published_copy_are_put_where_the_rounds_files_are(store: Any, tmp_path: Path) -> None:
    (tmp_path / "question.toml").write_text(QUESTION, encoding="utf-8")
    warehouses.put(tmp_path / "w.duckdb")
    run = whole_round(tmp_path / "question.toml", "memory://bucket/ldpflow", tmp_path)
    assert run.plan.figures == f"memory://bucket/ldpflow/figures/{run.plan.run_id}"
    landing.land(run)
    (tmp_path / "copy.duckdb").write_bytes(store.cat_file("/bucket/ldpflow/w.published.duckdb"))
    assert warehouse.query(tmp_path / "copy.duckdb", "select accepted from runs")["accepted"].tolist() == [900]


@pytest.mark.slow
def test_records_are_read_from_elsewhere(store: Any, scheme_file: Path, tmp_path: Path) -> None:
    rows = "".join(f"{1 + n % 2},{n * 100}\n" for n in range(500))
    store.pipe_file("/people/records.csv", f"urban_rural,income\n{rows}".encode())
    run = whole_round(scheme_file, tmp_path, tmp_path, records=Path("memory://people/records.csv"))
    assert run.plan.input == "memory://people/records.csv"
    scheme = run.scheme
    assert wire.read_aggregate(run.aggregate, scheme).n == 500
    frame = populations.read_records("memory://people/records.csv", scheme)
    frame.to_parquet(tmp_path / "records.parquet")
    store.pipe_file("/people/records.parquet", (tmp_path / "records.parquet").read_bytes())
    again = populations.read_records("memory://people/records.parquet", scheme)
    assert again["urban_rural"].dtype == "category"
    assert again.astype(frame.dtypes).equals(frame)


def test_a_file_elsewhere_is_whole_or_absent(store: Any, scheme_file: Path, tmp_path: Path) -> None:
    path = wire.location("memory://bucket/file.parquet")

    def broken(draft: Path) -> None:
        draft.write_bytes(b"half")
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        wire.write_whole(path, broken)
    assert not path.exists()
    wire.write_bytes(path, b"cut short")
    run = preparation.prepare(scheme_file, round_="r", data=tmp_path)
    privatization.privatize_shard(run, 0)
    with pytest.raises(InvalidReport, match=r"memory://bucket/file\.parquet cannot be read as Parquet"):
        aggregation.aggregate_file(run, path)
    with pytest.raises(InvalidReport, match=r"no reports at memory://bucket/absent\.parquet"):
        aggregation.aggregate_file(run, wire.location("memory://bucket/absent.parquet"))


def test_the_warehouse_is_here(store: Any, scheme_file: Path) -> None:
    with pytest.raises(SchemeError, match="data memory://bucket: the warehouse must be a local file"):
        preparation.prepare(scheme_file, data=Path("memory://bucket"))
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


@pytest.mark.parametrize(
    "wrong", ["s3://id:secret@bucket/x", "s3://bucket/x?secret_key=secret", "ftp://me:secret@host/x"]
)
def test_a_url_that_says_who_may_read_it_is_refused_and_not_repeated(wrong: str) -> None:
    with pytest.raises(DPCoreError, match="without users, keys or options") as told:
        wire.location(wrong)
    assert "secret" not in str(told.value).replace("AWS_SECRET_ACCESS_KEY", "")
