"""Hooks of flows that fail: land the failure, and show a page with what happened and what to do."""

from __future__ import annotations

import errno
from typing import Any

from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import ArtifactCreate
from prefect.logging.loggers import flow_run_logger
from prefect.settings import PREFECT_API_URL

from dpcore import wire
from dpcore.errors import DPCoreError
from dpcore.protocol.scheme import Scheme
from dpcore.results.pages import plain
from dpcore.results.warehouse import Locked
from dpcore.rounds.defaults import DEFAULT_DATA
from dpcore.rounds.run import Run, newest
from dpcore.rounds.steps.landing import land_failure

from ..settings import NamedRound
from . import permitted_folders
from .parameters import merged

_CANCELLED = "Somebody cancelled it, or stopped its process. **Press Retry** to continue from the finished shards."
_REFUSED = (
    "ldpflow refused the input, and would refuse it again. **Correct what the message names, then press Retry**; to change a"
    " parameter, start the deployment again with the new value."
)
_LOCKED = (
    "Another program is writing the warehouse. **Press Retry** when it has finished; finished steps are not repeated."
)
_FULL = (
    "The disk is full. **Free space**, with the flow `cleanup` or by hand, **and press Retry** to continue; no file is"
    " incomplete."
)
_TIMED_OUT = (
    "It exceeded its time limit: the machine was too busy, or there were more clients than planned. **Press Retry** to"
    " continue; if this happens again, use a faster machine."
)
_CRASHED = (
    "Its process died: killed, out of memory, or the machine went down. It restarts automatically from the finished shards,"
    " at most twice; after that check the machine's memory and disk and **press Retry**."
)
_UNEXPECTED = (
    "Every task was tried four times. **Remove the cause** (a full disk, a missing file, a server that does not answer)"
    " **and press Retry.** If the machine has no problem, this is a bug: report the traceback in the log."
)


def report_failure(flow: Any, flow_run: Any, state: Any) -> None:
    """Land the failure of a run that failed, crashed or was cancelled, and show what to do in its log and on a page.

    A run without a folder has nothing to land.  Prefect requires these argument names: a worker passes them by name.
    """
    logger = flow_run_logger(flow_run, flow)
    run = run_of(str(flow_run.id), merged(flow_run.parameters))
    results = "No step has started: nothing has landed, and no epsilon was spent."
    if run is not None:
        results = _land(run)
    what_to_do = advice(state)
    logger.error("%s %s", what_to_do.replace("**", ""), results.replace("`", ""))
    page = [f"# {flow_run.name}: {state.name}", f"> {plain(state.message or 'No message.')}", "## What to do"]
    page += [what_to_do, "## What remains", results]
    server = f"PREFECT_API_URL={PREFECT_API_URL.value()} " if PREFECT_API_URL.value() else ""
    page += [f"From a terminal: `{server}prefect flow-run retry {flow_run.id}`"]
    with get_client(sync_client=True) as client:  # a worker reports a crash outside the run
        client.create_artifact(
            ArtifactCreate(
                key=f"{flow.name}-failure",
                type="markdown",
                description=f"{state.name}: what happened and what to do",
                data="\n\n".join(page),
                flow_run_id=flow_run.id,
            )
        )


def run_of(flow_run_id: str, settings: dict[str, Any]) -> Run | None:
    """Return the run that a flow run prepared, or that of the collected round in its parameters; None without one.

    Runs outside the permitted folders are not returned.
    """
    try:
        data = wire.location(settings.get("data", DEFAULT_DATA))
        permitted_folders.check(data)
        for path in (data / "runs").glob("*/plan.json"):
            permitted_folders.check(path.parent)
            if (run := Run.at(path.parent)).plan.flow_run_id == flow_run_id:
                return run
        named = NamedRound.model_validate(settings)
        permitted_folders.check(named)
        return newest(Scheme.from_toml(named.scheme), named.round, named.data)
    except (ValueError, DPCoreError):
        return None


def _land(run: Run) -> str:
    """Land the failure and return a description of what remains."""
    plan = run.plan
    results = f"Round {plan.round}, run `{plan.run_id}`: finished steps are in `{run.folder}`, and are not repeated."
    try:
        permitted_folders.check(run)
        land_failure(run)
    except DPCoreError as error:
        return f"{results} The failure could not be written to the warehouse: {error}"
    return f"{results} `{plan.warehouse}` records the run as failed, unless it had landed before; then its rows remain."


def advice(state: Any) -> str:
    """Return what to do about the final state of a run."""
    error = getattr(state.data, "result", state.data)
    if state.is_cancelled() or state.is_cancelling():
        return _CANCELLED
    if isinstance(error, Locked):
        return _LOCKED
    if isinstance(error, DPCoreError):
        return _REFUSED
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return _FULL
    if state.name == "TimedOut":
        return _TIMED_OUT
    return _CRASHED if state.is_crashed() else _UNEXPECTED
