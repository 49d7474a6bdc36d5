"""`ldpflow up`: a Prefect server, a worker, the project's collector and the schedule, on this machine, until Ctrl-C.

The server asks for a key that its first start creates (`key.py`), and rejects pages of other origins (`server.py`).  `host` in
ldpflow.toml replaces the address 127.0.0.1, and `port`, or PREFECT_SERVER_API_PORT, the port 4200; Prefect's own commands in
this folder find them in their profile.  A server or worker that stops is restarted.  Their output is in `server.log` and
`worker.log` of PREFECT_HOME, by default .prefect, a folder that only its owner can read.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from dpcore.errors import SchemeError
from dpcore.rounds.defaults import PROJECT as FILE
from dpcore.rounds.project import Project

from ..names import POOL
from ..server import own_origins
from . import environment
from .key import CLIENT, SERVER

HOST = environment.HOST  # of everything but the server, which a project may put elsewhere
OUTBOX = "messages.db"  # messages of `watch`, in PREFECT_HOME
COLLECTOR_PORT = 8080  # default of `ldpflow serve`
_PATIENCE = 300  # seconds; a first start creates the database, 20 s on a slow machine, minutes on a busy one
_GRACE = 30  # seconds in which a service must stop
_RESTARTS, _WATCHED = 5, 600  # immediate restarts of a service in so many seconds
_PAUSE = 60  # seconds before further restarts
_PARENT_DEATH = 1  # PR_SET_PDEATHSIG of prctl(2)
_UMASK = 0o077  # files of the server and its setup are readable by their owner only
# The operator's mask applies to tables and pictures of a worker's runs; files of reports set their own mode.
_OWN_UMASK = -1


# Names of the files of Prefect and `watch` in PREFECT_HOME.
_PREFECTS = ("prefect.db*", f"{OUTBOX}*", "*.log", "profiles.toml", "memo_store.toml", "storage", "concurrency_leases")


_ERROR = "ldpflow: "  # prefix of our error messages
_ERRORS = (_ERROR, "Error: ")  # the latter: wrong usage of a command


class UpError(Exception):
    """Why the services could not start or stay up, and what to do."""


def main() -> int:
    """Start everything, print the UI's address, wait, and stop everything; return the exit status."""
    for number in (
        signal.SIGINT,
        signal.SIGTERM,
    ):  # `kill` stops like Ctrl-C, which a shell's `&` ignores
        signal.signal(number, signal.default_int_handler)
    try:
        project = Project.read()
        host, port = environment.host(project), environment.port(project)
        _check_host(host)
        _check_free(port, "PREFECT_SERVER_API_PORT" if project is None else f"port in {FILE}", host)
        if project is not None:
            _check(project)
        variables = environment_of(port, project)
        _keep_to_owner(Path(variables["PREFECT_HOME"]))
        key = _python(f"{__package__}.key --make", variables)
        variables |= {SERVER: key, CLIENT: key}
        with ExitStack() as stack:
            server = stack.enter_context(_Service("server", "ldpflow_flows.server", variables))
            print(f"starting the server on {host}:{port} ...", flush=True)
            _wait_until_healthy(variables["PREFECT_API_URL"], server)
            stack.callback(_python, f"{__package__}.key --withdraw", variables)
            _python(f"{__package__}.deployments --announce", variables)
            services = [server]
            if project is not None and project.collector is not None:
                collector = _Service("collector", _collecting(project.options["scheme"], project.collector), variables)
                services.append(stack.enter_context(collector))
                _wait_until_listening(project.collector.get("port", COLLECTOR_PORT), collector)
            worker_start = f"prefect worker start --pool {POOL} --type process"
            services.append(stack.enter_context(_Service("worker", worker_start, variables, umask=_OWN_UMASK)))
            services.append(stack.enter_context(_Service("watch", "ldpflow_flows.monitoring.watch", variables)))
            print(f"up: {variables['PREFECT_UI_URL']}  (Ctrl-C stops everything)", flush=True)
            shown = key if sys.stdout.isatty() else "`ldpflow up --key` prints it"  # a log must not contain it
            print(f"the UI asks each browser once for the key: {shown}", flush=True)
            while True:
                time.sleep(0.5)
                for service in services:
                    service.keep_up()
    except (UpError, SchemeError) as error:
        print(f"ldpflow: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped", flush=True)
    return 0


def environment_of(port: str, project: Project | None = None) -> dict[str, str]:
    """Return the settings that server and worker share.

    The port is passed in the environment: with the option `--port` the UI uses the default port and stays blank.
    """
    host = environment.host(project)
    here = f"http://{environment.reached_at(host)}:{port}"
    seen = os.environ.get("PREFECT_UI_URL") or here
    # Of all addresses, the UI's pages ask the one at which users see them.
    pages = {"PREFECT_UI_API_URL": f"{seen.rstrip('/')}/api"} if host == environment.EVERYWHERE else {}
    own = {
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": ",".join(own_origins(port, seen)),
        "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",  # seconds; as flows/services/deployments.py expects
        "PREFECT_SERVER_DEPLOYMENTS_CONCURRENCY_SLOT_WAIT_SECONDS": "5",  # the default of 30 delays a queue of rounds
        "PREFECT_WORKER_QUERY_SECONDS": "5",  # a run that somebody starts begins within 5 s; the default is 10
        "PREFECT_LOGGING_LEVEL": "WARNING",  # on this terminal; prefect.yaml sets INFO for the logs of runs in the UI
    }
    return environment.here(**own, **pages) | {
        "PREFECT_API_URL": f"{here}/api",
        "PREFECT_UI_URL": seen,
        "PREFECT_SERVER_API_HOST": host,
        "PREFECT_SERVER_API_PORT": port,
    }


def _check(project: Project) -> None:
    """Refuse settings, before anything starts, with which a service would stop.  Raises UpError and SchemeError."""
    if project.metrics_port:
        _check_free(str(project.metrics_port), "metrics_port")
    try:
        project.of_rounds()
    except SchemeError as error:
        raise SchemeError(f"{project.options['scheme']}: {error}") from None
    if project.collector is None:
        return
    from inspect import signature

    from dpcore.cli.reports import serve

    accepted = [name for name in signature(serve).parameters if name != "schemes"]
    if unknown := project.collector.keys() - set(accepted):
        raise UpError(f"{FILE}: [collector] has no key {min(unknown)}; it has {', '.join(accepted)}")
    _check_free(str(project.collector.get("port", COLLECTOR_PORT)), "the collector's port")


def _collecting(scheme: str, options: Mapping[str, Any]) -> str:
    """The command of a collector with these options; a list repeats the option."""
    words = ["dpcore.cli", "serve", scheme]
    for name, value in options.items():
        for item in value if isinstance(value, list) else [value]:
            words += [f"--{name.replace('_', '-')}", str(item)]
    return shlex.join(words)


def _keep_to_owner(home: Path) -> None:
    """Make Prefect's folder private: it contains parameters, logs and the key; an older version left it readable."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_prefects = any(path for pattern in _PREFECTS for path in home.glob(pattern))
        if home.stat().st_mode & stat.S_ISVTX or (any(home.iterdir()) and not is_prefects):
            raise UpError(
                f"PREFECT_HOME must be a folder for Prefect only, got {home}, which contains other files; name another"
            )
        home.chmod(0o700)
        (home / "storage").mkdir(mode=0o700, exist_ok=True)  # results of a worker's runs
        for path in (path for pattern in _PREFECTS for path in home.glob(pattern)):
            if path.is_file() and not path.is_symlink():
                path.chmod(path.stat().st_mode & 0o700)
    except OSError as error:
        raise UpError(f"PREFECT_HOME must be a folder of your own, got {home}: {error.strerror}") from error


def _check_host(host: str) -> None:
    """Refuse foreign addresses, and 0.0.0.0 without PREFECT_UI_URL, because users need one address to open."""
    if host == environment.EVERYWHERE and not os.environ.get("PREFECT_UI_URL"):
        raise UpError(f"host {host} needs PREFECT_UI_URL, the address that users open; other names are refused")
    if not environment.is_here(host):
        raise UpError(f"host in {FILE} must be an address of this machine, got {host}")


def _check_free(port: str, name: str, host: str = HOST) -> None:
    """Refuse a port in use: another server would pass our health check.  name: the setting."""
    if not port.isdigit() or not 0 < int(port) < 65_536:
        raise UpError(f"{name} must be a port between 1 and 65535, got {port!r}")
    with socket.socket() as probe:
        if probe.connect_ex((environment.reached_at(host), int(port))) == 0:
            raise UpError(f"port {port} is in use; stop the program that uses it, or set {name} to another port")


class _Service:
    """A `python -m` process that is restarted when it stops; its output goes to a file.

    It has its own session, so that Ctrl-C reaches `ldpflow up` only, which stops the services in order.
    """

    def __init__(self, name: str, command: str, environment: Mapping[str, str], *, umask: int = _UMASK) -> None:
        self.log = Path(environment["PREFECT_HOME"]) / f"{name}.log"
        self.name, self._command, self._environment, self._umask = name, command, dict(environment), umask
        self._starts: list[float] = []
        self._due: float | None = None  # when it is restarted, once it has stopped

    def __enter__(self) -> _Service:
        self._starts.append(time.monotonic())
        self.log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(self.log, "ab", opener=_for_owner) as log:
            self._log_start = log.tell()
            self._process = subprocess.Popen(
                [sys.executable, "-m", *shlex.split(self._command)],
                env=self._environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                umask=self._umask,
                preexec_fn=_ends_with_us(os.getpid()),
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self.status is None:
            self._process.terminate()
            try:
                self._process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()

    @property
    def status(self) -> int | None:
        """The exit status; None while it runs."""
        return self._process.poll()

    def last_words(self) -> str:
        """The last error message in its log since its start, '' without one."""
        with open(self.log, "rb") as log:
            log.seek(self._log_start)
            lines = log.read().decode(errors="replace").splitlines()
        last = next((line for line in reversed(lines) if line.startswith(_ERRORS)), "")
        return "".join(mark for mark in last if mark.isprintable()).partition(": ")[2].rstrip(".")

    def keep_up(self) -> None:
        """Restart it if it has stopped: at once, or after a pause if it stops repeatedly."""
        if self.status is None:
            return
        now = time.monotonic()
        if self._due is None:
            often = sum(now - start < _WATCHED for start in self._starts)
            pause = _PAUSE if often > _RESTARTS else 0
            times, when = (f", {often} times in {_WATCHED} s", f" in {pause} s") if pause else ("", "")
            reason = f": {words}" if (words := self.last_words()) else ""
            print(
                f"the {self.name} ended with status {self.status}{times}{reason}; started again{when}, see {self.log}",
                flush=True,
            )
            self._due = now + pause
        if now >= self._due:
            self._due = None
            self.__enter__()


def _ends_with_us(us: int) -> Callable[[], None]:
    """Return the function that makes a child process stop when its parent dies; on Linux only."""
    if not sys.platform.startswith("linux"):
        return lambda: None
    prctl = ctypes.CDLL(None).prctl

    def settle() -> None:
        prctl(_PARENT_DEATH, signal.SIGTERM)
        if os.getppid() != us:  # the parent has died already
            os._exit(1)

    return settle


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _python(command: str, environment: Mapping[str, str]) -> str:
    """Run a `python -m` command to its end and return its output."""
    done = subprocess.run(
        [sys.executable, "-m", *command.split()],
        env=dict(environment),
        capture_output=True,
        text=True,
        umask=_UMASK,
    )
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines() or ["no output"]
        last = lines[-1].strip()
        if last.startswith(_ERROR):
            raise UpError(last.removeprefix(_ERROR))
        raise UpError(f"`python -m {command}` failed: {last}; run it by hand to see the whole output")
    return done.stdout.strip()


def _wait_until_healthy(api: str, server: _Service) -> None:
    def is_healthy() -> bool:
        try:
            with urlopen(f"{api}/health", timeout=2) as answer:
                return bool(answer.status == 200)
        except (URLError, OSError):
            return False

    _wait_until(is_healthy, server)


def _wait_until_listening(port: int, collector: _Service) -> None:
    def is_listening() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((HOST, port)) == 0

    _wait_until(is_listening, collector)


def _wait_until(is_ready: Callable[[], bool], service: _Service) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if service.status is not None:
            reason = service.last_words()
            why = f": {reason}" if reason else f"; see {service.log}"
            raise UpError(f"the {service.name} ended at once with status {service.status}{why}")
        if is_ready():
            return
        time.sleep(0.3)
    raise UpError(f"the {service.name} was not healthy after {_PATIENCE} s; the machine may be too busy, try again")


if __name__ == "__main__":
    sys.exit(main())
