"""What happens when a flow ends badly: it is landed as failed, and its page says what happened and what to do."""

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

_CANCELLED = "Somebody cancelled it, or stopped its process. **Press Retry** to go on where it was."
_REFUSED = (
    "It was refused on purpose, and would be refused again. **Correct what the message names, then press Retry**; where a"
    " parameter must change, start the deployment again with the right one."
)
_LOCKED = (
    "Another program is writing the warehouse. **Press Retry** when it has ended; what is finished is not done again."
)
_FULL = (
    "The disk is full. **Make room**, with the flow `cleanup` or by hand, **and press Retry** to go on where it was; no file"
    " was left half written."
)
_TIMED_OUT = (
    "It took longer than it may: a machine that is too busy, or more clients than it was made for. **Press Retry** to go on"
    " where it was; if it happens again, run it where there is more room."
)
_CRASHED = (
    "Its process ended without a word: killed, out of memory, or its machine went down. It begins again by itself where it was,"
    " twice at most; after that look at the machine's memory and disk and **press Retry**."
)
_UNEXPECTED = (
    "Every task was tried four times. **Remove the cause** (a full disk, a file that is gone, a server that does not answer)"
    " **and press Retry.** If nothing is wrong with the machine, this is a bug: the log has the traceback to report."
)


def tell_failure(flow: Any, flow_run: Any, state: Any) -> None:
    """Land that a run failed, crashed or was cancelled, and say what to do, in its log and on a page of its own.

    A run that never got a folder has nothing to land.  The arguments' names are Prefect's: a worker passes them by name.
    """
    logger = flow_run_logger(flow_run, flow)
    run = run_of(str(flow_run.id), merged(flow_run.parameters))
    standing = "Nothing was started, so nothing was landed and nobody's privacy was spent."
    if run is not None:
        standing = _land(run)
    what_to_do = advice(state)
    logger.error("%s %s", what_to_do.replace("**", ""), standing.replace("`", ""))
    page = [f"# {flow_run.name}: {state.name}", f"> {plain(state.message or 'No message was left.')}", "## What to do"]
    page += [what_to_do, "## What there is", standing]
    server = f"PREFECT_API_URL={PREFECT_API_URL.value()} " if PREFECT_API_URL.value() else ""
    page += [f"From a terminal: `{server}prefect flow-run retry {flow_run.id}`"]
    with get_client(sync_client=True) as client:  # a worker that tells of a crash is in no run
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
    """Return the run that a flow's run prepared, or that of the collected round it was told; None without one.

    There is none where runs may not look, either.
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
    """Land the failure and say what stands."""
    plan = run.plan
    standing = (
        f"Round {plan.round}, run `{plan.run_id}`: what is finished stands in `{run.folder}`, and is not done again."
    )
    try:
        permitted_folders.check(run)
        land_failure(run)
    except DPCoreError as error:
        return f"{standing} That it failed could not be written to the warehouse: {error}"
    return f"{standing} In `{plan.warehouse}` the run is recorded as failed, unless it had landed before; its rows then stand."


def advice(state: Any) -> str:
    """Return what to do about the state in which a run ended."""
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
