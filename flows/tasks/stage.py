"""What every task and flow has in common: retries, limits, names, progress, and hooks of failures.

Rule 1.  A task may run twice.  Files appear whole or not at all and a finished shard is kept, so a retry neither counts a
client twice nor spends its budget twice.
Rule 2.  A DPCoreError would occur again, so it is never retried.
Rule 3.  Nothing is cached beyond the files: a cached result could outlive the scheme it was made under.
Rule 4.  Flows and tasks use only the folders that the operator named, and check each path in their arguments.

The hooks of a flow that fails land the failure, and show a page with what happened and what to do.
"""

from __future__ import annotations

import errno
import logging
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from prefect import flow, get_run_logger, runtime, task
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import ArtifactCreate
from prefect.exceptions import MissingContextError
from prefect.futures import PrefectFuture, as_completed
from prefect.logging.loggers import flow_run_logger
from prefect.settings import PREFECT_API_URL
from prefect.tasks import exponential_backoff

from dpcore import wire
from dpcore.errors import DPCoreError
from dpcore.protocol.scheme import Scheme
from dpcore.results.pages import plain
from dpcore.results.warehouse import Locked
from dpcore.rounds.defaults import DEFAULT_DATA, DEFAULT_SCHEME
from dpcore.rounds.run import Run, newest
from dpcore.rounds.steps.landing import land_failure
from dpcore.rounds.steps.preparation import round_of

from ..names import TAG
from ..settings import NamedRound
from . import permitted_folders
from .parameters import complete, flat, merged
from .permitted_folders import guarded
from .task_runner import task_runner

WRITES = (
    1800  # time limit in seconds of tasks that write the warehouse, where they wait for others, ten minutes each time
)
_LINES = 10  # of progress in the log, for any number of batches
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


def _to_run_log(record: logging.LogRecord) -> bool:
    """Move a message of dpcore, such as which process it waits for, to the run's log; return whether there is no run."""
    try:
        logger = get_run_logger()
    except MissingContextError:
        return True
    logger.log(record.levelno, "%s", record.getMessage(), extra={"is_progress": True})
    return False


logging.getLogger("ldpflow").addFilter(_to_run_log)


def is_transient(_task: Any, _run: Any, state: Any) -> bool:
    """Return whether a failed task may succeed if it runs again."""
    return not isinstance(state.data, DPCoreError)


def stage(
    name: str, *, seconds: float | None = 600, run_name: str | None = None
) -> Callable[[Callable[..., Any]], Any]:
    """Return the decorator of a round's task: three retries after about 1, 2 and 4 s, a time limit, and names.

    seconds: time limit of an attempt, about a hundred times its duration; None for shards, whose threads no limit can stop.
    run_name: name of a run in the UI; a format of the task's arguments, such as "{run.folder.name}".
    """
    decorator = task(
        name=name,
        task_run_name=run_name or name,
        tags=[TAG],
        retries=3,
        retry_delay_seconds=exponential_backoff(backoff_factor=1),
        retry_jitter_factor=0.5,
        retry_condition_fn=is_transient,
        timeout_seconds=seconds,
        persist_result=False,
        cache_policy=NO_CACHE,
    )
    return lambda function: decorator(guarded(function))


def whole(
    name: str, *, hours: float, run_name: str | Callable[[], str] | None = None
) -> Callable[[Callable[..., Any]], Any]:
    """Return the decorator of a flow: a time limit, threads for its tasks, and hooks for failures.

    run_name: name of a run in the UI; default: the flow's name and the day for which it was scheduled.
    A flow is not retried automatically: its tasks were, and their results are kept for a manual retry.
    """
    decorator = flow(
        name=name,
        flow_run_name=run_name or (lambda: f"{name}-{scheduled_day()}"),
        timeout_seconds=hours * 3600,
        task_runner=task_runner(),
        on_failure=[report_failure],
        on_crashed=[report_failure],
        on_cancellation=[report_failure],
    )
    return lambda function: complete(decorator(flat(guarded(function))), function)


def run_name() -> str:
    """Return the name of a flow run in the UI: the scheme and the round."""
    parameters = merged(runtime.flow_run.parameters)
    scheme = Path(parameters.get("scheme") or DEFAULT_SCHEME)
    options = {name: parameters.get(name) for name in ("clients", "seed", "records", "reports")}
    round_ = parameters.get("round") or round_of(scheduled_day(), **options)
    return f"{scheme.stem.replace('_', '-')}-{round_}"


def scheduled_day() -> str:
    """Return the day for which a flow was scheduled, UTC."""
    return runtime.flow_run.scheduled_start_time.strftime("%Y-%m-%d")


def flow_run_id() -> str | None:
    """Return Prefect's id of the flow run, None outside a run."""
    identifier = runtime.flow_run.id
    return None if identifier is None else str(identifier)


def key(*words: str) -> str:
    """Return an artifact's key, for which Prefect allows lower-case letters, digits and dashes.

    Names that differ only in - and _ have the same key: Prefect shows the newest, and its history contains both.
    """
    return re.sub("[^a-z0-9]+", "-", "-".join(words).lower()).strip("-")


def follow(run: Run, **phases: Sequence[PrefectFuture[Any]]) -> None:
    """Wait for the tasks of each phase and show their progress; raises the first error.

    phases: name of a phase -> its tasks, in order.
    """
    logger = get_run_logger()
    total = sum(len(futures) for futures in phases.values())
    name = run.scheme.name
    artifact = create_progress_artifact(0.0, key=key(name, "progress"), description="started")
    done = 0
    for phase, futures in phases.items():
        for count, future in enumerate(as_completed(list(futures)), 1):
            future.result()
            done += 1
            update_progress_artifact(artifact, 100 * done / total, f"{phase}: {count} of {len(futures)} batches")
            if count == len(futures) or count % -(-len(futures) // _LINES) == 0:
                logger.info("%s: %d of %d batches", phase, count, len(futures), extra={"is_progress": True})


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
