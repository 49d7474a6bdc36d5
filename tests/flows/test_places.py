"""Where a round runs changes nothing that lands: on S3, PostgreSQL and Dask tables and pictures are the local round's."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pandas as pd
import pytest

from dpcore import wire
from dpcore.rounds.run import Run
from ldpflow_flows.publish import write_page
from ldpflow_flows.round import run_round
from ldpflow_flows.settings import RoundSettings
from ldpflow_flows.tasks import permitted_folders, task_runner
from tests.flows import postgresql
from tests.helpers import landed, s3

pytestmark = [pytest.mark.flows, pytest.mark.slow]
URL = "s3://survey/ldpflow"
DAYS = ("2026-11-19", "2026-11-20")  # of which the second has pictures of what changed


def two_rounds(scheme: Path, data: str | Path, file: Path) -> list[Run]:
    made = []
    for day in DAYS:
        settings = RoundSettings(scheme=scheme, data=Path(data), warehouse=file, round=day, clients=20_000, seed=7)
        made.append(Run.at(run_round(settings)))
    return made


@pytest.fixture(scope="module")
def local(harness: None, households_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of two rounds on this machine."""
    data = tmp_path_factory.mktemp("local")
    two_rounds(households_file, data, data / "warehouse.duckdb")
    return data


@pytest.fixture(scope="module")
def expected(local: Path) -> dict[str, pd.DataFrame]:
    found = landed.tables(local / "warehouse.duckdb", local)
    assert found["figures"]["path"].str.contains("_change").any()
    return found


@pytest.fixture(scope="module")
def store() -> Iterator[None]:
    with s3.bucket("survey") as told, pytest.MonkeyPatch.context() as patch:
        for name, value in told.items():
            patch.setenv(name, value)
        patch.setenv(permitted_folders.SETTING, f"{os.environ.get(permitted_folders.SETTING, 'data')},s3://survey")
        yield
        task_runner.disconnect()


@pytest.mark.usefixtures("store")
def test_on_s3_tables_pictures_and_the_published_copy_are_those_here(
    households_file: Path, local: Path, expected: dict[str, pd.DataFrame], tmp_path: Path
) -> None:
    file = tmp_path / "warehouse.duckdb"
    runs = two_rounds(households_file, URL, file)
    landed.same(expected, landed.tables(file, URL))
    for path in expected["figures"]["path"]:
        assert (wire.location(URL) / path).read_bytes() == (local / path).read_bytes()
    assert "figures" not in {path.name for path in tmp_path.iterdir()}
    (tmp_path / "there").mkdir()
    copy = tmp_path / "there" / "copy.duckdb"
    copy.write_bytes((wire.location(URL) / "warehouse.published.duckdb").read_bytes())
    landed.same(expected, landed.tables(copy, URL))
    page = write_page.fn(runs[-1])
    assert str(page) == f"{runs[-1].plan.figures}/round.html"
    for path in (file, *tmp_path.rglob("*.duckdb")):
        assert s3.SECRET.encode() not in path.read_bytes()
    for path in wire.location(URL).glob("**/*"):
        assert not path.is_file() or s3.SECRET.encode() not in path.read_bytes(), path


@pytest.mark.usefixtures("store")
def test_on_dask_with_files_on_s3_they_are_those_here(
    households_file: Path, expected: dict[str, pd.DataFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(task_runner.SETTING, "local:2")
    two_rounds(households_file, f"{URL}/dask", tmp_path / "warehouse.duckdb")
    landed.same(expected, landed.tables(tmp_path / "warehouse.duckdb", f"{URL}/dask"))


def test_on_dask_they_are_those_here(
    households_file: Path, expected: dict[str, pd.DataFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(task_runner.SETTING, "local:2")
    two_rounds(households_file, tmp_path, tmp_path / "warehouse.duckdb")
    task_runner.disconnect()
    landed.same(expected, landed.tables(tmp_path / "warehouse.duckdb", tmp_path))


@pytest.mark.nightly("waits")
@pytest.mark.skipif(
    not (shutil.which("postgres") or postgresql.DEBIAN.exists()), reason="PostgreSQL is not installed here"
)
def test_beside_postgresql_they_are_those_here(
    households_file: Path, expected: dict[str, pd.DataFrame], tmp_path: Path
) -> None:
    with postgresql.cluster() as cluster:
        url = cluster.new_database()
        told = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
        told |= {"PREFECT_SERVER_DATABASE_CONNECTION_URL": url, "PREFECT_HOME": f"{tmp_path}/prefect"}
        told |= {"PREFECT_PROFILES_PATH": f"{tmp_path}/prefect/profiles.toml"}
        for day in DAYS:
            words = [str(households_file), "--data", str(tmp_path), "--round", day, "--clients", "20000", "--seed", "7"]
            subprocess.run([sys.executable, "-m", "ldpflow_flows.round", *words], env=told, check=True, timeout=300)
        assert asyncio.run(_completed(url)) == len(DAYS)
    landed.same(expected, landed.tables(tmp_path / "warehouse.duckdb", tmp_path))


async def _completed(url: str) -> int:
    connection = await asyncpg.connect(url.replace("+asyncpg", ""))
    try:
        found = await connection.fetchval("select count(*) from flow_run where state_type = 'COMPLETED'")
    finally:
        await connection.close()
    return int(found)
