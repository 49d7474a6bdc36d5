"""`make up` on a port and with a database of its own, questions to its server, and a receiver of webhooks."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import tomllib
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from ldpflow_flows.services import up
from ldpflow_flows.services.key import CLIENT
from tests.helpers.ports import free_port

# Seconds.  Prefect's server on SQLite lets a write wait a minute for another's, and machines of CI have bad minutes.
PATIENCE = 180
_KEYS: dict[str, str] = {}  # port -> the key that its server asks for


@dataclass(frozen=True)
class Up:
    """A running `make up`."""

    port: str
    pid: int
    key: str
    home: Path
    said: list[str]

    def kill_worker(self) -> None:
        """Kill the worker and every process of its, as a machine that goes down would."""
        parents = {int(path.parent.name): _parent(path) for path in Path("/proc").glob("[0-9]*/stat")}
        [worker] = [pid for pid, parent in parents.items() if parent == self.pid and "worker" in command_of(pid)]
        doomed = [worker]
        for pid in doomed:
            doomed += [child for child, parent in parents.items() if parent == pid]
        for pid in doomed:
            os.kill(pid, signal.SIGKILL)


def start_up(root: Path, environment: Mapping[str, str], tell: Callable[[str], object]) -> subprocess.Popen[str]:
    """Start `make up` and return its process when it is up; tell: called with each line it says, then and later.

    environment: names its port and its file of profiles, from which the questions below take the key.
    Raises EOFError where it ends instead.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "ldpflow_flows.services.up"],
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        tell(line.strip())
        if line.startswith("up: "):
            _KEYS[environment["PREFECT_SERVER_API_PORT"]] = key_in(Path(environment["PREFECT_PROFILES_PATH"]))
            threading.Thread(target=lambda: [tell(line.strip()) for line in process.stdout or ()], daemon=True).start()
            return process
    raise EOFError("`make up` ended")


@contextmanager
def running(root: Path, home: Path, **environment: str) -> Iterator[Up]:
    """Start `make up`; at the end Ctrl-C must stop all of it."""
    port = free_port()
    own = {"PREFECT_SERVER_API_PORT": port, "PREFECT_HOME": str(home), "PREFECT_PROFILES_PATH": f"{home}/profiles.toml"}
    said: list[str] = []
    process = start_up(root, os.environ | own | environment, lambda line: (print(line), said.append(line)))
    try:
        yield Up(port, process.pid, _KEYS[port], home, said)
    finally:
        process.send_signal(signal.SIGINT)
        status = process.wait(90)
    assert status == 0
    with socket.socket() as probe:
        assert probe.connect_ex((up.HOST, int(port))) != 0


def ask(port: str, path: str, body: Any = None, method: str | None = None) -> Any:
    """What the server answers; JSON under /api."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return ask_once(port, path, body, method, seconds=PATIENCE)
        except HTTPError as error:
            if error.code != 503 or time.monotonic() > deadline:
                raise
            time.sleep(1)  # SQLite was busy: the server asks to be asked again, as Prefect's own client does


def ask_once(port: str, path: str, body: Any = None, method: str | None = None, seconds: int = 30) -> Any:
    """What the server answers now; JSON under /api, None for nothing.  Raises OSError where it does not answer well."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Authorization": basic(_KEYS[port])}
    request = Request(f"http://{up.HOST}:{port}{path}", data=data, headers=headers, method=method)
    with urlopen(request, timeout=seconds) as answer:
        content = answer.read().decode()
    return json.loads(content or "null") if path.startswith("/api/") else content


def key_in(profiles: Path) -> str:
    """The key that Prefect's commands find in a file of profiles."""
    found = tomllib.loads(profiles.read_text(encoding="utf-8"))
    return str(found["profiles"][found["active"]][CLIENT])


def basic(key: str) -> str:
    """The header by which a key is given."""
    return f"Basic {b64encode(key.encode()).decode()}"


def state(port: str, run: str) -> Any:
    """A run's state."""
    return ask(port, f"/api/flow_runs/{run}")["state"]


def soon(ready: Callable[[], Any], seconds: int = PATIENCE) -> Any:
    """What becomes true within so many seconds, or the last falsehood."""
    deadline = time.monotonic() + seconds
    while not (found := ready()) and time.monotonic() < deadline:
        time.sleep(0.5)
    return found


def deployment(port: str, name: str) -> Any:
    """The deployment of that name, such as daily."""
    [found] = ask(port, "/api/deployments/filter", {"deployments": {"name": {"any_": [name]}}})
    return found


def start(port: str, *, as_if: str = "SCHEDULED", **settings: Any) -> str:
    """Ask for a run of round/daily and return its id; as_if: the type of its first state."""
    body = {
        "parameters": {name: _plain(value) for name, value in settings.items()},
        "state": {"type": as_if},
    }
    return ask(port, f"/api/deployments/{deployment(port, 'daily')['id']}/create_flow_run", body)["id"]


def ended(port: str, run: str, seconds: int = 3 * PATIENCE) -> Any:
    """The state that a run ends in."""

    final = ("COMPLETED", "FAILED", "CANCELLED")  # a crashed run is one that somebody retries
    assert soon(lambda: state(port, run)["type"] in final, seconds), state(port, run)
    return state(port, run)


def artifacts(port: str, run: str) -> dict[str, Any]:
    """A run's artifacts by key."""
    found = ask(port, "/api/artifacts/filter", {"artifacts": {"flow_run_id": {"any_": [run]}}, "limit": 200})
    return {artifact["key"]: artifact for artifact in found}


class Sent(list[dict[str, Any]]):
    """What a webhook took, in order; keys: the Idempotency-Key of each; asked: how often it was asked, taken or not."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: list[str] = []
        self.asked = 0


@contextmanager
def receiver(
    answer: Callable[[int], tuple[int, Mapping[str, str]]] = lambda _: (200, {}), seconds: float = 0.0
) -> Iterator[tuple[str, Sent]]:
    """A webhook on this machine: its URL, and what it took.

    answer: number of the request -> its status and headers, 0 for none at all; seconds: before it answers.
    """
    sent, lock = Sent(), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.headers["Content-Type"] == "application/json"
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                sent.asked += 1
                status, headers = answer(sent.asked)
                if 200 <= status < 300:
                    sent.append(body)
                    sent.keys.append(self.headers["Idempotency-Key"])
            time.sleep(seconds)
            if not status:
                return
            with suppress(BrokenPipeError):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer((up.HOST, 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://{up.HOST}:{server.server_port}/", sent
    finally:
        server.shutdown()


def check_metrics(text: str) -> None:
    """Let Prometheus's own tool judge metrics, where it is here (Debian's package prometheus)."""
    if tool := shutil.which("promtool"):
        judged = subprocess.run([tool, "check", "metrics"], input=text, capture_output=True, text=True)
        assert (judged.returncode, judged.stderr) == (0, "")


def command_of(pid: int) -> list[str]:
    """The words of a process's command; none where it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
    except OSError:
        return []


def _parent(stat: Path) -> int:
    try:
        return int(stat.read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value
