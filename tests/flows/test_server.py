"""`make up` as a person uses it: the server answers, the round shows in it, and Ctrl-C leaves nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dpcore.results import warehouse
from ldpflow_flows.services import up
from tests.helpers.services import (
    PATIENCE,
    Up,
    artifacts,
    ask,
    deployment,
    ended,
    receiver,
    running,
    soon,
    start,
    state,
)

pytestmark = [pytest.mark.flows, pytest.mark.slow]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def told() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A webhook, and what it was sent."""
    with receiver() as found:
        yield found


@pytest.fixture(scope="module")
def service(
    root: Path, home: Path, new_database: Callable[[], str | None], told: tuple[str, list[dict[str, Any]]]
) -> Iterator[Up]:
    """`make up` with a database of its own."""
    environment = {"LDPFLOW_NOTIFY_URL": told[0]}
    if url := new_database():
        environment["PREFECT_SERVER_DATABASE_CONNECTION_URL"] = url
    with running(root, home, **environment) as found:
        yield found


@pytest.fixture
def port(service: Up) -> str:
    return service.port


def scheduled(port: str) -> list[Any]:
    """The runs that the schedule has planned."""
    return ask(port, "/api/flow_runs/filter", {"flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}}})


def test_a_round_against_a_server_shows_in_its_ui(
    service: Up, root: Path, households_file: Path, households_by_command: Path, tmp_path: Path
) -> None:
    port, home = service.port, service.home
    deployed = ask(port, "/api/deployments/filter", {})
    files = root / "prefect.yaml", root / "flows/studies/prefect.yaml"  # a checkout without a project has both
    declared = [one for file in files for one in yaml.safe_load(file.read_text(encoding="utf-8"))["deployments"]]
    assert sorted(one["name"] for one in deployed) == sorted(one["name"] for one in declared)
    daily = deployment(port, "daily")
    assert [schedule["slug"] for schedule in daily["schedules"]] == ["daily-round"]
    assert {"scheme", "settings"} <= set(daily["parameter_openapi_schema"]["properties"])
    assert soon(lambda: scheduled(port)), "the server's scheduler plans no runs; see the lock file's sqlalchemy"

    made = subprocess.run(
        [sys.executable, "-m", "ldpflow_flows.round", str(households_file), "--seed", "7", "--round", "2026-11-20"]
        + ["--data", str(tmp_path / "data")],
        cwd=root,
        env=os.environ
        | {"PREFECT_API_URL": f"http://{up.HOST}:{port}/api", "PREFECT_HOME": str(home)}
        | {"PREFECT_PROFILES_PATH": f"{home}/profiles.toml"},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert made.returncode == 0, made.stderr
    assert "intervals cover the true value" in made.stdout
    folder = next((tmp_path / "data" / "runs").iterdir())
    assert (folder / "aggregate.parquet").read_bytes() == (households_by_command / "aggregate.parquet").read_bytes()

    [run] = [run for run in ask(port, "/api/flow_runs/filter", {}) if run["deployment_id"] is None]
    assert (run["name"], run["state"]["type"]) == ("households-2026-11-20", "COMPLETED")
    wanted = {"flow_runs": {"id": {"any_": [run["id"]]}}}

    def completed() -> list[str]:
        wanted_tasks = ask(port, "/api/task_runs/filter", wanted)
        return [task["name"] for task in wanted_tasks if task["state"]["type"] == "COMPLETED"]

    everything = 1 + 2 + 2 + 5  # prepare, two shards twice, merge, estimate, draw, land, show
    assert soon(lambda: len(completed()) == everything), "tasks are recorded some seconds later, but all of them"
    assert {"land", "privatize-00000", "aggregate-00001"} <= set(completed())
    page = ask(port, "/")
    assert '<div id="app">' in page
    assert "Prefect" in page


def test_a_worker_carries_out_a_run_that_somebody_asked_for_and_its_log_is_shown(
    port: str, households_file: Path, tmp_path: Path
) -> None:
    run = start(port, scheme=households_file, data=tmp_path / "data", clients=20_000, round="asked")
    found = ended(port, run)
    assert (found["type"], found["name"]) == ("COMPLETED", "Completed")
    assert found["message"].startswith("20,000 reports counted, 0 rejected; all ")
    assert (tmp_path / "data" / "warehouse.duckdb").exists()
    wanted = {"logs": {"flow_run_id": {"any_": [run]}}}
    said = soon(lambda: [line["message"] for line in ask(port, "/api/logs/filter", wanted)])
    assert "aggregated: 1 of 1 batches" in said


def test_a_failed_run_says_what_to_do_on_a_page_and_tells_the_webhook(
    port: str, households_file: Path, tmp_path: Path, told: tuple[str, list[dict[str, Any]]]
) -> None:
    run = start(port, scheme=households_file, data=tmp_path / "data", records=tmp_path / "absent.csv", round="refused")
    found = ended(port, run)
    assert found["type"] == "FAILED"
    assert f"{tmp_path / 'absent.csv'}: no such file of records" in found["message"]
    page = soon(lambda: artifacts(port, run).get("round-failure"))
    assert "absent.csv" in page["data"]
    assert "Correct what the message names, then press Retry" in page["data"]
    message, *_ = soon(lambda: [one for one in told[1] if one["url"].endswith(run)])
    assert (message["state"], message["flow"], message["message"]) == ("Failed", "round", found["message"])
    assert message["text"].startswith("ldpflow: round households-refused: Failed. ")
    assert message["url"] == f"http://{up.HOST}:{port}/runs/flow-run/{run}"


def test_a_failed_check_is_seen_in_the_state_of_a_round_that_landed_and_tells_the_webhook(
    port: str, households_file: Path, tmp_path: Path, told: tuple[str, list[dict[str, Any]]]
) -> None:
    where = {"scheme": households_file, "data": tmp_path / "data"}
    assert ended(port, start(port, **where, clients=60_000, round="2026-11-20"))["name"] == "Completed"
    run = start(port, **where, clients=20_000, round="2026-11-21")
    found = ended(port, run)
    assert (found["type"], found["name"]) == ("COMPLETED", "ChecksFailed")
    assert "checks-failed" in ask(port, f"/api/flow_runs/{run}")["tags"]
    assert "1 of " in found["message"]
    assert "clients: 20,000 reports; 60,000 in the previous round" in found["message"]
    assert "✗ 1 of " in artifacts(port, run)["consumer-expenditure-round"]["data"]
    message, *_ = soon(lambda: [one for one in told[1] if one["url"].endswith(run)])
    assert (message["state"], message["message"]) == ("ChecksFailed", found["message"])


def test_a_run_that_was_cancelled_goes_on_when_it_is_retried(
    port: str, households_file: Path, tmp_path: Path, told: tuple[str, list[dict[str, Any]]]
) -> None:
    data = tmp_path / "data"
    run = start(port, scheme=households_file, data=data, clients=2_000_000, round="cancelled", keep_reports=True)

    def landed() -> list[str]:
        return list(warehouse.query(data / "warehouse.duckdb", "from runs")["state"])

    finished = soon(lambda: {path: path.stat().st_mtime_ns for path in data.glob("runs/*/reports/*.parquet")})
    assert finished
    ask(port, f"/api/flow_runs/{run}/set_state", {"state": {"type": "CANCELLING"}})  # as the UI's Cancel does
    assert ended(port, run)["type"] == "CANCELLED"
    assert landed() == ["failed"]
    # Where the killed process could say that it crashed, there are two; both say what the run is when they are sent
    assert set(soon(lambda: [one["state"] for one in told[1] if one["url"].endswith(run)])) == {"Cancelled"}
    assert "Retry" in soon(lambda: artifacts(port, run).get("round-failure"))["data"]
    ask(port, f"/api/flow_runs/{run}/set_state", {"state": {"type": "SCHEDULED", "name": "AwaitingRetry"}})
    assert soon(lambda: state(port, run)["type"] == "COMPLETED", 3 * PATIENCE), state(port, run)
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    assert landed() == ["landed"]


@pytest.mark.nightly("waits")
def test_a_run_whose_machine_dies_goes_on_from_its_finished_shards(
    service: Up, households_file: Path, tmp_path: Path, told: tuple[str, list[dict[str, Any]]]
) -> None:
    port = service.port
    data = tmp_path / "data"
    taken = start(port, as_if="PENDING", scheme=households_file, data=tmp_path / "taken", clients=20_000, round="taken")
    run = start(port, scheme=households_file, data=data, clients=2_000_000, round="killed", keep_reports=True)
    finished = soon(lambda: {path: path.stat().st_mtime_ns for path in data.glob("runs/*/reports/*.parquet")})
    service.kill_worker()
    assert finished
    assert state(port, run)["type"] == "RUNNING"
    crashed = soon(lambda: [one for one in told[1] if one["url"].endswith(run)], 3 * PATIENCE)
    assert crashed[0]["state"] == "Crashed"
    assert "No heartbeat" in crashed[0]["message"]
    assert ended(port, run)["type"] == "COMPLETED"
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    assert ask(port, f"/api/flow_runs/{run}")["run_count"] == 2
    assert ended(port, taken)["type"] == "COMPLETED", "a run that no worker began is given to the next one"


def test_a_taken_port_is_said_in_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as holder:
        holder.bind((up.HOST, 0))
        holder.listen()
        monkeypatch.setenv("PREFECT_SERVER_API_PORT", str(holder.getsockname()[1]))
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        assert up.main() == 1
        for number, handler in before.items():
            signal.signal(number, handler)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "is in use" in captured.err
    assert len(captured.err.splitlines()) == 1
