"""`make soak`: scheduled rounds in a row while worker, server and task processes are killed; the tables must not show it.

The same rounds are made by `ldpflow run` meanwhile, undisturbed.  `make up` runs on a port and in a folder of its own, the
rounds are scheduled for successive days of the past, as after an outage, and SIGKILL goes to one process after another: the
server, the worker (whose rounds go on without it) or the process of a round, and `make up` itself is stopped and started again.
It and its automations are to mend that; where they do not within some minutes, a run is retried as a person would in the UI,
and counted.  At the end every table of both warehouses is compared, run_id by run_id; only times, flow runs and the folder of
the pictures may differ.  What is set in the UI at the start must stand at the end.

Only processes are killed that carry this soak's own folder in their environment.  Exit status: 0 the tables are equal, every
round has landed and what was set stands; 1 it is not so; 2 time ran out.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd

from tests.helpers import services
from tests.helpers.ports import free_port
from tests.helpers.schemes import HOUSEHOLDS

ROOT = Path(__file__).parents[2]
FIRST = datetime(2026, 1, 1, 2, 15, tzinfo=UTC)
KINDS = ("server", "worker", "task", "up")
SET = {"daily": {"parameters": {"min_clients": 7}}, "weekly-cleanup": {"paused": True}}  # in the UI
CRON = "5 4 * * *"  # of the daily round, set there, too
AHEAD = 3  # rounds that are due at once
STARTS = 3  # of `make up`, which a busy machine may need
PATIENCE = 240  # seconds that the product has to mend what a kill broke
VARYING = {"runs": {"started_at", "finished_at", "flow_run_id"}, "figures": {"path"}}


def main() -> int:
    """Run both halves, compare them, say what was found, and return the exit status."""
    options = _options()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # `kill` stops the services, too
    folder = Path(tempfile.mkdtemp(prefix="ldpflow-soak-"))
    begun = time.monotonic()
    rounds = [f"{FIRST + timedelta(days=day):%Y-%m-%d}" for day in range(options.rounds)]
    say(f"{options.rounds} rounds of {options.clients:,} clients, seed {options.seed}, in {folder}")
    scheme = folder / "scheme.toml"
    planned = "clients = 200000\n"
    assert planned in HOUSEHOLDS
    scheme.write_text(
        HOUSEHOLDS.replace(planned, f"clients = {options.clients}\n"), encoding="utf-8"
    )  # else it is a trial
    beside = undisturbed(scheme, folder / "undisturbed", rounds)
    with contextlib.ExitStack() as ending, Services(folder) as running:
        ending.callback(beside.kill)
        soak = Soak(running, scheme, folder / "disturbed", rounds, options)
        soak.set()
        finished = soak.carry_out(begun + 60 * options.minutes)
        lost = soak.lost()
        ending.pop_all()
    if beside.wait():
        raise SystemExit("the undisturbed rounds failed")
    different = differences(folder / "undisturbed", folder / "disturbed")
    leftovers = list((folder / "disturbed").glob("runs/*/reports"))
    say(f"killed: {', '.join(f'{kind} {soak.killed[kind]}' for kind in KINDS)}; retried by hand: {len(soak.by_hand)}")
    for line in (*soak.by_hand, *lost, *different, *(f"reports were left in {path}" for path in leftovers)):
        say(line)
    say(
        f"{len(rounds) - len(soak.missing())} of {len(rounds)} rounds completed, {(time.monotonic() - begun) / 60:.1f} minutes"
    )
    if not finished:
        say(f"time ran out; everything is kept in {folder}")
        return 2
    say("every table is equal to the undisturbed one's" if not different else f"tables differ; {folder} is kept")
    if not different:
        shutil.rmtree(folder)
    return bool(different or leftovers or lost)


def undisturbed(scheme: Path, data: Path, rounds: list[str]) -> subprocess.Popen[bytes]:
    """Run every round by the command, in a process of its own that goes on beside us."""
    code = "import sys\nfrom pathlib import Path\nfrom dpcore import cli\n"
    code += "scheme, data, *rounds = sys.argv[1:]\n"
    code += "for name in rounds: cli.run(Path(scheme), round_=name, data=Path(data))"
    words = [sys.executable, "-c", code, str(scheme), str(data), *rounds]
    return subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, start_new_session=True)


class Services:
    """`make up` in a folder and on a port of its own."""

    def __init__(self, folder: Path) -> None:
        self._port, self.home = free_port(), folder / "home"
        own = {"PREFECT_SERVER_API_PORT": self._port, "PREFECT_HOME": str(self.home), "DO_NOT_TRACK": "1"}
        own |= {"PREFECT_PROFILES_PATH": f"{self.home}/profiles.toml", "LDPFLOW_FOLDERS": f"data,{folder}"}
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")} | own

    def __enter__(self) -> Services:
        for _ in range(STARTS):
            with contextlib.suppress(EOFError):
                self._process = services.start_up(ROOT, self._environment, lambda line: say(f"make up: {line}"))
                return self
        raise SystemExit("`make up` ended")

    def restart(self) -> None:
        """Stop all of it as Ctrl-C does, and start it again."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(120)
        self.__enter__()

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(90)
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def processes(self) -> dict[int, dict[str, str]]:
        """Process -> its environment, of all that were started here but `make up` itself."""
        mark = f"PREFECT_HOME={self.home}".encode()
        found = {}
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                entries = (path / "environ").read_bytes().split(b"\0")
                if mark in entries and int(path.name) not in (os.getpid(), self._process.pid):
                    pairs = (entry.decode(errors="replace").partition("=") for entry in entries if entry)
                    found[int(path.name)] = {name: value for name, _, value in pairs}
        return found

    def of_kind(self, kind: str) -> list[int]:
        """The processes of a kind: what listens, what picks rounds up, what carries rounds out."""
        found = self.processes()
        if kind == "task":
            return [pid for pid, environment in found.items() if "PREFECT__FLOW_RUN_ID" in environment]
        named = [
            pid
            for pid, environment in found.items()
            if "PREFECT__FLOW_RUN_ID" not in environment and kind == _service(services.command_of(pid))
        ]
        return named[-1:]  # of a server, its parent only waits

    def ask(self, path: str, body: Any = None, method: str | None = None) -> Any:
        """Ask the server; None where it does not answer now."""
        with contextlib.suppress(OSError, ValueError):
            return services.ask_once(self._port, f"/api{path}", body, method)
        return None

    def deployment(self, name: str) -> Any:
        """The deployment of that name, of whatever flow."""
        found = None
        while not found:
            found = self.ask("/deployments/filter", {"deployments": {"name": {"any_": [name]}}})
        return found[0]


class Soak:
    """Rounds that are scheduled, killed and watched until every one is complete."""

    def __init__(
        self, services: Services, scheme: Path, data: Path, rounds: list[str], options: argparse.Namespace
    ) -> None:
        self._services, self._scheme, self._data = services, scheme, data
        self._rounds, self._options = rounds, options
        self._random = random.Random(options.seed)
        self._runs: dict[str, str] = {}  # round -> flow run
        self._states: dict[str, tuple[str, str, float]] = {}  # flow run -> type, name and since when
        self.killed: Counter[str] = Counter()
        self.by_hand: list[str] = []

    def carry_out(self, deadline: float) -> bool:
        """Return whether every round completed before the deadline."""
        deployment = str(self._services.deployment("daily")["id"])
        next_kill = None  # the clock of the next kill runs only while everything is up
        while time.monotonic() < deadline:
            self._look()
            if not self.missing():
                return True
            self._schedule(deployment)
            if not self._is_up():
                next_kill = None
            elif next_kill is None:
                next_kill = time.monotonic() + self._pause()
            elif time.monotonic() >= next_kill:
                self._kill()
                next_kill = None
            self._retry_what_is_stuck()
            time.sleep(1)
        return False

    def set(self) -> None:
        """Set some things as people do in the UI."""
        for name, told in SET.items():
            self._services.ask(f"/deployments/{self._services.deployment(name)['id']}", told, "PATCH")
        daily = self._services.deployment("daily")
        of_schedule = f"/deployments/{daily['id']}/schedules/{daily['schedules'][0]['id']}"
        self._services.ask(of_schedule, {"schedule": {"cron": CRON, "timezone": "UTC"}}, "PATCH")
        assert self.lost() == []

    def lost(self) -> list[str]:
        """What was set and does not stand, a line each."""
        lines = []
        for name, told in SET.items():
            there = self._services.deployment(name)
            lines += [f"{name}: {key} is {there[key]}" for key, value in told.items() if there[key] != value]
        crons = [each["schedule"]["cron"] for each in self._services.deployment("daily")["schedules"]]
        return lines + ([] if crons == [CRON] else [f"daily: the schedules are {crons}"])

    def missing(self) -> list[str]:
        """The rounds that are not complete."""
        return [round_ for round_ in self._rounds if self._state(round_)[0] != "COMPLETED"]

    def _is_up(self) -> bool:
        """Whether the server answers and there is a worker: what is still down would hide another death."""
        return self._services.ask("/health") is not None and bool(self._services.of_kind("worker"))

    def _state(self, round_: str) -> tuple[str, str, float]:
        return self._states.get(self._runs.get(round_, ""), ("", "", 0.0))

    def _pause(self) -> float:
        return 5 + self._random.expovariate(1 / self._options.every)

    def _schedule(self, deployment: str) -> None:
        due = [round_ for round_ in self.missing() if round_ in self._runs]
        later = [round_ for round_ in self._rounds if round_ not in self._runs]
        for round_ in later[: AHEAD - len(due)]:
            at = FIRST + timedelta(days=self._rounds.index(round_))
            settings = {"scheme": str(self._scheme), "data": str(self._data)}
            scheduled = {"type": "SCHEDULED", "state_details": {"scheduled_time": at.isoformat()}}
            body = {"parameters": settings, "state": scheduled, "idempotency_key": f"soak {round_}"}
            made = self._services.ask(f"/deployments/{deployment}/create_flow_run", body)
            if made is None:
                return  # asked again a second later, with the same key
            self._runs[round_] = made["id"]

    def _look(self) -> None:
        wanted = {
            "flow_runs": {"id": {"any_": [self._runs[round_] for round_ in self.missing() if round_ in self._runs]}}
        }
        for run in self._services.ask("/flow_runs/filter", wanted) or []:
            state = (run["state"]["type"], run["state"]["name"])
            if self._states.get(run["id"], ("", "", 0.0))[:2] != state:
                self._states[run["id"]] = (*state, time.monotonic())
                round_ = next(name for name, identifier in self._runs.items() if identifier == run["id"])
                say(f"{round_}: {state[1]}")

    def _kill(self) -> None:
        kind = self._random.choice([kind for kind in KINDS if kind == "up" or self._services.of_kind(kind)])
        if kind == "up":
            self._services.restart()
            self.killed[kind] += 1
            return
        victim = self._random.choice(self._services.of_kind(kind) or [0])
        if victim:
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
                self.killed[kind] += 1
                say(f"killed the {kind} (process {victim})")

    def _retry_what_is_stuck(self) -> None:
        """Do what a person would: a run that nothing carries out, and that nothing mends, is retried."""
        alive = {e.get("PREFECT__FLOW_RUN_ID", "") for e in self._services.processes().values()}
        for round_, run in self._runs.items():
            kind, name, since = self._state(round_)
            patience = 60 if kind in ("FAILED", "CRASHED") else PATIENCE  # dead, or not known to be yet
            stuck = kind in ("FAILED", "CRASHED", "CANCELLED", "PENDING", "RUNNING") and run not in alive
            if stuck and time.monotonic() - since > patience:
                state = {"type": "SCHEDULED", "name": "AwaitingRetry", "message": "retried by hand"}
                if self._services.ask(f"/flow_runs/{run}/set_state", {"state": state, "force": True}):
                    self.by_hand.append(f"{round_}: was {name} for {time.monotonic() - since:.0f} s, retried by hand")
                    say(self.by_hand[-1])


def differences(left: Path, right: Path) -> list[str]:
    """Return what differs between two warehouses, a line for each table."""
    from dpcore.results import warehouse
    from dpcore.results.warehouse.views import RESULTS

    lines = []
    for table in ("runs", *RESULTS):
        frames = []
        for data in (left, right):
            frame = warehouse.query(data / "warehouse.duckdb", f"from {table} order by all")
            frames.append(frame.drop(columns=list(VARYING.get(table, ()))))
        try:
            pd.testing.assert_frame_equal(*frames, check_exact=True)
        except AssertionError as error:
            lines.append(f"{table} differs: {' '.join(str(error).split())[:300]}")
    return lines


def say(text: str) -> None:
    """Print with the time."""
    print(f"{datetime.now(UTC):%H:%M:%S} {text}", flush=True)


def _service(words: list[str]) -> str:
    """Which service a command is of: 'worker', 'server' or ''."""
    return "worker" if "worker" in words else "server" if any("server" in word for word in words) else ""


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog="Example: python -m tests.programs.soak --rounds 5"
    )
    parser.add_argument("--rounds", type=int, default=96)
    parser.add_argument("--clients", type=int, default=20_000, help="in each round")
    parser.add_argument("--every", type=float, default=40, help="mean seconds between kills, beyond five")
    parser.add_argument("--minutes", type=float, default=90, help="after which it gives up")
    parser.add_argument("--seed", type=int, default=1, help="of what is killed, and when")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
