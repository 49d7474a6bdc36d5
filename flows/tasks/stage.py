"""What every task and flow has in common: retries, limits, names, progress, and hooks.

Rule 1.  A task may run twice.  Files appear whole or not at all and a finished shard is kept, so a retry neither counts a
client twice nor spends its budget twice.
Rule 2.  What dpcore refuses on purpose (DPCoreError) would be refused again, so it is never retried.
Rule 3.  Nothing is cached beyond the files: a cached result could outlive the scheme it was made under.
Rule 4.  Flows and tasks use the folders that the operator named, and look at each path in their arguments for that.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from prefect import flow, get_run_logger, runtime, task
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.cache_policies import NO_CACHE
from prefect.exceptions import MissingContextError
from prefect.futures import PrefectFuture, as_completed
from prefect.tasks import exponential_backoff

from dpcore.errors import DPCoreError
from dpcore.rounds.defaults import DEFAULT_SCHEME
from dpcore.rounds.round_names import round_of
from dpcore.rounds.run import Run

from .failure_hooks import tell_failure
from .parameters import complete, flat, merged
from .permitted_folders import guarded
from .task_runner import task_runner

TAG = "ldpflow"  # of every run: what automations watch
WRITES = 1800  # seconds that a task may take which writes the warehouse: it waits for others, ten minutes each time
_LINES = 10  # of progress in the log, however many batches there are


def _said(record: logging.LogRecord) -> bool:
    """Put what dpcore says in a run, such as for whom it waits, into the run's own log; return whether it was said in none."""
    try:
        logger = get_run_logger()
    except MissingContextError:
        return True
    logger.log(record.levelno, "%s", record.getMessage(), extra={"is_progress": True})
    return False


logging.getLogger("ldpflow").addFilter(_said)


def is_transient(_task: Any, _run: Any, state: Any) -> bool:
    """Return whether a failed task may succeed when it is run again."""
    return not isinstance(state.data, DPCoreError)


def stage(
    name: str, *, seconds: float | None = 600, run_name: str | None = None
) -> Callable[[Callable[..., Any]], Any]:
    """Return the decorator of a round's task: three retries after about 1, 2 and 4 s, a time limit, and names to read.

    seconds: one attempt's limit, some hundred times what it takes; None for shards, whose threads no limit can stop.
    run_name: what the UI calls a run; a format of the task's arguments, such as "{run.folder.name}".
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
    """Return the decorator of a flow: a time limit, threads for its tasks, and hooks that tell how it ended badly.

    run_name: what the UI calls a run; its name and the day it was scheduled for where nothing is said.
    A flow is not retried by itself: its tasks were, and what they finished is kept for whoever presses Retry.
    """
    decorator = flow(
        name=name,
        flow_run_name=run_name or (lambda: f"{name}-{scheduled_day()}"),
        timeout_seconds=hours * 3600,
        task_runner=task_runner(),
        on_failure=[tell_failure],
        on_crashed=[tell_failure],
        on_cancellation=[tell_failure],
    )
    return lambda function: complete(decorator(flat(guarded(function))), function)


def run_name() -> str:
    """Return what the UI calls a flow's run: the scheme and the round."""
    parameters = merged(runtime.flow_run.parameters)
    scheme = Path(parameters.get("scheme") or DEFAULT_SCHEME)
    options = {name: parameters.get(name) for name in ("clients", "seed", "records", "reports")}
    round_ = parameters.get("round") or round_of(scheduled_day(), **options)
    return f"{scheme.stem.replace('_', '-')}-{round_}"


def scheduled_day() -> str:
    """Return the day a flow was scheduled for, UTC."""
    return runtime.flow_run.scheduled_start_time.strftime("%Y-%m-%d")


def flow_run_id() -> str | None:
    """Return the id by which Prefect knows the flow's run, None outside one."""
    identifier = runtime.flow_run.id
    return None if identifier is None else str(identifier)


def key(*words: str) -> str:
    """Return an artifact's key, for which Prefect allows lower-case letters, digits and dashes.

    Names that differ in a dash for a _ alone have one key, under which Prefect shows whichever came last, and its history both.
    """
    return re.sub("[^a-z0-9]+", "-", "-".join(words).lower()).strip("-")


def follow(run: Run, **phases: Sequence[PrefectFuture[Any]]) -> None:
    """Wait for the tasks of each phase and show how far they are; the first error ends the waiting and goes on.

    phases: what is being done -> its tasks, in the order they are done.
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
