"""What the server does by itself about runs: tell somebody, call the dead dead, and plan anew what nobody began.

`make up` puts these automations into its server; `python -m ldpflow_flows.automations` into the one that PREFECT_API_URL names.
They watch runs with the tag ldpflow, and replace what an earlier call made.

LDPFLOW_NOTIFY_URL: a webhook, called with a JSON object (text, flow, run, state, message, url) when a run fails, crashes, is
cancelled or takes too long, and when a round landed of which a check did not pass.  Without it nobody is told.
"""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from urllib.parse import urlsplit

from prefect.blocks.webhook import Webhook
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import StateType
from prefect.events.actions import CallWebhook, ChangeFlowRunState
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture

from .publish import CHECKS_FAILED
from .stage import TAG

HEARTBEAT = 30  # seconds between a run's signs of life, Prefect's shortest
SILENCE = 3 * HEARTBEAT  # after which a run's process or machine is taken to have died
BEGUN = 180  # seconds in which a run that a worker took should begin; a worker that died had taken it in vain
NOTIFY = "LDPFLOW_NOTIFY_URL"
BLOCK = "ldpflow-notify"
TELL = "ldpflow: tell of failed runs"
TELL_CHECKS = "ldpflow: tell of failed checks"
BURY = "ldpflow: runs that fell silent have crashed"
PLAN_ANEW = "ldpflow: runs that nobody began are planned anew"

_OURS = {"prefect.resource.role": "tag", "prefect.resource.id": f"prefect.tag.{TAG}"}
_RUN = {"prefect.resource.id": "prefect.flow-run.*"}
_PAYLOAD = """{
 "text": {{ ("ldpflow: " ~ flow.name ~ " " ~ flow_run.name ~ ": " ~ flow_run.state.name ~ ". "
   ~ (flow_run.state.message or "") ~ " " ~ (flow_run|ui_url)) | tojson }},
 "flow": {{ flow.name | tojson }},
 "run": {{ flow_run.name | tojson }},
 "state": {{ flow_run.state.name | tojson }},
 "message": {{ (flow_run.state.message or "") | tojson }},
 "url": {{ (flow_run|ui_url) | tojson }}
}"""


def automations(notify: CallWebhook | None) -> list[AutomationCore]:
    """Return every automation there should be; those that tell somebody only where there is a webhook."""
    told = []
    if notify is not None:
        told = [
            AutomationCore(
                name=TELL,
                description="A run failed, crashed, was cancelled or took too long: call the webhook.",
                trigger=_when("Failed", "Crashed", "Cancelled", "TimedOut"),
                actions=[notify],
            ),
            AutomationCore(
                name=TELL_CHECKS,
                description="A round landed of which a check did not pass: call the webhook.",
                trigger=_when(CHECKS_FAILED),
                actions=[notify],
            ),
        ]
    taken = f"Not begun within {BEGUN} s: the worker that took it died. Waiting for the next one."
    silent = (
        f"No sign of life for {SILENCE} s: its process or machine died. Finished shards are kept; Retry goes on there."
    )
    return [
        *told,
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


def ensure(url: str | None) -> list[str]:
    """Put every automation into the server, take out those that should no longer be there, and return the others' names.

    One that is there already is left alone: it knows which runs it waits for, and somebody may have switched it off.
    Raises ValueError for what is no URL.
    """
    notify = None
    if url:
        if urlsplit(url).scheme not in ("http", "https"):
            raise ValueError(f"{NOTIFY} must be a URL that begins with http:// or https://, got {url!r}")
        block = Webhook(url=url, headers={"Content-Type": "application/json"})
        notify = CallWebhook(block_document_id=block.save(BLOCK, overwrite=True), payload=_PAYLOAD)
    wanted = {core.name: core for core in automations(notify)}
    with get_client(sync_client=True) as client:
        for name in (TELL, TELL_CHECKS, BURY, PLAN_ANEW):
            for automation in client.read_automations_by_name(name):
                if name in wanted and _alike(automation, wanted[name]):
                    del wanted[name]
                else:
                    client.delete_automation(automation.id)
        for core in wanted.values():
            client.create_automation(core)
    return [core.name for core in automations(notify)]


def main() -> int:
    """Put the automations into the server and return the exit status."""
    try:
        for name in ensure(os.environ.get(NOTIFY)):
            print(name)
    except ValueError as error:
        print(f"ldpflow: {error}", file=sys.stderr)
        return 1
    return 0


def _alike(automation: AutomationCore, wanted: AutomationCore) -> bool:
    fields = {"name", "description", "trigger", "actions"}
    return automation.model_dump(include=fields) == wanted.model_dump(include=fields)


def _when(*states: str) -> EventTrigger:
    """A run of ours entering one of these states."""
    return EventTrigger(
        expect={f"prefect.flow-run.{state}" for state in states},
        match=_RUN,
        match_related=_OURS,
        posture=Posture.Reactive,
        threshold=1,
        within=timedelta(0),
    )


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


if __name__ == "__main__":
    sys.exit(main())
