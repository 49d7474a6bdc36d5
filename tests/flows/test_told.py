"""Fifty runs end badly, who tells is killed twenty times, who is told is ill: each is told once, and nothing else."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ldpflow_flows.names import TAG
from ldpflow_flows.services import up
from ldpflow_flows.services.key import CLIENT, SERVER
from tests.helpers import services
from tests.helpers.ports import free_port
from tests.helpers.services import ask, receiver, soon

pytestmark = [pytest.mark.flows, pytest.mark.slow, pytest.mark.nightly("waits")]
RUNS, KILLS, SEED = 50, 20, 20261123
ENDS = ("FAILED", "CRASHED", "CANCELLED")


@pytest.fixture
def environment(tmp_path: Path, new_database: Callable[[], str | None]) -> dict[str, str]:
    port, key = free_port(), "ldpflow:told"
    told = os.environ | {
        "PREFECT_HOME": str(tmp_path / "home"),
        "PREFECT_PROFILES_PATH": str(tmp_path / "profiles.toml"),
    }
    told |= {name: value for name, value in up.environment_of(port).items() if name not in told}
    if url := new_database():
        told["PREFECT_SERVER_DATABASE_CONNECTION_URL"] = url
    services._KEYS[port] = key
    (tmp_path / "home").mkdir()
    return told | {SERVER: key, CLIENT: key}


@contextlib.contextmanager
def process(module: str, environment: Mapping[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with open(log, "ab") as file:
        started = subprocess.Popen([sys.executable, "-m", module], env=environment, stdout=file, stderr=file)
    try:
        yield started
    finally:
        started.kill()
        started.wait()


def answers(draw: random.Random) -> Callable[[int], tuple[int, Mapping[str, str]]]:
    """A webhook that takes half of what it is told, some of it late, and once answers nobody until they have gone."""

    def answer(request: int) -> tuple[int, Mapping[str, str]]:
        if request == 5:
            time.sleep(35)
            return 0, {}
        kind = draw.random()
        if kind < 0.3:
            return 500, {}
        if kind < 0.4:
            return 429, {"Retry-After": "1"}
        if kind < 0.5:
            time.sleep(3)
        return 200, {}

    return answer


def test_each_of_fifty_is_told_once(environment: dict[str, str], tmp_path: Path) -> None:
    draw = random.Random(SEED)
    port = environment["PREFECT_SERVER_API_PORT"]
    with receiver(answer=answers(random.Random(SEED + 1))) as (url, sent):
        environment["LDPFLOW_NOTIFY_URL"] = url
        with process("ldpflow_flows.server", environment, tmp_path / "server.log"):
            assert soon(lambda: _is_healthy(port))
            flow = ask(port, "/api/flows/", {"name": "round"})["id"]
            watch = [sys.executable, "-m", "ldpflow_flows.monitoring.watch"]
            with open(tmp_path / "watch.log", "ab") as log:
                watching = subprocess.Popen(watch, env=environment, stdout=log, stderr=log)
                try:
                    assert soon(lambda: _has_looked(environment))
                    stop = threading.Event()
                    load = [threading.Thread(target=_load, args=(port, flow, stop), daemon=True) for _ in range(3)]
                    ending = threading.Thread(target=_end_badly, args=(port, flow, random.Random(SEED + 2)))
                    for thread in (*load, ending):
                        thread.start()
                    for _ in range(KILLS):
                        time.sleep(draw.uniform(4, 10))
                        watching.send_signal(signal.SIGKILL)
                        watching.wait()
                        watching = subprocess.Popen(watch, env=environment, stdout=log, stderr=log)
                    ending.join()
                    stop.set()
                    soon(lambda: len(set(sent.keys)) >= RUNS, 600)
                    time.sleep(30)  # what is told too often would be told now
                finally:
                    watching.kill()
                    watching.wait()
    told = Counter(sent.keys)
    of_runs = {key: times for key, times in told.items() if any(f"/{end.title()}/" in key for end in ENDS)}
    print(
        f"{sent.asked} requests, {len(of_runs)} messages of {RUNS} runs, {sum(of_runs.values()) - len(of_runs)} again"
    )
    assert len(of_runs) == RUNS
    assert sorted({one["run"] for one in sent if one["flow"] == "round"}) == sorted(f"bad {n:02d}" for n in range(RUNS))
    assert sum(of_runs.values()) - RUNS <= KILLS  # which were killed before they heard that it was taken


def _is_healthy(port: str) -> bool:
    with contextlib.suppress(OSError):
        return bool(services.ask_once(port, "/api/health"))
    return False


def _has_looked(environment: Mapping[str, str]) -> bool:
    from ldpflow_flows.monitoring.webhook import Outbox

    file = Path(environment["PREFECT_HOME"]) / up.OUTBOX
    return file.exists() and Outbox(file).looked() is not None


def _end_badly(port: str, flow: str, draw: random.Random) -> None:
    """Let fifty runs end badly within two minutes; what is cancelled has crashed before, as what a worker kills does."""
    for number in range(RUNS):
        run = _begun(port, flow, f"bad {number:02d}")
        end = ENDS[number % len(ENDS)]
        for state in ("CRASHED", end) if end == "CANCELLED" else (end,):
            ask(
                port,
                f"/api/flow_runs/{run}/set_state",
                {"state": {"type": state, "name": state.title()}, "force": True},
            )
        time.sleep(draw.uniform(0, 4))


def _load(port: str, flow: str, stop: threading.Event) -> None:
    """Keep the server busy with runs that end well."""
    while not stop.is_set():
        with contextlib.suppress(OSError):
            run = _begun(port, flow, "good")
            ask(port, f"/api/flow_runs/{run}/set_state", {"state": {"type": "COMPLETED"}, "force": True})


def _begun(port: str, flow: str, name: str) -> Any:
    body = {"name": name, "flow_id": flow, "tags": [TAG], "state": {"type": "PENDING"}}
    run = ask(port, "/api/flow_runs/", body)["id"]
    ask(port, f"/api/flow_runs/{run}/set_state", {"state": {"type": "RUNNING"}, "force": True})
    return run
