"""A Prefect server for the flow tests of a process (it takes a quarter of a minute to start), and a scheme of several shards.

LDPFLOW_TEST_DATABASE=postgresql lets every server of these tests keep its history in a private PostgreSQL, not in SQLite, and
leaves out the tests that ask no server: they are the same on either.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.flows import postgresql
from tests.helpers.schemes import HOUSEHOLDS

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient

CLIENTS = 200_000  # four blocks, so two shards


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On PostgreSQL only what asks a server of Prefect differs from SQLite."""
    if os.environ.get("LDPFLOW_TEST_DATABASE") == "postgresql":
        asked = {"harness", "new_database"}
        alike = [each for each in items if each.get_closest_marker("flows") and not asked & {*each.fixturenames}]  # type: ignore[attr-defined]
        config.hook.pytest_deselected(items=alike)
        items[:] = [each for each in items if each not in alike]


@pytest.fixture(scope="session")
def new_database() -> Iterator[Callable[[], str | None]]:
    """A function: the URL of an empty PostgreSQL database, or None where a server makes its own SQLite file."""
    wanted = os.environ.get("LDPFLOW_TEST_DATABASE", "sqlite")
    if wanted == "sqlite":
        yield lambda: None
    elif wanted == "postgresql":
        with postgresql.cluster() as cluster:
            yield cluster.new_database
    else:
        pytest.fail(f"LDPFLOW_TEST_DATABASE is sqlite or postgresql, got {wanted!r}")


@pytest.fixture(scope="session")
def harness(new_database: Callable[[], str | None]) -> Iterator[None]:
    """A server of its own; without heartbeats, whose thread takes a second to end after every flow."""
    # Prefect takes seconds to import, and `make quick` reads this file, too.
    from prefect.logging.handlers import APILogHandler
    from prefect.server.api.server import SubprocessASGIServer
    from prefect.settings import (
        PREFECT_API_URL,
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
        PREFECT_SERVER_DATABASE_CONNECTION_URL,
        temporary_settings,
    )
    from prefect.testing.utilities import prefect_test_harness

    from ldpflow_flows.services import environment

    environment.settle()
    with ExitStack() as stack:
        if url := new_database():
            stack.enter_context(temporary_settings({PREFECT_SERVER_DATABASE_CONNECTION_URL: url}))
            server = stack.enter_context(SubprocessASGIServer())
            stack.enter_context(temporary_settings({PREFECT_API_URL: server.api_url}))
            stack.callback(APILogHandler().flush)  # before the server ends
        else:
            stack.enter_context(prefect_test_harness(server_startup_timeout=300))
        stack.enter_context(temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}))
        yield


@pytest.fixture
def client(harness: None) -> Iterator[SyncPrefectClient]:
    """Whoever speaks with that server; of the deployments and runs that a test leaves none stays for the next."""
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as found:
        yield found
        for deployment in found.read_deployments():
            found.delete_deployment(deployment.id)
        while runs := found.read_flow_runs():
            for run in runs:
                found.delete_flow_run(run.id)


@pytest.fixture
def only_daily(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what there is to deploy the daily round alone: the server takes seconds for all of it, once for each test."""
    from ldpflow_flows.names import DAILY
    from ldpflow_flows.services import deployments

    daily = [one for one in deployments._declared() if one["name"] == DAILY]
    monkeypatch.setattr(deployments, "_declared", lambda file=None: [] if file else daily)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds without pictures, for tests that do not look at any: they are a second of each."""
    from dpcore.rounds.steps import landing

    def draw(_run: object, _compared: object) -> list[Path]:  # tasks are found by their functions' names
        return []

    monkeypatch.setattr(landing, "draw", draw)


@pytest.fixture(scope="session")
def households_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scheme with every kind of table."""
    path = tmp_path_factory.mktemp("households") / "households.toml"
    path.write_text(HOUSEHOLDS, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def scheme_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without its number, whose estimate takes longer than the flow that makes it."""
    path = tmp_path_factory.mktemp("scheme") / "small.toml"
    path.write_text(HOUSEHOLDS.partition("[attributes.income]")[0].replace('pairs = [["income", "urban_rural"]]', ""))
    return path


def _by_command(scheme: Path, data: Path) -> Path:
    from dpcore import cli

    cli.run(scheme, seed=7, round_="2026-11-20", data=data)
    return next((data / "runs").iterdir())


@pytest.fixture(scope="session")
def by_command(scheme_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run's folder of `ldpflow run` with seed 7: what the flows must equal."""
    return _by_command(scheme_file, tmp_path_factory.mktemp("command"))


@pytest.fixture(scope="session")
def households_by_command(households_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same of the scheme with every kind of table."""
    return _by_command(households_file, tmp_path_factory.mktemp("households_command"))


@pytest.fixture
def records_file(tmp_path: Path) -> Path:
    """Five thousand real records, as a CSV of codes and incomes."""
    lines = [f"{1 + n % 2},{n % 200 * 1000}" for n in range(5000)]
    path = tmp_path / "records.csv"
    path.write_text("urban_rural,income\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path
