"""`ldpflow watch`, which `ldpflow up` starts: detect problems, send them to a webhook, and show them in the UI.

A run whose process or machine died is reported and restarted from its finished shards.  After the third crash it waits for
somebody to press Retry, because the run itself may be the cause.  Less often it checks the lines of `ldpflow status`.

A run has one message for each time that it ends; a problem one a day, or one for the round that it concerns.

Messages are stored in a file in PREFECT_HOME until they are delivered, so a restarted process continues.  A message that the
webhook does not accept is sent again at growing intervals; the UI and `ldpflow status` show this.
"""

from __future__ import annotations

import logging
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas import filters
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.context import SyncClientContext

from dpcore.errors import DPCoreError
from dpcore.results.pages import plain
from dpcore.rounds.defaults import PROJECT
from dpcore.rounds.project import Project
from dpcore.wire import locks

from ..names import CHECKS_FAILED, TAG
from ..services import environment
from . import status
from .status import Line
from .webhook import URL, Message, Outbox, Webhook

# Seconds between checks of runs, and of everything else, which cost server and process together 9 ms and 60 ms.
_LOOKS, _LOOKS_AROUND = 10.0, 60.0
_UNWELL = 60.0  # seconds that a problem must last before it is reported: a restart takes less
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 900.0  # seconds before a message is sent again
_OVERLAP = 86_400.0  # seconds that are examined again: the end of a run may be recorded late
_BEGINS = 3  # automatic starts of a run
_SERVERS_DEATH = (
    "ConcurrencySlotAcquisitionError: Unable to acquire"  # Prefect asks the server for a slot before each task
)
_SHOWN = 3600.0  # seconds after which an unchanged page in the UI is renewed
_ARTIFACT = "ldpflow-status"
Tell = Callable[[Sequence[Line]], None]
_log = logging.getLogger("ldpflow.watch")
_BADLY = [StateType.FAILED, StateType.CRASHED, StateType.CANCELLED]
_SETTLED = timedelta(seconds=5)  # a killed run is marked as crashed first, and then as cancelled
_PAGE = 200  # runs per request to the server


def main() -> int:
    """Watch until it is stopped, and return the exit status."""
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.WARNING)
    try:
        project = Project.read()
        status.settle(project)
        environment.settle(PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED="false")  # fails where the server is down
        Webhook.configured(project)
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
    webhook = Webhook.configured(project)
    recipient = f"webhook {webhook.host}" if webhook is not None else f"no webhook: set notify in {PROJECT}, or {URL}"
    print(f"watching {os.environ['PREFECT_API_URL']}; {recipient}", file=sys.stderr, flush=True)
    outbox, tell = Outbox(file), _nobody
    if project is not None and project.metrics_port:
        from .metrics import serve

        tell = serve(project.metrics_port)
    for work, pause in ((lambda: deliver(outbox), 1.0), (lambda: look(outbox), _LOOKS)):
        threading.Thread(target=_again_and_again, args=(work, pause), daemon=True).start()
    _again_and_again(Around(outbox, tell).look, _LOOKS_AROUND)


def look(outbox: Outbox) -> None:
    """Store messages about runs that ended since the first look, and restart those that crashed.

    Without a webhook the messages count as delivered: a webhook that is configured later gets no old ones.
    """
    from prefect.client.orchestration import get_client

    now = time.time()
    began, until = outbox.looked() or (now, now)
    with get_client(sync_client=True) as client:
        since = datetime.fromtimestamp(max(began, until - _OVERLAP), UTC)
        runs = ended_badly(client, since)
        outbox.put(of_runs(client, runs, status.ui()), now=now, taken=Webhook.configured(Project.read()) is None)
        for run in runs:
            if _died(run) and run.deployment_id is not None and run.run_count < _BEGINS:
                text = f"It crashed and restarts automatically: start {run.run_count + 1} of {_BEGINS}."
                client.set_flow_run_state(run.id, State(type=StateType.SCHEDULED, name="AwaitingRetry", message=text))
    outbox.look(began, now)


def _died(run: FlowRun) -> bool:
    """Whether its process died, or the server that it used, which Prefect reports as a failure in one case."""
    message = run.state.message if run.state is not None else None
    return run.state_type == StateType.CRASHED or _SERVERS_DEATH in (message or "")


def deliver(outbox: Outbox) -> None:
    """Send the messages that are due.  After each failure the pause doubles."""
    webhook = Webhook.configured(Project.read())
    if webhook is None:
        return
    for message in outbox.due(time.time()):
        answer = webhook.send(message)
        if not answer.refused:
            outbox.taken(message, now=time.time())
            continue
        attempts = outbox.attempts(message if answer.is_its_own else None)
        pause = max(answer.pause, _FIRST_PAUSE * 2.0 ** min(attempts, 20))
        until = time.time() + min(_LONGEST_PAUSE, pause) * random.uniform(0.8, 1.2)  # not security-relevant
        outbox.put_off(message, answer.refused, until=until)
        if not answer.is_its_own:
            outbox.wait(until)
            return


class Around:
    """Checks the lines of `ldpflow status`.  tell: takes the newest lines."""

    def __init__(self, outbox: Outbox, tell: Tell) -> None:
        self._outbox, self._tell = outbox, tell
        self._unwell: dict[str, float] = {}  # subject -> start of the problem
        self._shown: tuple[object, float] = (None, 0.0)

    def look(self) -> None:
        """Store messages about lasting problems, and renew the page in the UI if it has changed."""
        now, lines = time.monotonic(), status.lines(Project.read())
        self._tell(lines)
        self._unwell = {line.subject: self._unwell.get(line.subject, now) for line in lines if not line.is_well}
        lasting = [line for line in lines if now - self._unwell.get(line.subject, now) >= _UNWELL]
        if Webhook.configured(Project.read()) is not None:
            self._outbox.put(of_lines(lasting, status.ui()), now=time.time())
        seen = [(line.subject, line.is_well, line.about) for line in lines]
        if (seen != self._shown[0] or now - self._shown[1] > _SHOWN) and lines[0].is_well:
            _show(lines)
            self._shown = seen, now


def _show(lines: Sequence[Line]) -> None:
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import ArtifactCreate

    bad = [line.subject for line in lines if not line.is_well]
    headline = f"Problems: {', '.join(bad)}" if bad else "No problems"
    rows = [f"| {'✓' if line.is_well else '✗'} {line.subject} | {plain(line.text)} |" for line in lines]
    page = "\n".join(
        [f"# {headline}", "", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC", "", "| subject | status |", "|---|---|", *rows]
    )
    with get_client(sync_client=True) as client:
        client.create_artifact(ArtifactCreate(key=_ARTIFACT, type="markdown", description=headline, data=page))


def _again_and_again(work: Callable[[], None], pause: float) -> None:
    """Repeat the work for ever.  An error is logged once while it lasts, by its type only."""
    before = ""
    with SyncClientContext.get_or_create():  # one client: to make one costs ten times the processor time of a look
        while True:
            wrong = ""
            try:
                work()
            except Exception as error:
                wrong = str(error) if isinstance(error, DPCoreError) else type(error).__name__
            if wrong and wrong != before:
                _log.warning("will try again: %s", wrong)
            before = wrong
            time.sleep(pause)


def _nobody(_lines: Sequence[Line]) -> None:
    pass


def ended_badly(client: SyncPrefectClient, since: datetime) -> list[FlowRun]:
    """Return the runs that failed, crashed, were cancelled, or landed with a failed check, since a time."""
    states = (
        filters.FlowRunFilterState(type=filters.FlowRunFilterStateType(any_=_BADLY)),
        filters.FlowRunFilterState(name=filters.FlowRunFilterStateName(any_=[CHECKS_FAILED])),
    )
    runs: dict[Any, FlowRun] = {}
    for state in states:
        asked = filters.FlowRunFilter(
            tags=filters.FlowRunFilterTags(all_=[TAG]),
            state=state,
            end_time=filters.FlowRunFilterEndTime(after_=since),
        )
        offset = 0
        while page := client.read_flow_runs(
            flow_run_filter=asked, sort=FlowRunSort.END_TIME_DESC, limit=_PAGE, offset=offset
        ):
            runs |= {run.id: run for run in page}
            offset += len(page)
    settled = datetime.now(UTC) - _SETTLED
    return [run for run in runs.values() if run.state is not None and run.state.timestamp <= settled]


def of_runs(client: SyncPrefectClient, runs: Iterable[FlowRun], ui: str) -> list[Message]:
    """Return a message for each run."""
    flows: dict[Any, str] = {}
    messages = []
    for run in runs:
        if run.flow_id not in flows:
            flows[run.flow_id] = client.read_flow(run.flow_id).name
        state, at, url = str(run.state.name), run.state.timestamp.timestamp(), f"{ui}/runs/flow-run/{run.id}"
        body = _body(flows[run.flow_id], run.name, state, run.state.message or "", url)
        messages.append(Message(f"{run.id}/{state}/{at:.3f}", body))
    return messages


def of_lines(lines: Iterable[Line], ui: str) -> list[Message]:
    """Return a message for each line with a problem, unless the problem has another message."""
    today = datetime.now(UTC).date().isoformat()
    return [
        Message(f"{line.subject}/{line.about or today}", _body("status", line.subject, "NotWell", line.text, ui))
        for line in lines
        if not line.is_well and not line.is_reported
    ]


def _body(flow: str, run: str, state: str, message: str, url: str) -> dict[str, str]:
    text = f"ldpflow: {flow} {run}: {state}. {message} {url}"
    return {"text": text, "flow": flow, "run": run, "state": state, "message": message, "url": url}


if __name__ == "__main__":
    sys.exit(main())
