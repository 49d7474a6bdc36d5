"""`ldpflow status`: whether all is well, in ten lines; exit status 1 where something is not.

Each line is asked by itself: where the server does not answer, the warehouse and the disk are told all the same.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from dpcore import wire
from dpcore.errors import DPCoreError
from dpcore.results.pages import newest
from dpcore.rounds.defaults import DEFAULT_DATA, warehouse_of
from dpcore.rounds.project import Project

from . import automations, environment
from .deploying import DAILY
from .up import COLLECTOR_PORT, HOST, POOL

_SILENT = 90  # seconds without a sign of life, after which a worker is taken to be gone
_LEAST_FREE = 0.05  # of the disk
_BAD = ("FAILED", "CRASHED")


class Line(NamedTuple):
    """What is looked at, what there is to say of it, and whether that is well."""

    what: str
    said: str
    is_well: bool = True


def main() -> int:
    """Print what there is to say, and return 1 where something is not well."""
    port = os.environ.get("PREFECT_SERVER_API_PORT", "4200")
    environment.settle(PREFECT_API_URL=f"http://{HOST}:{port}/api")
    try:
        project = Project.of()
    except DPCoreError as error:
        print(f"ldpflow: {error}", file=sys.stderr)
        return 1
    lines = [*of_server(), _collector(project), *_round(project), _alerts(project), _disk(project)]
    for line in lines:
        print(f"{'  ' if line.is_well else '! '}{line.what:11}  {line.said}")
    return 0 if all(line.is_well for line in lines) else 1


def of_server() -> list[Line]:
    """Return the lines that the server knows: itself, its worker, the runs of a day, and the next round."""
    from prefect.client.orchestration import get_client
    from prefect.settings import PREFECT_API_URL

    address = str(PREFECT_API_URL.value())
    with get_client(sync_client=True) as client:
        if (error := client.api_healthcheck()) is not None:
            return [
                Line("server", f"does not answer at {address} ({type(error).__name__}); start it: ldpflow up", False)
            ]
        told: list[Callable[..., Line]] = [_worker, _runs, _next]
        lines = [Line("server", f"answers at {address}")]
        for tell in told:
            try:
                lines.append(tell(client))
            except Exception as error:  # an answer that was none: the other lines are told
                lines.append(Line(tell.__name__.strip("_"), f"could not be asked: {type(error).__name__}", False))
    return lines


def _worker(client: object) -> Line:
    found = client.read_workers_for_work_pool(POOL)  # type: ignore[attr-defined]
    heard = [_ago(worker.last_heartbeat_time) for worker in found if worker.last_heartbeat_time is not None]
    alive = [ago for ago in heard if ago < _SILENT]
    if alive:
        return Line("worker", f"{len(alive)} at work, last heard of {min(alive):.0f} s ago")
    last = f"; the last was heard of {_in_words(min(heard))} ago" if heard else ""
    return Line("worker", f"there is none{last}: what is scheduled waits; start it: ldpflow up", False)


def _runs(client: object) -> Line:
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterStartTime
    from prefect.client.schemas.sorting import FlowRunSort

    since = FlowRunFilter(start_time=FlowRunFilterStartTime(after_=datetime.now(UTC) - timedelta(days=1)))
    found = client.read_flow_runs(flow_run_filter=since, sort=FlowRunSort.START_TIME_DESC)  # type: ignore[attr-defined]
    runs = [run for run in found if run.start_time is not None]  # others are planned
    bad = [run for run in runs if run.state_type and run.state_type.value in _BAD]
    said = f"{len(runs)} began since yesterday"
    if bad:
        named = ", ".join(f"{run.name} ({run.state_name})" for run in bad[:3])
        return Line("runs", f"{said}; {len(bad)} ended badly: {named}", False)
    return Line("runs", f"{said}, and none ended badly")


def _next(client: object) -> Line:
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterDeploymentId, FlowRunFilterState
    from prefect.client.schemas.filters import FlowRunFilterStateType as Type
    from prefect.client.schemas.objects import StateType
    from prefect.client.schemas.sorting import FlowRunSort

    daily = client.read_deployment_by_name(f"round/{DAILY}")  # type: ignore[attr-defined]
    planned = FlowRunFilter(
        deployment_id=FlowRunFilterDeploymentId(any_=[daily.id]),
        state=FlowRunFilterState(type=Type(any_=[StateType.SCHEDULED])),
    )
    found = client.read_flow_runs(  # type: ignore[attr-defined]
        flow_run_filter=planned, sort=FlowRunSort.EXPECTED_START_TIME_ASC, limit=1
    )
    if daily.paused:
        return Line("next round", "is not planned: the deployment round/daily is paused", False)
    if not found:
        return Line("next round", "none is planned: no schedule is active", False)
    return Line("next round", f"{found[0].expected_start_time:%Y-%m-%d %H:%M} UTC")


def _collector(project: Project | None) -> Line:
    if project is None or project.collector is None:
        return Line("collector", "none is asked for")
    port = project.collector.get("port", COLLECTOR_PORT)
    with socket.socket() as probe:
        answers = probe.connect_ex((HOST, port)) == 0
    return Line("collector", f"listens on port {port}" if answers else f"does not listen on port {port}", answers)


def _round(project: Project | None) -> list[Line]:
    data = Path(DEFAULT_DATA if project is None else project.data)
    file = warehouse_of(data) if project is None else Path(project.told.get("warehouse", warehouse_of(data)))
    try:
        last = newest(file)
    except DPCoreError as error:
        return [Line("last round", str(error), False)]
    landed = f"{last.round} of {last.scheme}, landed {last.landed_at:%Y-%m-%d %H:%M} UTC"
    lines = [Line("last round", f"{landed}: {last.accepted:,} reports counted, {last.rejected:,} refused")]
    failed = f"{len(last.failed)} of {last.checks} did not pass: {', '.join(last.failed)}"
    lines.append(Line("checks", failed if last.failed else f"all {last.checks} passed", not last.failed))
    if last.epsilon is not None:
        rounds = f"{last.rounds} round{'s' * (last.rounds != 1)}"
        lines.append(Line("spent", f"epsilon {last.epsilon:.4g} by a client who answered every time in {rounds}"))
    return lines


def _alerts(project: Project | None) -> Line:
    if os.environ.get(automations.NOTIFY) or (project is not None and project.notify):
        return Line("alerts", "a webhook is told of failures and failed checks")
    return Line("alerts", f"nobody is told: say notify in ldpflow.toml, or {automations.NOTIFY}")


def _disk(project: Project | None) -> Line:
    data = wire.location(DEFAULT_DATA if project is None else project.data)
    if not wire.is_here(data):
        return Line("disk", f"the data is at {data}")
    place = next(folder for folder in [Path(data).absolute(), *Path(data).absolute().parents] if folder.exists())
    total, _, free = shutil.disk_usage(place)
    return Line("disk", f"{free / 1e9:,.1f} of {total / 1e9:,.1f} GB free", free >= _LEAST_FREE * total)


def _ago(when: datetime) -> float:
    return (datetime.now(UTC) - when).total_seconds()


def _in_words(seconds: float) -> str:
    for unit, size in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}s"
    return f"{seconds:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
