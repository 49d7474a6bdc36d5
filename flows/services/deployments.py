"""Deployments of `prefect.yaml`, with the settings of the project's file, and automations of the server.

In a checkout without a project, those of `studies/prefect.yaml` are added, which no wheel contains.  Deployments of studies
that an older version made for a project are deleted.

`ldpflow up` deploys to its server, `ldpflow deploy` to the one that PREFECT_API_URL names.  An existing deployment keeps what
users may set in the UI: schedules, parameters, whether it is paused.  The code overwrites its own fields: entry point, folder,
form, tags, pool.  Settings that the project's file has changed since the last deployment are applied; the digests in a
deployment's `version` show this.

The automations, installed on the same servers, mark dead runs as crashed, and reschedule runs that were never started.  They
watch runs with the tag ldpflow, and replace those of earlier calls.  `watch` sends the messages, because an automation may
send one twice.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml
from httpx import HTTPError
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import DeploymentScheduleCreate, DeploymentUpdate, WorkPoolCreate
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterName
from prefect.client.schemas.objects import ConcurrencyOptions, StateType
from prefect.client.schemas.responses import DeploymentResponse
from prefect.client.schemas.schedules import CronSchedule
from prefect.events.actions import ChangeFlowRunState
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.exceptions import ObjectNotFound, PrefectHTTPStatusError
from prefect.settings import PREFECT_API_URL
from prefect.workers.process import ProcessWorker
from pydantic import ValidationError

from dpcore.errors import DPCoreError, SchemeError
from dpcore.rounds.defaults import PROJECT as FILE
from dpcore.rounds.project import Project, shipped

from ..names import DAILY, TAG
from ..tasks.parameters import OLDER, merged
from . import key

_OURS = "ldpflow"
_STUDIES = Path(__file__).parents[1] / "studies/prefect.yaml"  # in a checkout only
_OF_OLDER_PROJECTS = {"weekly-benchmark", "coverage", "monthly-reproduce"}  # deployments of studies up to version 0.1


_REFUSALS = {
    401: "it asks for another key; set PREFECT_API_AUTH_STRING to that server's key",
    **dict.fromkeys((404, 405, 501), "no Prefect server there; the address must end in /api"),
}
_SHOWN = 300  # characters of other error messages
HEARTBEAT = 30  # seconds between heartbeats of a run, Prefect's minimum
SILENCE = 3 * HEARTBEAT  # seconds without a heartbeat after which a run counts as dead
BEGUN = 180  # seconds in which a run must start after a worker took it; otherwise the worker has died
BURY = "ldpflow: runs that fell silent have crashed"
PLAN_ANEW = "ldpflow: runs that nobody began are planned anew"

_OUR_RUNS = {"prefect.resource.role": "tag", "prefect.resource.id": f"prefect.tag.{TAG}"}
_OLDER = (
    "ldpflow: tell of failed runs",
    "ldpflow: tell of failed checks",
)  # of versions without `watch`, with a webhook block
_BLOCK = ("ldpflow-notify", "webhook")
_RUN = {"prefect.resource.id": "prefect.flow-run.*"}


@dataclass(frozen=True)
class Deployment:
    """A deployment as this version wants it.  schedules: slug -> schedule."""

    name: str
    flow: Any
    entry: Mapping[str, Any]
    parameters: Mapping[str, Any]
    schedules: Mapping[str, CronSchedule]

    @property
    def version(self) -> str:
        """Digests that show whether the project's file has changed since the last deployment."""
        when = {slug: (schedule.cron, schedule.timezone) for slug, schedule in self.schedules.items()}
        parameters = {OLDER: self.parameters} if self.parameters else {}  # the form that older versions digested
        return "-".join([_OURS, _digest(parameters), _digest(when if self.name == DAILY else {})])

    @property
    def owned(self) -> dict[str, Any]:
        """The fields that the code overwrites."""
        here = {"prefect.deployments.steps.set_working_directory": {"directory": str(Path.cwd())}}
        return {
            "description": self.entry["description"],
            "tags": self.entry["tags"],
            "entrypoint": self.entry["entrypoint"],
            "path": str(Path.cwd()),
            "pull_steps": [here],
            "work_pool_name": self.entry["work_pool"]["name"],
            "job_variables": self.entry["work_pool"]["job_variables"],
            "parameter_openapi_schema": self.flow.parameters.model_dump(),
            "concurrency_limit": self.entry["concurrency_limit"]["limit"],
            "concurrency_options": ConcurrencyOptions(
                collision_strategy=self.entry["concurrency_limit"]["collision_strategy"]
            ),
        }


def deployments(project: Project | None) -> list[Deployment]:
    """Return all deployments.  Raises SchemeError for an invalid schedule."""
    entries = _declared()
    if project is None and _STUDIES.is_file():
        entries += _declared(_STUDIES)
    return [_deployment(entry, project or Project()) for entry in entries]


def _declared(file: Path | None = None) -> list[dict[str, Any]]:
    """The deployments of a file, by default of a project."""
    return list(yaml.safe_load((file or shipped("prefect.yaml")).read_text("utf-8"))["deployments"])


def _deployment(entry: Mapping[str, Any], project: Project) -> Deployment:
    module, _, name = entry["entrypoint"].rpartition(".")
    flow = getattr(import_module(module), name)
    schedules = {schedule["slug"]: (schedule["cron"], schedule["timezone"]) for schedule in entry.get("schedules", ())}
    if entry["name"] == DAILY:
        schedules = {
            slug: (project.schedule or cron, project.time_zone or zone) for slug, (cron, zone) in schedules.items()
        }
        if project.schedule == "":
            schedules = {}
    try:
        when = {slug: CronSchedule(cron=cron, timezone=zone) for slug, (cron, zone) in schedules.items()}
    except ValidationError as error:
        why = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise SchemeError(f"{FILE}: schedule: {why}, got {project.schedule!r}") from None
    return Deployment(entry["name"], flow, entry, _parameters(flow, project), when)


def _parameters(flow: Any, project: Project) -> dict[str, Any]:
    """The project's options that are parameters of a flow."""
    settings = project.of_rounds()
    if settings:
        settings["schemes"] = project.schemes
    return {name: settings[name] for name in flow.parameters.properties if name in settings}


def ensure(project: Project | None) -> list[str]:
    """Deploy everything to the server and return a line for each deployment; settings made in the UI stay."""
    wanted = deployments(project)
    with get_client(sync_client=True) as client:
        pool = wanted[0].entry["work_pool"]["name"]
        try:
            client.read_work_pool(pool)
        except ObjectNotFound:
            client.create_work_pool(
                WorkPoolCreate(
                    name=pool, type="process", base_job_template=ProcessWorker.get_default_base_job_template()
                )
            )
        lines = [f"{deployment.flow.name}/{deployment.name}: {_put(client, deployment)}" for deployment in wanted]
        return lines if project is None else lines + _delete_studies(client)


def _delete_studies(client: SyncPrefectClient) -> list[str]:
    """Delete the deployments of studies that an older version made for this folder, and return a line for each."""
    older = DeploymentFilter(name=DeploymentFilterName(any_=sorted(_OF_OLDER_PROJECTS)))
    lines = []
    for there in client.read_deployments(deployment_filter=older):
        if there.path == str(Path.cwd()) and (there.entrypoint or "").startswith("ldpflow_flows.studies."):
            client.delete_deployment(there.id)
            lines.append(f"{there.name}: deleted; studies run in a checkout of ldpflow, without a project")
    return lines


def _put(client: SyncPrefectClient, wanted: Deployment) -> str:
    flow = client.create_flow_from_name(wanted.flow.name)
    try:
        there = client.read_deployment_by_name(f"{wanted.flow.name}/{wanted.name}")
    except ObjectNotFound:
        client.create_deployment(
            flow,
            wanted.name,
            version=wanted.version,
            parameters=dict(wanted.parameters),
            paused=bool(wanted.entry.get("paused")),
            schedules=[
                DeploymentScheduleCreate(schedule=when, slug=slug, active=True)
                for slug, when in wanted.schedules.items()
            ],
            **wanted.owned,
        )
        return "created"
    changes: dict[str, Any] = {}
    before, now = (there.version or "").split("-"), wanted.version.split("-")
    has_parameters, has_schedule = (before[0] == _OURS and before[part] != now[part] for part in (1, 2))
    if has_parameters:
        changes["parameters"] = dict(wanted.parameters)
    elif OLDER in there.parameters:  # of an older version
        changes["parameters"] = merged(there.parameters)
    client.update_deployment(there.id, DeploymentUpdate(**wanted.owned, version=wanted.version, **changes))
    if has_schedule:
        _plan(client, there, wanted.schedules)
    return f"updated from {FILE}" if has_parameters or has_schedule else "unchanged"


def _plan(client: SyncPrefectClient, there: DeploymentResponse, schedules: Mapping[str, CronSchedule]) -> None:
    """Set the project's own schedules; schedules that somebody added stay."""
    ids = {schedule.slug: schedule.id for schedule in there.schedules if schedule.slug}
    for slug, when in schedules.items():
        if slug in ids:
            client.update_deployment_schedule(there.id, ids[slug], schedule=when)
        else:
            client.create_deployment_schedules(there.id, [(when, True)], slug=slug)
    shipped_ = {schedule["slug"] for entry in _declared() for schedule in entry.get("schedules", ())}
    for slug in ids.keys() & shipped_ - schedules.keys():
        client.delete_deployment_schedule(there.id, ids[slug])


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]


def main(arguments: Sequence[str] = ()) -> int:
    """Deploy to the server that PREFECT_API_URL names, install automations, and return the exit status.

    With `--announce` that server is this folder's own, and is written to the profile of Prefect's commands.
    """
    try:
        if not PREFECT_API_URL.value():
            raise SchemeError("PREFECT_API_URL must name the server, such as http://127.0.0.1:4200/api")
        project = Project.read()
        if "--announce" in arguments:
            key.announce(PREFECT_API_URL.value())
        print(f"deploying to {PREFECT_API_URL.value()}", flush=True)
        for line in ensure(project):
            print(line)
        ensure_automations()
    except DPCoreError as error:
        print(f"ldpflow: {error}", file=sys.stderr)
        return 1
    except PrefectHTTPStatusError as error:
        why = _REFUSALS.get(error.response.status_code) or " ".join(error.response.text.split())[:_SHOWN]
        print(f"ldpflow: the server at {PREFECT_API_URL.value()} refuses: {why}", file=sys.stderr)
        return 1
    except (HTTPError, RuntimeError, ValueError) as error:
        why = str(error).partition("\n")[0] or type(error).__name__
        print(f"ldpflow: no Prefect server answers at {PREFECT_API_URL.value()}: {why}", file=sys.stderr)
        return 1
    return 0


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


def ensure_automations() -> None:
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
        match_related=_OUR_RUNS,
        for_each={"prefect.resource.id"},
        posture=Posture.Proactive,
        threshold=1,
        within=timedelta(seconds=seconds),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
