"""`make up` as a person uses it: the server answers, the round shows in it, and Ctrl-C leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from flows import up

pytestmark = [pytest.mark.flows, pytest.mark.slow]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def port(root: Path, home: Path) -> Iterator[str]:
    """The port of `make up` with a database of its own; at the end Ctrl-C must stop all of it."""
    with socket.socket() as probe:
        probe.bind((up.HOST, 0))
        port = str(probe.getsockname()[1])
    environment = os.environ | {"PREFECT_SERVER_API_PORT": port, "PREFECT_HOME": str(home)}
    process = subprocess.Popen(
        [sys.executable, "-m", "flows.up"], cwd=root, env=environment, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if line.startswith("up: "):
            break
    else:
        pytest.fail(f"`make up` ended: {said}")
    yield port
    process.send_signal(signal.SIGINT)
    assert process.wait(90) == 0
    with socket.socket() as probe:
        assert probe.connect_ex((up.HOST, int(port))) != 0


def ask(port: str, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = Request(f"http://{up.HOST}:{port}{path}", data=data, headers={"Content-Type": "application/json"})
    deadline = time.monotonic() + 30
    while True:
        try:
            with urlopen(request, timeout=30) as answer:
                content = answer.read().decode()
            return json.loads(content) if path.startswith("/api/") else content
        except HTTPError as error:
            if error.code != 503 or time.monotonic() > deadline:
                raise
            time.sleep(1)  # SQLite was busy: the server asks to be asked again, as Prefect's own client does


def soon(ready: Callable[[], Any], seconds: int = 60) -> Any:
    """What becomes true within so many seconds, or the last falsehood."""
    deadline = time.monotonic() + seconds
    while not (found := ready()) and time.monotonic() < deadline:
        time.sleep(0.5)
    return found


def scheduled(port: str) -> list[Any]:
    """The runs that the schedule has planned."""
    return ask(port, "/api/flow_runs/filter", {"flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}}})


def test_a_round_against_a_server_shows_in_its_ui(
    port: str, home: Path, root: Path, scheme_file: Path, by_command: Path, tmp_path: Path
) -> None:
    deployed = ask(port, "/api/deployments/filter", {})
    assert sorted(deployment["name"] for deployment in deployed) == [
        "daily",
        *["monthly"] * 2,
        *["on-request"] * 5,
        "weekly",
    ]
    daily = next(deployment for deployment in deployed if deployment["name"] == "daily")
    assert [schedule["slug"] for schedule in daily["schedules"]] == ["daily-round"]
    assert "settings" in daily["parameter_openapi_schema"]["properties"]
    assert soon(lambda: scheduled(port)), "the server's scheduler plans no runs; see the lock file's sqlalchemy"

    made = subprocess.run(
        [sys.executable, "-m", "flows.round", str(scheme_file), "--seed", "7", "--round", "2026-11-20"]
        + ["--data", str(tmp_path / "data")],
        cwd=root,
        env=os.environ | {"PREFECT_API_URL": f"http://{up.HOST}:{port}/api", "PREFECT_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert made.returncode == 0, made.stderr
    assert "intervals hold the truth" in made.stdout
    folder = next((tmp_path / "data" / "runs").iterdir())
    assert (folder / "aggregate.parquet").read_bytes() == (by_command / "aggregate.parquet").read_bytes()

    [run] = [run for run in ask(port, "/api/flow_runs/filter", {}) if run["deployment_id"] is None]
    assert (run["name"], run["state"]["type"]) == ("small-2026-11-20", "COMPLETED")
    wanted = {"flow_runs": {"id": {"any_": [run["id"]]}}}

    def completed() -> list[str]:
        wanted_tasks = ask(port, "/api/task_runs/filter", wanted)
        return [task["name"] for task in wanted_tasks if task["state"]["type"] == "COMPLETED"]

    everything = 1 + 2 + 2 + 6  # prepare, two shards twice, merge, estimate, compare, draw, show, land
    assert soon(lambda: len(completed()) == everything), "tasks are recorded some seconds later, but all of them"
    assert f"land-{folder.name}" in completed()
    page = ask(port, "/")
    assert '<div id="app">' in page
    assert "Prefect" in page


def test_a_worker_carries_out_a_run_that_somebody_asked_for(port: str, scheme_file: Path, tmp_path: Path) -> None:
    [daily] = ask(port, "/api/deployments/filter", {"deployments": {"name": {"any_": ["daily"]}}})
    settings = {"scheme": str(scheme_file), "data": str(tmp_path / "data"), "clients": 20_000, "round": "asked"}
    run = ask(port, f"/api/deployments/{daily['id']}/create_flow_run", {"parameters": {"settings": settings}})

    def ended() -> str | None:
        state = ask(port, f"/api/flow_runs/{run['id']}")["state"]["type"]
        return state if state in ("COMPLETED", "FAILED", "CRASHED") else None

    assert soon(ended, 120) == "COMPLETED"
    assert (tmp_path / "data" / "warehouse.duckdb").exists()


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
    assert "is taken" in captured.err
    assert len(captured.err.splitlines()) == 1
