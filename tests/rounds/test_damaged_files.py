"""Files cut short or damaged, and warehouses of another version: one clear line, a non-zero exit, nothing half-done."""

from __future__ import annotations

import contextlib
import io
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from dpcore import cli
from dpcore.errors import InvalidRecord, InvalidReport, NotEstimable, WarehouseError
from dpcore.populations import read_blocks
from dpcore.protocol.scheme import Scheme
from dpcore.results.warehouse import export, query, reader
from dpcore.results.warehouse.schema_migration import shipped_migrations
from dpcore.results.warehouse.views import shipped_views
from dpcore.rounds.run import Run
from dpcore.rounds.steps import aggregation, estimation, landing

ROOT = Path(__file__).parents[2]
INSURANCE = ROOT / "data/schemes/health_insurance.toml"
SAMPLE = ROOT / "data/samples/health_insurance.parquet"
DAMAGES = {
    "cut in half": lambda content: content[: len(content) // 2],
    "cut at the end": lambda content: content[:-10],
    "empty": lambda content: b"",
    "overwritten": lambda content: (
        content[: len(content) // 3] + bytes(len(content) // 3) + content[2 * len(content) // 3 :]
    ),
    "text": lambda content: b"region,sales\n",
}


def damage(source: Path, target: Path, how: str) -> Path:
    target.write_bytes(DAMAGES[how](source.read_bytes()))
    return target


def said(*arguments: str) -> str:
    """What a command that must fail says: one line on standard error, and exit status 1."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as stop,
    ):
        cli.main(list(arguments))
    assert stop.value.code == 1
    assert err.getvalue().startswith("ldpflow: ")
    assert err.getvalue().count("\n") == 1
    return err.getvalue()


def test_damaged_records_are_refused(tmp_path: Path) -> None:
    scheme = Scheme.from_toml(INSURANCE)
    for how in DAMAGES:
        path = damage(SAMPLE, tmp_path / "people.parquet", how)
        with pytest.raises(InvalidRecord, match=r"people\.parquet cannot be read: it may be cut short") as caught:
            list(read_blocks(path, scheme))
        assert "\n" not in str(caught.value), how


def test_damaged_reports_and_aggregates_are_refused(answered: Path, moved: Callable[[Path], Path]) -> None:
    [folder] = (moved(answered) / "runs").iterdir()
    [sent] = (answered / "runs").glob("*/reports/*.parquet")
    [sums] = (answered / "runs").glob("*/aggregate.parquet")
    for how in DAMAGES:
        for file, refused in (
            (sent, lambda path: aggregation.aggregate_file(Run.at(folder), path)),
            (sums, lambda _: estimation.estimate(Run.at(folder))),
        ):
            path = damage(file, folder / file.name, how)
            with pytest.raises(InvalidReport, match="cut short") as caught:
                refused(path)
            assert "\n" not in str(caught.value), how


def test_damaged_tables_are_not_landed_and_say_how_they_are_made_anew(
    answered: Path, moved: Callable[[Path], Path]
) -> None:
    [folder] = (moved(answered) / "runs").iterdir()
    [table] = (answered / "runs").glob("*/tables/frequencies.parquet")
    for how in DAMAGES:
        damage(table, folder / "tables/frequencies.parquet", how)
        with pytest.raises(
            NotEstimable, match=r"frequencies\.parquet: truncated .*ldpflow estimate .* --round r\b"
        ) as caught:
            landing.land(Run.at(folder))
        assert "\n" not in str(caught.value), how


@pytest.mark.parametrize("how", ["empty", "text"])
def test_what_is_no_warehouse_is_refused_by_every_command(created: Path, tmp_path: Path, how: str) -> None:
    path = str(damage(created, tmp_path / "w.duckdb", how))
    for command in (["query", "from runs"], ["export", "runs", "a.csv"], ["publish", str(tmp_path / "a.html")]):
        assert "not a DuckDB file" in said(*command, "--warehouse", path)
    assert [file.name for file in tmp_path.iterdir()] == ["w.duckdb"]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["cut in half", "overwritten"])
def test_a_damaged_warehouse_gives_no_half_of_a_table(landed: Path, tmp_path: Path, how: str) -> None:
    """DuckDB reads what it is asked for; whatever was lost is said to be, and never left out."""
    path = damage(landed, tmp_path / "w.duckdb", how)
    refused = 0
    for name in ("densities", "frequencies", "truths", "checks"):
        target = tmp_path / f"{name}.parquet"
        with contextlib.suppress(WarehouseError):
            export(path, name, target)
        if target.exists():
            assert len(pd.read_parquet(target)) == len(query(landed, f"from {name}"))
            continue
        with pytest.raises(WarehouseError, match="truncated or damaged") as caught:
            export(path, name, target)
        assert "\n" not in str(caught.value)
        refused += 1
    assert refused >= 1


def test_a_warehouse_of_newer_code_is_refused_by_every_command(created: Path, tmp_path: Path) -> None:
    path = shutil.copy(created, tmp_path / "w.duckdb")
    with duckdb.connect(path) as connection:
        connection.execute(
            "insert into migrations values (?, 'tomorrow', repeat('0', 64), now())", [len(shipped_migrations()) + 1]
        )
    for command in (
        ["query", "from runs"],
        ["export", "runs", str(tmp_path / "runs.csv")],
        ["publish", str(tmp_path / "a.html")],
        ["run", str(INSURANCE), "--records", str(SAMPLE), "--data", str(tmp_path / "data")],
    ):
        line = said(*command, "--warehouse", str(path))
        assert (
            f"has version {len(shipped_migrations()) + 1}, this code supports versions up to {len(shipped_migrations())}"
            in line
        )
        assert "update ldpflow" in line
    assert [file.name for file in tmp_path.iterdir()] == ["w.duckdb"]


@pytest.mark.slow
def test_every_table_and_view_is_exported_as_it_is(landed: Path, tmp_path: Path) -> None:
    with reader(landed) as ask:
        names = ask("show tables")["name"].tolist()
        whole = {name: ask(f'from "{name}" order by all') for name in names}
    assert {name for name, _ in shipped_views()} < whole.keys()
    for name, expected in whole.items():
        export(landed, name, tmp_path / "a.parquet")
        kept = pd.read_parquet(tmp_path / "a.parquet")
        pd.testing.assert_frame_equal(kept, expected, check_dtype=False)
        if len(expected) and not name.startswith("latest_"):
            export(landed, name, tmp_path / "a.csv")
            assert len(pd.read_csv(tmp_path / "a.csv", dtype=str)) == len(expected)


@pytest.mark.slow
def test_an_exported_csv_keeps_every_digit_and_tells_nothing_from_empty(landed: Path, tmp_path: Path) -> None:
    export(landed, "functionals", tmp_path / "a.csv")
    kept = pd.read_csv(tmp_path / "a.csv", keep_default_na=False)
    expected = query(landed, "from functionals order by all")
    given = expected["estimate"].notna().to_numpy()
    assert kept["estimate"][given].astype(float).tolist() == expected["estimate"][given].tolist()
    text = (tmp_path / "a.csv").read_text()
    assert ',"",' in text  # everyone's `given` is empty text
    assert text.splitlines()[0].startswith('"run_id","attribute"')
