"""`ldpflow watch`, which `ldpflow up` starts: looks whether all is well, tells a webhook what is not, and shows it in the UI.

A run whose process or machine died is told, and begun again: what it has finished stands.  A run that dies a third time waits
for somebody, since it may be the run that kills its machine.  More rarely, what `ldpflow status` looks at is looked at.

What is to be told stands in a file of PREFECT_HOME before it is sent, and until it was taken: killed and started again, this
goes on where it was.  A webhook that does not answer well is asked again, ever more rarely; that it does not is seen in the UI
and by `ldpflow status`.
"""

from __future__ import annotations

import logging
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from prefect.client.schemas.objects import FlowRun, State, StateType

from dpcore.errors import DPCoreError
from dpcore.results.pages import plain
from dpcore.rounds.defaults import PROJECT
from dpcore.rounds.project import Project
from dpcore.wire import locks

from . import alerts, status
from .message_queue import Outbox
from .status import Line
from .webhook import URL, Webhook

_LOOKS = 2.0  # seconds between looks at runs,
_LOOKS_AROUND = 20.0  # and at everything else
_UNWELL = 60.0  # seconds that something is not well before it is told: a restart takes less
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 900.0  # seconds before a message is sent again
_OVERLAP = 86_400.0  # seconds that are looked at again: the end of a run may be written late
_BEGINS = 3  # times that a run is begun by itself
_SERVERS_DEATH = "ConcurrencySlotAcquisitionError: Unable to acquire"  # before each task Prefect asks for a place
_SHOWN = 3600.0  # seconds after which the page in the UI is written anew, though nothing changed
_ARTIFACT = "ldpflow-status"
Tell = Callable[[Sequence[Line]], None]
_log = logging.getLogger("ldpflow.watch")


def main() -> int:
    """Watch until it is stopped, and return the exit status."""
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.WARNING)
    try:
        project = Project.read()
        status.settle(project)
        Webhook.of(project)
        file = status.outbox_file()
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locks.alone(file.with_name(f"{file.name}.lock"), f"the watching of {file}", "ldpflow watch"):
            _watch(file, project)
    except (DPCoreError, OSError) as error:
        print(f"ldpflow: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


def _watch(file: Path, project: Project | None) -> None:
    webhook = Webhook.of(project)
    recipient = (
        f"{webhook.host} is told" if webhook is not None else f"nobody is told: say notify in {PROJECT}, or {URL}"
    )
    print(f"watching {os.environ['PREFECT_API_URL']}; {recipient}", file=sys.stderr, flush=True)
    outbox, tell = Outbox(file), _nobody
    if project is not None and project.metrics_port:
        from .metrics import serve

        tell = serve(project.metrics_port)
    for work, pause in ((lambda: deliver(outbox), 1.0), (lambda: look(outbox), _LOOKS)):
        threading.Thread(target=_again_and_again, args=(work, pause), daemon=True).start()
    _again_and_again(Around(outbox, tell).look, _LOOKS_AROUND)


def look(outbox: Outbox) -> None:
    """Put what is to be told of runs that ended since the first look, and begin those again that crashed.

    Where nobody is told, nobody will be: who is named later is not told of the past.
    """
    from prefect.client.orchestration import get_client

    now = time.time()
    began, until = outbox.looked() or (now, now)
    with get_client(sync_client=True) as client:
        since = datetime.fromtimestamp(max(began, until - _OVERLAP), UTC)
        runs = alerts.ended_badly(client, since)
        outbox.put(alerts.of_runs(client, runs, status.ui()), now=now, taken=Webhook.of(Project.read()) is None)
        for run in runs:
            if _died(run) and run.deployment_id is not None and run.run_count < _BEGINS:
                text = f"It crashed and begins again by itself, {run.run_count + 1} of {_BEGINS} times."
                client.set_flow_run_state(run.id, State(type=StateType.SCHEDULED, name="AwaitingRetry", message=text))
    outbox.look(began, now)


def _died(run: FlowRun) -> bool:
    """Whether its process died, or the server did that it spoke with, which Prefect calls a failure in one place."""
    message = run.state.message if run.state is not None else None
    return run.state_type == StateType.CRASHED or _SERVERS_DEATH in (message or "")


def deliver(outbox: Outbox) -> None:
    """Send what is due.  Who does not answer is left in peace for a while, twice as long as the time before."""
    webhook = Webhook.of(Project.read())
    if webhook is None:
        return
    for message in outbox.due(time.time()):
        answer = webhook.send(message)
        if not answer.refused:
            outbox.taken(message, now=time.time())
            continue
        attempts = outbox.attempts(message if answer.is_its_own else None)
        pause = max(answer.pause, _FIRST_PAUSE * 2.0 ** min(attempts, 20))
        until = time.time() + min(_LONGEST_PAUSE, pause) * random.uniform(0.8, 1.2)  # no secret hangs on it
        outbox.put_off(message, answer.refused, until=until)
        if not answer.is_its_own:
            outbox.wait(until)
            return


class Around:
    """Looks at everything that `ldpflow status` looks at.  tell: takes the newest lines."""

    def __init__(self, outbox: Outbox, tell: Tell) -> None:
        self._outbox, self._tell = outbox, tell
        self._unwell: dict[str, float] = {}  # what -> since when
        self._shown: tuple[object, float] = (None, 0.0)

    def look(self) -> None:
        """Tell what has not been well for a while, and show the page where it has changed."""
        now, lines = time.monotonic(), status.lines(Project.read())
        self._tell(lines)
        self._unwell = {line.what: self._unwell.get(line.what, now) for line in lines if not line.is_well}
        lasting = [line for line in lines if now - self._unwell.get(line.what, now) >= _UNWELL]
        if Webhook.of(Project.read()) is not None:
            self._outbox.put(alerts.of_lines(lasting, status.ui()), now=time.time())
        seen = [(line.what, line.is_well, line.about) for line in lines]
        if (seen != self._shown[0] or now - self._shown[1] > _SHOWN) and lines[0].is_well:
            _show(lines)
            self._shown = seen, now


def _show(lines: Sequence[Line]) -> None:
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import ArtifactCreate

    bad = [line.what for line in lines if not line.is_well]
    headline = f"Not well: {', '.join(bad)}" if bad else "All is well"
    rows = [f"| {'✓' if line.is_well else '✗'} {line.what} | {plain(line.said)} |" for line in lines]
    page = "\n".join(
        [f"# {headline}", "", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC", "", "| what | is |", "|---|---|", *rows]
    )
    with get_client(sync_client=True) as client:
        client.create_artifact(ArtifactCreate(key=_ARTIFACT, type="markdown", description=headline, data=page))


def _again_and_again(work: Callable[[], None], pause: float) -> None:
    """Work for ever; what goes wrong is tried again, and said in the log, by its kind alone, once while it goes on."""
    before = ""
    while True:
        wrong = ""
        try:
            work()
        except Exception as error:
            wrong = str(error) if isinstance(error, DPCoreError) else type(error).__name__
        if wrong and wrong != before:
            _log.warning("will look again: %s", wrong)
        before = wrong
        time.sleep(pause)


def _nobody(_lines: Sequence[Line]) -> None:
    pass


if __name__ == "__main__":
    sys.exit(main())
