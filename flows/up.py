"""`make up`: a Prefect server, a worker and the scheduled deployments on this machine, until Ctrl-C.

The server listens on 127.0.0.1 only.  PREFECT_SERVER_API_PORT chooses another port than 4200.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.error import URLError
from urllib.request import urlopen

HOST = "127.0.0.1"
POOL = "ldpflow-pool"
_PATIENCE = 120  # seconds; a first start builds its database, 20 s on a slow machine
_GRACE = 30  # seconds a child has to end by itself


class UpError(Exception):
    """Why the services could not start or stay up, and what to do."""


def main() -> int:
    """Start everything, print the UI's address, wait, and stop everything; return the exit status."""
    for number in (
        signal.SIGINT,
        signal.SIGTERM,
    ):  # `kill` is as clean as Ctrl-C; a shell's `&` would ignore the latter
        signal.signal(number, signal.default_int_handler)
    port = os.environ.get("PREFECT_SERVER_API_PORT", "4200")
    try:
        _check_free(port)
        environment = environment_of(port)
        with _running("server start", environment) as server:
            print(f"starting the server on {HOST}:{port} ...", flush=True)
            _wait_until_healthy(port, server)
            _prefect(f"work-pool create {POOL} --type process --overwrite", environment)
            _prefect("--no-prompt deploy --all", environment)
            with _running(f"worker start --pool {POOL} --type process", environment) as worker:
                print(f"up: http://{HOST}:{port}  (Ctrl-C stops the server and the worker)", flush=True)
                _wait_for_end(server, worker)
    except UpError as error:
        print(f"ldpflow: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped", flush=True)
    return 0


def environment_of(port: str) -> dict[str, str]:
    """Return the settings that server and worker share.

    The port goes by the environment: with `server start --port` the UI asks the default port and stays blank.
    """
    return {
        "DO_NOT_TRACK": "1",
        "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "60",  # seconds; shows that a run's machine has died
        "PREFECT_WORKER_QUERY_SECONDS": "2",  # the default of 10 lets every run wait
        "PREFECT_LOGGING_LEVEL": "WARNING",
        **os.environ,
        "PREFECT_API_URL": f"http://{HOST}:{port}/api",
        "PREFECT_UI_URL": f"http://{HOST}:{port}",
        "PREFECT_SERVER_API_HOST": HOST,
        "PREFECT_SERVER_API_PORT": port,
    }


def _check_free(port: str) -> None:
    """Refuse a port that is taken: another server's health would be taken for ours."""
    if not port.isdigit() or not 0 < int(port) < 65_536:
        raise UpError(f"PREFECT_SERVER_API_PORT must be a port between 1 and 65535, got {port!r}")
    with socket.socket() as probe:
        if probe.connect_ex((HOST, int(port))) == 0:
            raise UpError(f"port {port} is taken; stop what runs there, or set PREFECT_SERVER_API_PORT to another one")


@contextmanager
def _running(command: str, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a Prefect command beside us; it has a session of its own, so that Ctrl-C reaches us first and order is kept."""
    process = subprocess.Popen(
        [sys.executable, "-m", "prefect", *command.split()],
        env=dict(environment),
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _prefect(command: str, environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "prefect", *command.split()], env=dict(environment), capture_output=True, text=True
    )
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines() or ["nothing was said"]
        raise UpError(f"`prefect {command}` failed: {said[-1].strip()}; run it by hand to see everything")


def _wait_until_healthy(port: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise UpError(f"the server ended at once with status {server.returncode}; see its message above")
        try:
            with urlopen(f"http://{HOST}:{port}/api/health", timeout=2) as answer:
                if answer.status == 200:
                    return
        except (URLError, OSError):
            time.sleep(0.3)
    raise UpError(f"the server was not healthy after {_PATIENCE} s; the machine may be too busy, try again")


def _wait_for_end(*processes: subprocess.Popen[bytes]) -> None:
    while all(process.poll() is None for process in processes):
        time.sleep(0.5)
    raise UpError("the server or the worker ended by itself; see its message above, and start again")


if __name__ == "__main__":
    sys.exit(main())
