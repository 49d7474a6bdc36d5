"""A server at another address of this machine, as `host` in `ldpflow.toml` says: everything that asks it finds it there."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from dpcore.rounds.project import start
from tests.helpers.ports import free_port
from tests.helpers.services import soon, start_up

pytestmark = [pytest.mark.flows, pytest.mark.slow]
HOST = "127.0.0.2"
BIN = Path(sys.executable).parent


@pytest.fixture
def port() -> str:
    return free_port()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    start(tmp_path / "own")
    settings = tmp_path / "own/ldpflow.toml"
    text = settings.read_text(encoding="utf-8").partition("[collector]")[0]
    settings.write_text(f'host = "{HOST}"\n{text}', encoding="utf-8")
    return tmp_path / "own"


@pytest.fixture
def environment(folder: Path, port: str) -> Iterator[dict[str, str]]:
    """The environment of a person in the folder while `ldpflow up` runs there."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "LDPFLOW_"))}
    settings = {"PREFECT_SERVER_API_PORT": port, "PREFECT_PROFILES_PATH": f"{folder}/.prefect/profiles.toml"}
    process = start_up(folder, bare | settings, print)
    try:
        yield bare
    finally:
        process.terminate()
        assert process.wait(90) == 0


def test_every_program_finds_the_server_at_the_host_of_the_file(
    environment: dict[str, str], folder: Path, port: str
) -> None:
    def said(*words: str) -> str:
        done = subprocess.run([BIN / words[0], *words[1:]], cwd=folder, env=environment, capture_output=True, text=True)
        return done.stdout + done.stderr

    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", int(port))) != 0
    with pytest.raises(HTTPError, match="401"):
        urlopen(f"http://{HOST}:{port}/api/flow_runs/count")
    assert f"http://{HOST}:{port}/api" in (folder / ".prefect/profiles.toml").read_text(encoding="utf-8")
    run = ["prefect", "deployment", "run", "round/daily", "-p", "clients=1000", "-p", "round=test", "--watch"]
    assert "COMPLETED" in said(*run).upper()
    assert soon(lambda: "worker       1 running" in said("ldpflow", "status"), 30)
    assert f"answers at http://{HOST}:{port}/api" in said("ldpflow", "status")
