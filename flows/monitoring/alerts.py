"""Alerts: messages about runs that failed and about problems in `ldpflow status`.

A run has one message for each time that it ends; a problem one a day, or one for the round that it concerns.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas import filters
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.client.schemas.sorting import FlowRunSort

from ..names import CHECKS_FAILED, TAG
from .status import Line
from .webhook import Message

_BADLY = [StateType.FAILED, StateType.CRASHED, StateType.CANCELLED]
_SETTLED = timedelta(seconds=5)  # a killed run is marked as crashed first, and then as cancelled
_PAGE = 200  # runs per request to the server


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
