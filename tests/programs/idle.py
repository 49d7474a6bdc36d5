"""What `ldpflow up` costs while nothing runs, beside Prefect's own server and worker: `make idle`.

Both wait at the same time, each with a folder and a port of its own and the settings of its own: ours in a new project without
a collector.  Processor time is the kernel's count for each process, which other programs disturb less than a clock; memory is
resident memory.  Exit status: 1 where an aim is missed.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import psutil

from dpcore.rounds.project import start
from tests.helpers.ports import free_port

MOST_SECONDS, MOST_MEMORY = 1.25, 1.3  # what is asked of ours, as a multiple of Prefect's
_PATIENCE = 300  # seconds in which either must be up
_NAMES = ("watch", "worker", "server")  # a word of the command -> the process's name; the rest is `up`


def main() -> int:
    """Measure, print, and return 1 where an aim is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.programs.idle", description=__doc__)
    parser.add_argument("--seconds", type=int, default=400, help="how long to wait (default 400)")
    parser.add_argument("--settle", type=int, default=60, help="seconds after the start that do not count (default 60)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made, ExitStack() as stack:
        ours = stack.enter_context(_ours(Path(made) / "ours"))
        prefects = stack.enter_context(_prefects(Path(made) / "prefects"))
        time.sleep(options.settle)
        before = [_seconds(processes) for processes in (ours, prefects)]
        time.sleep(options.seconds)
        spent = [
            {name: after[name] - earlier[name] for name in after}
            for after, earlier in zip((_seconds(ours), _seconds(prefects)), before, strict=True)
        ]
        held = [
            {name: process.memory_info().rss / 1e6 for name, process in found.items()} for found in (ours, prefects)
        ]
    for whose, seconds, memory in zip(("ldpflow up", "Prefect's"), spent, held, strict=True):
        of_each = ", ".join(f"{name} {seconds[name]:.1f} s {memory[name]:.0f} MB" for name in seconds)
        print(f"{whose:12} {sum(seconds.values()):6.1f} CPU s {sum(memory.values()):5.0f} MB   {of_each}")
    processor, memory = (sum(one.values()) / sum(other.values()) for one, other in (spent, held))
    print(f"in {options.seconds} s    {processor:.2f} times the CPU time, at most {MOST_SECONDS} is asked")
    print(f"             {memory:.2f} times the memory, at most {MOST_MEMORY} is asked")
    return 0 if processor <= MOST_SECONDS and memory <= MOST_MEMORY else 1


@contextmanager
def _ours(folder: Path) -> Iterator[dict[str, psutil.Process]]:
    """`ldpflow up` in a new project that collects nothing."""
    start(folder)
    settings = folder / "ldpflow.toml"
    settings.write_text(settings.read_text("utf-8").partition("[collector]")[0], encoding="utf-8")
    port = free_port()
    with _started(["ldpflow_flows.services.up"], folder, PREFECT_SERVER_API_PORT=port) as up:
        _wait(up, lambda: "\nup: " in (folder / "log").read_text("utf-8"))
        yield _named(up)


@contextmanager
def _prefects(folder: Path) -> Iterator[dict[str, psutil.Process]]:
    """`prefect server start` and `prefect worker start`, as their documentation starts them."""
    folder.mkdir()
    port = free_port()
    url = {"PREFECT_API_URL": f"http://127.0.0.1:{port}/api"}
    own = {"PREFECT_HOME": str(folder), "PREFECT_SERVER_ANALYTICS_ENABLED": "false", "DO_NOT_TRACK": "1"}
    with _started(["prefect", "server", "start"], folder, PREFECT_SERVER_API_PORT=port, **own) as server:
        _wait(server, lambda: _is_healthy(port))
        words = ["prefect", "worker", "start", "--pool", "bare", "--type", "process"]
        with _started(words, folder, **own, **url) as worker:
            yield _named(server) | _named(worker)


@contextmanager
def _started(command: list[str], folder: Path, **variables: str) -> Iterator[psutil.Process]:
    """A `python -m` process, ended at the end; only these of Prefect's and our variables are set."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "LDPFLOW_"))}
    with open(folder / "log", "ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *command], cwd=folder, env=bare | variables, stdout=log, stderr=log
        )
    try:
        yield psutil.Process(process.pid)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(90)


def _wait(process: psutil.Process, is_ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not is_ready():
        if process.status() == psutil.STATUS_ZOMBIE or time.monotonic() > deadline:
            raise SystemExit(f"{' '.join(process.cmdline())} did not start")
        time.sleep(1)


def _is_healthy(port: str) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/api/health", timeout=2):
            return True
    except (URLError, OSError):
        return False


def _named(first: psutil.Process) -> dict[str, psutil.Process]:
    """A process and all that it has started, by what each is."""
    named = {}
    for process in (first, *first.children(recursive=True)):
        words = " ".join(process.cmdline())
        named[next((name for name in _NAMES if name in words), "up")] = process
    return named


def _seconds(processes: dict[str, psutil.Process]) -> dict[str, float]:
    times = {name: process.cpu_times() for name, process in processes.items()}
    return {name: one.user + one.system for name, one in times.items()}


if __name__ == "__main__":
    sys.exit(main())
