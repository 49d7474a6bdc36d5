"""Automations of the server: mark dead runs as crashed, and reschedule runs that were never started.

`ldpflow up` installs them on its server, `ldpflow deploy` on the one that PREFECT_API_URL names.  They watch runs with the tag
ldpflow, and replace those of earlier calls.  `watch` sends the messages, because an automation may send one twice.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.exceptions import ObjectNotFound

from ..names import TAG

HEARTBEAT = 30  # seconds between heartbeats of a run, Prefect's minimum
SILENCE = 3 * HEARTBEAT  # seconds without a heartbeat after which a run counts as dead
BEGUN = 180  # seconds in which a run must start after a worker took it; otherwise the worker has died
BURY = "ldpflow: runs that fell silent have crashed"
PLAN_ANEW = "ldpflow: runs that nobody began are planned anew"

_OURS = {"prefect.resource.role": "tag", "prefect.resource.id": f"prefect.tag.{TAG}"}
_OLDER = (
    "ldpflow: tell of failed runs",
    "ldpflow: tell of failed checks",
)  # of versions without `watch`, with a webhook block
_BLOCK = ("ldpflow-notify", "webhook")
_RUN = {"prefect.resource.id": "prefect.flow-run.*"}


def automations() -> list[AutomationCore]:
    """Return all automations."""
    taken = f"Not started within {BEGUN} s: the worker that took it died. Waiting for another worker."
    silent = f"No heartbeat for {SILENCE} s: its process or machine died. It continues from its finished shards."
    return [
        AutomationCore(
            name=BURY,
            description=f"A run without a heartbeat for {SILENCE} s is marked as crashed.",
            trigger=_nothing_since(SILENCE, "heartbeat"),
            actions=[ChangeFlowRunState(state=StateType.CRASHED, name="Crashed", message=silent)],
        ),
        AutomationCore(
            name=PLAN_ANEW,
            description=f"A run that a worker took but did not start within {BEGUN} s is scheduled again.",
            trigger=_nothing_since(BEGUN, "Pending", "Submitting"),
            actions=[ChangeFlowRunState(state=StateType.SCHEDULED, name="AwaitingRetry", message=taken)],
        ),
    ]


def ensure() -> None:
    """Install all automations on the server, and delete outdated ones.

    An unchanged one stays: it has a state, and somebody may have disabled it.
    """
    wanted = {core.name: core for core in automations()}
    with get_client(sync_client=True) as client:
        for name in (*_OLDER, BURY, PLAN_ANEW):
            for automation in client.read_automations_by_name(name):
                if name in wanted and _alike(automation, wanted[name]):
                    del wanted[name]
                else:
                    client.delete_automation(automation.id)
        for core in wanted.values():
            client.create_automation(core)
        with suppress(ObjectNotFound):
            client.delete_block_document(client.read_block_document_by_name(*_BLOCK).id)


def _alike(automation: AutomationCore, wanted: AutomationCore) -> bool:
    fields = {"name", "description", "trigger", "actions"}
    return automation.model_dump(include=fields) == wanted.model_dump(include=fields)


def _nothing_since(seconds: int, *events: str) -> EventTrigger:
    """A trigger for runs of ours that have no event for so many seconds after one of these events."""
    return EventTrigger(
        after={f"prefect.flow-run.{event}" for event in events},
        expect={"prefect.flow-run.*"},
        match=_RUN,
        match_related=_OURS,
        for_each={"prefect.resource.id"},
        posture=Posture.Proactive,
        threshold=1,
        within=timedelta(seconds=seconds),
    )
