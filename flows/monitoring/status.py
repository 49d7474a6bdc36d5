"""`ldpflow status`: whether everything works, in ten lines; exit status 1 if there is a problem.

Each line is determined on its own: warehouse and disk are reported even if the server does not answer.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import UUID

import httpx
from prefect.settings import PREFECT_API_URL

from dpcore import wire
from dpcore.errors import DPCoreError
from dpcore.results.pages import NothingLanded, newest
from dpcore.rounds.defaults import DEFAULT_DATA, PROJECT, warehouse_of
from dpcore.rounds.project import Project

from ..names import DAILY, POOL
from ..services import environment
from ..services.up import COLLECTOR_PORT, HOST, OUTBOX
from .webhook import URL, Outbox, Webhook

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient
    from prefect.client.schemas.filters import FlowRunFilter
    from prefect.client.schemas.responses import DeploymentResponse

_SILENT = 90  # seconds without a heartbeat after which a worker counts as gone
_LEAST_FREE = 0.05  # of the disk
_BAD = ("FAILED", "CRASHED")
_LATE = 3600  # seconds after which a round that has not started counts as missed
_RECENT = 20  # runs of the daily round, including manual ones
_EVERYWHERE = ("0.0.0.0", "::")
_A_MOMENT = 5  # seconds in which a collector must answer
_NO_NUMBERS: Mapping[str, float] = {}


@dataclass(frozen=True)
class Line:
    """One line of the status: its subject, the text, and whether it reports no problem.

    about: key of a problem that is one event, such as a round, rather than one of each day.  is_reported: whether another
    message reports it.  numbers: values of metrics, by name.
    """

    subject: str
    text: str
    is_well: bool = True
    about: str = ""
    is_reported: bool = False
    numbers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Due:
    """The newest scheduled run of the daily round that has ended or is late: when it was due, and its state."""

    when: datetime
    state: str
    is_reported: bool


def main() -> int:
    """Print the status, and return 1 if there is a problem."""
    try:
        project = Project.read()
        settle(project)
        status = lines(project)
    except DPCoreError as error:
        print(f"ldpflow: {error}", file=sys.stderr)
        return 1
    for line in status:
        print(f"{'  ' if line.is_well else '! '}{line.subject:11}  {line.text}")
    return 0 if all(line.is_well for line in status) else 1


def settle(project: Project | None) -> None:
    """Use the server that the environment names, or else the one of this folder, with the profile's key."""
    environment.settle()
    environment.settle(PREFECT_API_URL=PREFECT_API_URL.value() or address(project))


def address(project: Project | None = None) -> str:
    """Return the API address of the server that `ldpflow up` starts."""
    return f"http://{environment.reached_at(environment.host(project))}:{environment.port(project)}/api"


def ui() -> str:
    """Return the address of the UI for users."""
    return (
        os.environ.get("PREFECT_UI_URL") or (os.environ.get("PREFECT_API_URL") or address()).removesuffix("/api")
    ).rstrip("/")


def outbox_file() -> Path:
    """Return the file of messages of `ldpflow watch`; Prefect's settings must be set before."""
    return Path(os.environ["PREFECT_HOME"]) / OUTBOX


def lines(project: Project | None) -> list[Line]:
    """Return all lines, the server first.  Raises SchemeError for an invalid webhook."""
    server, overdue = of_server()
    return [*server, _collector(project), *_round(project, overdue), _alerts(project), _disk(project)]


def of_server() -> tuple[list[Line], Due | None]:
    """Return the lines from the server (itself, its worker, the runs of a day, the next round), and the round last due."""
    from prefect.client.orchestration import get_client
    from prefect.settings import PREFECT_API_URL

    address = str(PREFECT_API_URL.value())
    with get_client(sync_client=True) as client:
        if (error := client.api_healthcheck()) is not None:
            down = f"does not answer at {address} ({type(error).__name__}); start it: ldpflow up"
            return [Line("server", down, False)], None

        @cache  # it takes the server 17 ms
        def daily() -> DeploymentResponse:
            return client.read_deployment_by_name(f"round/{DAILY}")

        checks: dict[str, Callable[[], Line]] = {
            "worker": lambda: _worker(client),
            "runs": lambda: _runs(client),
            "next round": lambda: _next(client, daily()),
        }
        lines = [Line("server", f"answers at {address}")]
        for subject, check in checks.items():
            try:
                lines.append(check())
            except Exception as error:  # the other lines do not depend on this one
                lines.append(Line(subject, _unasked(error), False))
        try:
            return lines, _due(client, daily())
        except Exception:  # the line of the next round reports it
            return lines, None


def _unasked(error: Exception) -> str:
    """Why the server did not give an answer, and what to do."""
    from prefect.exceptions import ObjectNotFound, PrefectHTTPStatusError

    if isinstance(error, ObjectNotFound):
        return "nothing is deployed there: ldpflow deploy"
    code = error.response.status_code if isinstance(error, PrefectHTTPStatusError) else 0
    if code == httpx.codes.UNAUTHORIZED:
        return "the server asks for another key; set PREFECT_API_AUTH_STRING to the server's key"
    if code == httpx.codes.NOT_FOUND:
        return "nothing is deployed there: ldpflow deploy"
    return f"no answer: {type(error).__name__}"


def _starting() -> str:
    """The command that starts a worker: all services here, or only the worker for a server of one's own."""
    is_ours = environment.is_here(urlsplit(os.environ.get("PREFECT_API_URL") or address()).hostname or "")
    return "ldpflow up" if is_ours else f"prefect worker start --pool {POOL}"


def _worker(client: SyncPrefectClient) -> Line:
    workers = client.read_workers_for_work_pool(POOL)
    heard = [_ago(worker.last_heartbeat_time) for worker in workers if worker.last_heartbeat_time is not None]
    alive = [ago for ago in heard if ago < _SILENT]
    numbers = {"workers": len(alive)}
    if alive:
        return Line("worker", f"{len(alive)} running, last heartbeat {min(alive):.0f} s ago", numbers=numbers)
    last = f"; last heartbeat {_in_words(min(heard))} ago" if heard else ""
    none = f"none is running{last}; scheduled runs wait; start one: {_starting()}"
    return Line("worker", none, False, numbers=numbers)


def _runs(client: SyncPrefectClient) -> Line:
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterStartTime
    from prefect.client.schemas.sorting import FlowRunSort

    since = FlowRunFilter(start_time=FlowRunFilterStartTime(after_=datetime.now(UTC) - timedelta(days=1)))
    recent = client.read_flow_runs(flow_run_filter=since, sort=FlowRunSort.START_TIME_DESC)
    runs = [run for run in recent if run.start_time is not None]  # others are planned
    bad = [run for run in runs if run.state_type and run.state_type.value in _BAD]
    summary = f"{len(runs)} started in the last day, none failed"
    if bad:
        named = ", ".join(f"{run.name} ({run.state_name})" for run in bad[:3])
        summary = f"{len(runs)} started in the last day, {len(bad)} failed: {named}"
    return Line("runs", summary, not bad, is_reported=True, numbers={"runs_ended_badly": len(bad)})


def _next(client: SyncPrefectClient, daily: DeploymentResponse) -> Line:
    from prefect.client.schemas.filters import FlowRunFilterState, FlowRunFilterStateType
    from prefect.client.schemas.objects import StateType
    from prefect.client.schemas.sorting import FlowRunSort

    if daily.paused:
        return Line("next round", "none is scheduled: the deployment round/daily is paused", False, about="paused")
    waits = FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.SCHEDULED]))
    scheduled = client.read_flow_runs(
        flow_run_filter=_daily(daily.id, state=waits), sort=FlowRunSort.EXPECTED_START_TIME_ASC, limit=1
    )
    if not scheduled or scheduled[0].expected_start_time is None:
        if any(schedule.active for schedule in daily.schedules):
            return Line("next round", "none is scheduled yet, although a schedule is active", False, about="none")
        if not daily.schedules:
            return Line("next round", "none: there is no schedule")
        return Line("next round", "none is scheduled: no schedule is active", False, about="none")
    when = scheduled[0].expected_start_time
    numbers = {"next_round_timestamp_seconds": when.timestamp()}
    return Line("next round", f"{when:%Y-%m-%d %H:%M} UTC", numbers=numbers)


def _due(client: SyncPrefectClient, daily: DeploymentResponse) -> Due | None:
    from prefect.client.schemas.filters import FlowRunFilterExpectedStartTime
    from prefect.client.schemas.sorting import FlowRunSort

    past = FlowRunFilterExpectedStartTime(before_=datetime.now(UTC))
    runs = client.read_flow_runs(
        flow_run_filter=_daily(daily.id, expected_start_time=past),
        sort=FlowRunSort.EXPECTED_START_TIME_DESC,
        limit=_RECENT,
    )
    for run in runs:
        when, state = run.expected_start_time, run.state
        if not run.auto_scheduled or when is None or state is None:
            continue  # a manual run
        if not state.is_final() and not (state.is_scheduled() and _ago(when) > _LATE):
            return None  # it is running
        state_text = f"{state.name}: {state.message}" if state.message else str(state.name)
        state_text = "no worker has started it" if state.is_scheduled() else state_text
        return Due(when, state_text, is_reported=state.type.value in (*_BAD, "CANCELLED"))
    return None


def _daily(deployment: UUID, **more: Any) -> FlowRunFilter:
    """The runs of the daily round."""
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterDeploymentId

    return FlowRunFilter(deployment_id=FlowRunFilterDeploymentId(any_=[deployment]), **more)


def _collector(project: Project | None) -> Line:
    if project is None or project.collector is None:
        return Line("collector", "none is configured")
    port, host = project.collector.get("port", COLLECTOR_PORT), str(project.collector.get("host", HOST))
    protocol = "https" if project.collector.get("certificate") else "http"
    try:
        asked = httpx.get(
            f"{protocol}://{HOST if host in _EVERYWHERE else host}:{port}/health", verify=False, timeout=_A_MOMENT
        )  # our own collector, so the certificate is not verified
        health = asked.json().get("status")
    except httpx.TransportError:
        return Line("collector", f"does not listen on port {port}", False)
    except (ValueError, AttributeError):
        health = None
    words = {"ok": "takes reports", "failing": "cannot store reports: check its disk"}
    return Line("collector", f"port {port}: {words.get(health, 'another program listens there')}", health == "ok")


def _round(project: Project | None, due: Due | None) -> list[Line]:
    data = Path(DEFAULT_DATA if project is None else project.data)
    file = warehouse_of(data) if project is None else Path(project.options.get("warehouse", warehouse_of(data)))
    if not file.exists():
        return [_last(f"none has landed in {file}", None, due)]
    try:
        last = newest(file)
    except NothingLanded:
        return [_last(f"none has landed in {file}", None, due)]
    except DPCoreError as error:
        return [Line("last round", str(error), False)]
    landed = f"{last.round} of {last.scheme}, landed {last.landed_at:%Y-%m-%d %H:%M} UTC"
    numbers = {
        "last_round_timestamp_seconds": last.landed_at.replace(tzinfo=UTC).timestamp(),
        "last_round_reports": last.accepted,
        "last_round_refused": last.rejected,
    }
    lines = [
        _last(
            f"{landed}: {last.accepted:,} reports counted, {last.rejected:,} rejected",
            last.landed_at.replace(tzinfo=UTC),
            due,
            numbers,
        )
    ]
    failed = f"{len(last.failed)} of {last.checks} did not pass: {', '.join(last.failed)}"
    lines.append(
        Line(
            "checks",
            failed if last.failed else f"all {last.checks} passed",
            not last.failed,
            about=last.run_id,
            is_reported=last.flow_run_id is not None,
            numbers={"last_round_checks_failed": len(last.failed)},
        )
    )
    if last.epsilon is not None:
        rounds = f"{last.rounds} round{'s' * (last.rounds != 1)}"
        clients = "simulated client" if last.is_simulated else "client"
        account = f"epsilon {last.epsilon:.4g} for a {clients} that reported in every round ({rounds})"
        lines.append(Line("spent", account, numbers={"epsilon_spent": last.epsilon}))
    return lines


def _last(text: str, landed_at: datetime | None, due: Due | None, numbers: Mapping[str, float] = _NO_NUMBERS) -> Line:
    """The line of the last round: a problem if a later one was due and has not landed."""
    if due is None or (landed_at is not None and landed_at >= due.when):
        return Line("last round", text, numbers=numbers)
    when = f"{due.when:%Y-%m-%d %H:%M}"
    text = f"{text}; the one due {when} UTC has not landed ({due.state})"
    return Line("last round", text, False, about=when, is_reported=due.is_reported, numbers=numbers)


def _alerts(project: Project | None) -> Line:
    if Webhook.configured(project) is None:
        return Line("alerts", f"no webhook: set notify in {PROJECT}, or {URL}")
    file = outbox_file()
    waiting = Outbox(file).waiting() if file.exists() else None
    if waiting is None:
        return Line("alerts", "problems are sent to the webhook", numbers={"messages_waiting": 0})
    since = f"{datetime.fromtimestamp(waiting.since, UTC):%Y-%m-%d %H:%M} UTC"
    text = f"{waiting.count} not delivered since {since}: the webhook {waiting.answer}"
    return Line("alerts", text, False, is_reported=True, numbers={"messages_waiting": waiting.count})


def _disk(project: Project | None) -> Line:
    data = wire.location(DEFAULT_DATA if project is None else project.data)
    if not wire.is_here(data):
        return Line("disk", f"the data is at {data}")
    place = next(folder for folder in [Path(data).absolute(), *Path(data).absolute().parents] if folder.exists())
    total, _, free = shutil.disk_usage(place)
    text = f"{free / 1e9:,.1f} of {total / 1e9:,.1f} GB free"
    if not os.access(place, os.W_OK):
        return Line("disk", f"{place} cannot be written by this user; {text}", False, numbers={"disk_free_bytes": free})
    return Line("disk", text, free >= _LEAST_FREE * total, numbers={"disk_free_bytes": free})


def _ago(when: datetime) -> float:
    return (datetime.now(UTC) - when).total_seconds()


def _in_words(seconds: float) -> str:
    for unit, size in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}s"
    return f"{seconds:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
