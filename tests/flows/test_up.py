"""What `make up` tells its services, whom it lets in, and what it does with a service that ends."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from dpcore.errors import SchemeError
from dpcore.rounds.project import Project
from ldpflow_flows.services import environment, up
from tests.helpers.ports import free_port
from tests.helpers.services import soon


@pytest.mark.slow
def test_a_service_that_keeps_ending_is_started_again_after_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(up, "_RESTARTS", 1)
    monkeypatch.setattr(up, "_PAUSE", 1)
    with up._Service("worker", "prefect no-such-command", os.environ | {"PREFECT_HOME": str(tmp_path)}) as service:
        assert soon(lambda: service.status is not None)
        service.keep_up()  # at once
        assert service.status is None
        assert soon(lambda: service.status is not None)
        service.keep_up()
        assert service.status is not None
        service.keep_up()  # says it once
        assert soon(lambda: (service.keep_up(), service.status is None)[1], 10)
    said = capsys.readouterr().out.splitlines()
    assert said == [
        f"the worker ended with status 2; started again, see {service.log}",
        f"the worker ended with status 2, 2 times in 600 s; started again in 1 s, see {service.log}",
    ]
    assert "no-such-command" in service.log.read_text(encoding="utf-8")


def test_the_settings_are_those_of_this_machine_and_the_operators_go_before(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("PREFECT", "DO_NOT"))]:
        monkeypatch.delenv(name)
    told = up.environment_of("4711")
    home = Path.cwd() / ".prefect"
    own = {name: value for name, value in told.items() if name.startswith(("PREFECT", "DO_NOT", "LDPFLOW_FOLDERS"))}
    assert own.pop("LDPFLOW_FOLDERS") == os.environ["LDPFLOW_FOLDERS"]
    assert own == environment._SERVER | {
        "PREFECT_HOME": str(home),
        "PREFECT_PROFILES_PATH": str(home / "profiles.toml"),
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": "http://127.0.0.1:4711,http://localhost:4711",
        "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
        "PREFECT_SERVER_DEPLOYMENTS_CONCURRENCY_SLOT_WAIT_SECONDS": "5",
        "PREFECT_WORKER_QUERY_SECONDS": "5",
        "PREFECT_LOGGING_LEVEL": "WARNING",
        "PREFECT_API_URL": "http://127.0.0.1:4711/api",
        "PREFECT_UI_URL": "http://127.0.0.1:4711",
        "PREFECT_SERVER_API_HOST": "127.0.0.1",
        "PREFECT_SERVER_API_PORT": "4711",
    }
    monkeypatch.setenv("PREFECT_UI_URL", "https://flows.example.org/ui")
    monkeypatch.setenv("PREFECT_WORKER_QUERY_SECONDS", "7")
    monkeypatch.setenv("PREFECT_SERVER_API_HOST", "0.0.0.0")
    told = up.environment_of("4711")
    assert told["PREFECT_UI_URL"] == "https://flows.example.org/ui"
    assert told["PREFECT_SERVER_CORS_ALLOWED_ORIGINS"].endswith(":4711,https://flows.example.org")
    assert told["PREFECT_WORKER_QUERY_SECONDS"] == "7"
    assert told["PREFECT_SERVER_API_HOST"] == "127.0.0.1"  # of a variable that is another server's


@pytest.mark.parametrize(
    ("host", "seen", "expected"),
    [
        ("127.0.0.2", "", {"PREFECT_API_URL": "http://127.0.0.2:4711/api", "PREFECT_UI_URL": "http://127.0.0.2:4711"}),
        (
            "0.0.0.0",
            "http://flows.example.org:4711/",
            {"PREFECT_API_URL": "http://127.0.0.1:4711/api", "PREFECT_UI_API_URL": "http://flows.example.org:4711/api"},
        ),
    ],
)
def test_the_host_of_the_projects_file_is_where_server_and_clients_meet(
    host: str, seen: str, expected: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PREFECT_SERVER_CORS_ALLOWED_ORIGINS", raising=False)
    monkeypatch.setenv("PREFECT_UI_URL", seen)
    told = up.environment_of("4711", Project({"scheme": "a.toml"}, host=host))
    assert told.items() >= (expected | {"PREFECT_SERVER_API_HOST": host}).items()
    assert told["PREFECT_SERVER_CORS_ALLOWED_ORIGINS"].endswith(seen.rstrip("/") or "http://127.0.0.2:4711")


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("192.0.2.1", "host in ldpflow.toml must be an address of this machine, got 192.0.2.1"),
        ("0.0.0.0", "host 0.0.0.0 needs PREFECT_UI_URL, the address that users open; other names are refused"),
    ],
)
def test_a_host_that_nobody_could_open_is_refused_in_one_line(
    host: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PREFECT_UI_URL", raising=False)
    (tmp_path / "ldpflow.toml").write_text(f'scheme = "a.toml"\nhost = "{host}"\n')
    assert up.main() == 1
    assert capsys.readouterr().err == f"ldpflow: {reason}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["ldpflow.toml"]


def test_a_project_says_what_its_runs_may_use_and_the_operator_goes_before(monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project({"scheme": "schemes/a.toml", "data": "d"}, folders=["/srv/more"])
    assert up.environment_of("4711", project)["LDPFLOW_FOLDERS"] == os.environ["LDPFLOW_FOLDERS"]
    monkeypatch.delenv("LDPFLOW_FOLDERS")
    assert "LDPFLOW_FOLDERS" not in up.environment_of("4711", project)  # runs read the project's file themselves


def test_a_collector_is_started_with_the_projects_options() -> None:
    told = {"into": "my reports", "port": 8081, "name": ["a.example.org", "b.example.org"], "seal_after": 2.5}
    assert shlex.split(up._collecting("a.toml", told)) == (
        ["dpcore.cli", "serve", "a.toml", "--into", "my reports", "--port", "8081"]
        + ["--name", "a.example.org", "--name", "b.example.org", "--seal-after", "2.5"]
    )


@pytest.mark.parametrize("port", ["0", "65536", "-1", "http", ""])
def test_what_is_no_port_is_refused(port: str) -> None:
    with pytest.raises(up.UpError, match="a port between 1 and 65535"):
        up._check_free(port, "port")


def test_a_port_that_is_taken_is_refused_and_a_free_one_is_not() -> None:
    with socket.socket() as taken:
        taken.bind((up.HOST, 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        with pytest.raises(up.UpError, match=f"port {port} is in use"):
            up._check_free(port, "port")
    up._check_free(port, "port")


def test_a_port_for_prometheus_that_is_taken_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PREFECT_SERVER_API_PORT", free_port())
    with socket.socket() as taken:
        taken.bind((up.HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setattr(up.Project, "read", lambda: Project({"scheme": "a.toml"}, metrics_port=port))
        assert up.main() == 1
    said = capsys.readouterr().err
    assert (
        said == f"ldpflow: port {port} is in use; stop the program that uses it, or set metrics_port to another port\n"
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "[collector]\ninto = 'in'\nsealafter = 5",
            r"\[collector\] has no key sealafter; it has into, host, port, .*seal_after",
        ),
        ("[collector]\ninto = 'in'\nport = {taken}", r"port \d+ is in use; .* set the collector's port to another"),
        ("metrics_port = {taken}", r"port \d+ is in use; .* set metrics_port to another"),
        ("[collector]\ninto = 'in'\nport = {free}", r"scheme\.toml: attributes\.x has an unknown key 'epsilom'"),
    ],
)
def test_what_a_service_would_end_of_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    key = "epsilom" if "epsilom" in words else "epsilon"
    scheme = f'name = "s"\n[attributes.x]\ntype = "categorical"\ncategories = ["a", "b"]\n{key} = 1\n'
    (tmp_path / "scheme.toml").write_text(scheme)
    with socket.create_server((up.HOST, 0)) as taken:
        told = said.format(taken=taken.getsockname()[1], free=free_port())
        (tmp_path / "ldpflow.toml").write_text(f'scheme = "scheme.toml"\n{told}\n')
        project = Project.read()
        assert project is not None
        with pytest.raises((up.UpError, SchemeError), match=words):
            up._check(project)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; print('first'); sys.exit('ldpflow: no scheme is there')", ": no scheme is there"),
        ("import sys; sys.exit(3)", "; see {log}"),
    ],
)
def test_what_a_service_said_that_ended_at_once_is_quoted(tmp_path: Path, code: str, said: str) -> None:
    (tmp_path / "ends.py").write_text(code)
    (tmp_path / "worker.log").write_text("of another day\n")
    told = os.environ | {"PREFECT_HOME": str(tmp_path), "PYTHONPATH": str(tmp_path)}
    with up._Service("worker", "ends", told) as service, pytest.raises(up.UpError) as error:
        up._wait_until(lambda: False, service)
    status = 1 if "no scheme" in said else 3
    assert str(error.value) == f"the worker ended at once with status {status}{said.format(log=service.log)}"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="prctl is Linux's")
def test_what_is_started_ends_though_we_are_killed(tmp_path: Path) -> None:
    (tmp_path / "goes_on.py").write_text("import time; print('on', flush=True); time.sleep(600)")
    code = (
        "import os, sys, time\nfrom ldpflow_flows.services import up\n"
        f"told = os.environ | {{'PREFECT_HOME': {str(tmp_path)!r}, 'PYTHONPATH': {str(tmp_path)!r}}}\n"
        "with up._Service('worker', 'goes_on', told) as service:\n"
        "    while not service.log.read_text(): time.sleep(0.05)\n"
        "    print(service._process.pid, flush=True)\n    os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert killed.returncode == -9, killed.stderr
    started = Path(f"/proc/{int(killed.stdout)}/stat")
    assert soon(lambda: not started.exists() or ") Z " in started.read_text(), 20)


class Answers(BaseHTTPRequestHandler):
    """A server that is not well, and then is."""

    codes: ClassVar[list[int]] = [500, 503, 200]

    def do_GET(self) -> None:
        code = self.codes.pop(0) if self.path == "/api/health" else 404
        self.send_response(code)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


def test_a_server_is_waited_for_until_it_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    naps: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: float(len(naps)), sleep=naps.append)
    monkeypatch.setattr(up, "time", clock)
    running: Any = SimpleNamespace(status=None, log="server.log", name="server")
    with HTTPServer((up.HOST, 0), Answers) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        port = str(server.server_address[1])
        up._wait_until_healthy(f"http://{up.HOST}:{port}/api", running)
        server.shutdown()
    assert Answers.codes == []
    assert naps == [0.3, 0.3]
    monkeypatch.setattr(up, "_PATIENCE", 5)
    with pytest.raises(up.UpError, match="not healthy after 5 s"):
        up._wait_until_healthy(f"http://{up.HOST}:{port}/api", running)
    assert len(naps) == 7
    ended: Any = SimpleNamespace(status=3, log="server.log", name="server", last_words=str)
    with pytest.raises(up.UpError, match="ended at once with status 3; see server"):
        up._wait_until_healthy(f"http://{up.HOST}:{port}/api", ended)


def test_what_is_run_to_its_end_says_what_it_said_or_why_it_failed() -> None:
    assert up._python("platform", os.environ)
    with pytest.raises(
        up.UpError, match=r"`python -m no_such_module` failed: .*No module named no_such_module; run it by"
    ):
        up._python("no_such_module", os.environ)


def test_a_service_is_started_again_sooner_or_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[tuple[list[str], dict[str, Any]]] = []
    clock = SimpleNamespace(now=1000.0)

    def popen(command: list[str], **told: Any) -> Any:
        started.append((command, told))
        return SimpleNamespace(poll=lambda: 2)

    monkeypatch.setattr(up, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(up.subprocess, "Popen", popen)
    service = up._Service("worker", "some work", {"PREFECT_HOME": str(tmp_path / "home"), "A": "1"}).__enter__()
    for number in range(5):
        service.keep_up()
        assert len(started) == number + 2  # at once
    assert "again, see" in capsys.readouterr().out.splitlines()[-1]
    service.keep_up()
    assert "2, 6 times in 600 s; started again in 60 s, see" in capsys.readouterr().out
    clock.now += 59.9
    service.keep_up()
    assert len(started) == 6
    clock.now += 0.1
    service.keep_up()
    assert len(started) == 7
    clock.now += 600
    service.keep_up()
    assert len(started) == 8  # what was long ago does not count
    command, told = started[0]
    assert command == [sys.executable, "-m", "some", "work"]
    assert told["env"]["A"] == "1"
    assert told["start_new_session"]
    assert told["umask"] == 0o077
    assert service.log == tmp_path / "home/worker.log"
    assert service.log.stat().st_mode & 0o777 == 0o600
    assert service.log.parent.stat().st_mode & 0o777 == 0o700
