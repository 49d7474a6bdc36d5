"""A round as a step of a team's own flow, as the how-to has it: on a server of their own, which asks for a key."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from dpcore.results import warehouse
from dpcore.rounds.project import start
from tests.helpers.ports import free_port
from tests.helpers.services import PATIENCE, soon

pytestmark = [pytest.mark.flows, pytest.mark.slow]
PAGE = Path(__file__).parents[2] / "data/guide/how-to/your_own_prefect.md"
KEY = "team:secret"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a client of a bare Prefect server with a key."""
    port = free_port()
    home = {"PREFECT_HOME": str(tmp_path / "home"), "PREFECT_SERVER_ANALYTICS_ENABLED": "false", "DO_NOT_TRACK": "1"}
    variables = os.environ | home
    process = subprocess.Popen(
        [sys.executable, "-m", "prefect", "server", "start", "--port", port],
        env=variables | {"PREFECT_SERVER_API_AUTH_STRING": KEY},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        assert soon(lambda: _answers(port))
        yield variables | {"PREFECT_API_URL": f"http://127.0.0.1:{port}/api", "PREFECT_API_AUTH_STRING": KEY}
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _answers(port: str) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/api/health", auth=tuple(KEY.split(":"))).is_success
    except httpx.TransportError:
        return False


def test_a_round_is_a_step_of_a_flow_of_ones_own_and_goes_on_after_a_kill(
    server: dict[str, str], tmp_path: Path
) -> None:
    start(tmp_path / "own")
    [script] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "own/nightly.py").write_text(script, encoding="utf-8")
    run = {"args": [sys.executable, "nightly.py"], "cwd": tmp_path / "own", "env": server}
    reports = tmp_path / "own/data/var/runs"
    first = subprocess.Popen(**run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE
    while not list(reports.glob("*/reports/*.parquet")) and time.monotonic() < deadline:
        time.sleep(0.02)
    first.kill()
    first.wait()
    [shard, *_] = reports.glob("*/reports/*.parquet")
    made = shard.stat().st_mtime_ns
    second = subprocess.Popen(**run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while shard.exists() and shard.stat().st_mtime_ns == made and second.poll() is None:
        time.sleep(0.02)
    assert not shard.exists(), "a finished shard was made again"
    printed, errors = second.communicate(timeout=PATIENCE)
    assert second.returncode == 0, errors
    assert printed.startswith("{'car': 0.")
    landed = warehouse.query(tmp_path / "own/data/var/warehouse.duckdb", "select accepted, state from runs")
    assert landed.values.tolist() == [[200_000, "landed"]]
