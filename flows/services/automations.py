"""What the server does by itself about runs: call the dead dead, and plan anew what nobody began.

`ldpflow up` puts these automations into its server; `ldpflow deploy` into the one that PREFECT_API_URL names.  They watch runs
with the tag ldpflow, and replace what an earlier call made.  Who tells somebody is `watch`: an automation may tell twice.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.exceptions import ObjectNotFound

from ..tasks.stage import TAG

HEARTBEAT = 30  # seconds between a run's signs of life, Prefect's shortest
SILENCE = 3 * HEARTBEAT  # after which a run's process or machine is taken to have died
BEGUN = 180  # seconds in which a run that a worker took should begin; a worker that died had taken it in vain
BURY = "ldpflow: runs that fell silent have crashed"
PLAN_ANEW = "ldpflow: runs that nobody began are planned anew"

_OURS = {"prefect.resource.role": "tag", "prefect.resource.id": f"prefect.tag.{TAG}"}
_OLDER = (
    "ldpflow: tell of failed runs",
    "ldpflow: tell of failed checks",
)  # before `watch`, with a block of the webhook
_BLOCK = ("ldpflow-notify", "webhook")
_RUN = {"prefect.resource.id": "prefect.flow-run.*"}


def automations() -> list[AutomationCore]:
    """Return every automation there should be."""
    taken = f"Not begun within {BEGUN} s: the worker that took it died. Waiting for the next one."
    silent = (
        f"No sign of life for {SILENCE} s: its process or machine died. Finished shards are kept, and it goes on there."
    )
    return [
        AutomationCore(
            name=BURY,
            description=f"A run that gives no sign of life for {SILENCE} s is no longer running.",
            trigger=_nothing_since(SILENCE, "heartbeat"),
            actions=[ChangeFlowRunState(state=StateType.CRASHED, name="Crashed", message=silent)],
        ),
        AutomationCore(
            name=PLAN_ANEW,
            description=f"A run that a worker took and did not begin within {BEGUN} s is given to the next worker.",
            trigger=_nothing_since(BEGUN, "Pending", "Submitting"),
            actions=[ChangeFlowRunState(state=StateType.SCHEDULED, name="AwaitingRetry", message=taken)],
        ),
    ]


def ensure() -> None:
    """Put every automation into the server, and take out those that should no longer be there.

    One that is there already is left alone: it knows which runs it waits for, and somebody may have switched it off.
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
    """A run of ours of which so many seconds nothing is heard after one of these events."""
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
