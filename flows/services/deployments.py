"""What a server of Prefect runs of ours: the deployments of `prefect.yaml`, with what the project's file says.

In a checkout without a project there are those of `studies/prefect.yaml` too, which no wheel contains.  A project loses the
deployments of studies that an older version made for it: they are no flows of its rounds.

`ldpflow up` puts them into its server; `ldpflow deploy` into the one that PREFECT_API_URL names.
A deployment that is there keeps what may have been set in the UI: its schedules, what it is told, whether it is paused.  What
the code owns is written: entry point, folder, form, tags, pool.  Where the project's file says something else than when it was
last obeyed, the file is; a deployment's `version` holds the digests by which that is known.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml
from httpx import HTTPError
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import DeploymentScheduleCreate, DeploymentUpdate, WorkPoolCreate
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterName
from prefect.client.schemas.objects import ConcurrencyOptions
from prefect.client.schemas.responses import DeploymentResponse
from prefect.client.schemas.schedules import CronSchedule
from prefect.exceptions import ObjectNotFound, PrefectHTTPStatusError
from prefect.settings import PREFECT_API_URL
from prefect.workers.process import ProcessWorker
from pydantic import ValidationError

from dpcore.errors import DPCoreError, SchemeError
from dpcore.rounds.defaults import PROJECT as FILE
from dpcore.rounds.project import Project, shipped

from ..tasks.parameters import OLDER, merged
from . import automations, key

DAILY = "daily"  # the deployment whose schedule a project says
_OURS = "ldpflow"
_STUDIES = Path(__file__).parents[1] / "studies/prefect.yaml"  # in a checkout only
_OF_OLDER_PROJECTS = {"weekly-benchmark", "coverage", "monthly-reproduce"}  # deployments of studies up to version 0.1


_REFUSALS = {
    401: "it asks for another key; PREFECT_API_AUTH_STRING has what is given to it",
    **dict.fromkeys((404, 405, 501), "there is no Prefect; the address ends in /api"),
}
_SHOWN = 300  # characters of any other


@dataclass(frozen=True)
class Deployment:
    """One deployment as it should be.  told: the parameters; schedules: slug -> when."""

    name: str
    flow: Any
    entry: Mapping[str, Any]
    told: Mapping[str, Any]
    schedules: Mapping[str, CronSchedule]

    @property
    def version(self) -> str:
        """By which it is known whether the project's file says something else than when it was last obeyed."""
        when = {slug: (schedule.cron, schedule.timezone) for slug, schedule in self.schedules.items()}
        told = {OLDER: self.told} if self.told else {}  # as older versions had it, which made the digest
        return "-".join([_OURS, _digest(told), _digest(when if self.name == DAILY else {})])

    @property
    def owned(self) -> dict[str, Any]:
        """What the code owns."""
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
    """Return every deployment there should be.  Raises SchemeError for a schedule that is none."""
    entries = _declared()
    if project is None and _STUDIES.is_file():
        entries += _declared(_STUDIES)
    return [_of(entry, project or Project()) for entry in entries]


def _declared(file: Path | None = None) -> list[dict[str, Any]]:
    """The deployments of a file, by default of a project."""
    return list(yaml.safe_load((file or shipped("prefect.yaml")).read_text("utf-8"))["deployments"])


def _of(entry: Mapping[str, Any], project: Project) -> Deployment:
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
    return Deployment(entry["name"], flow, entry, _told(flow, project), when)


def _told(flow: Any, project: Project) -> dict[str, Any]:
    """The parameters of a flow: those of the project's options that it has."""
    settings = project.of_rounds()
    if settings:
        settings["schemes"] = project.schemes
    return {name: settings[name] for name in flow.parameters.properties if name in settings}


def ensure(project: Project | None) -> list[str]:
    """Put every deployment into the server and return a line of each; what was set there stays."""
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
            parameters=dict(wanted.told),
            paused=bool(wanted.entry.get("paused")),
            schedules=[
                DeploymentScheduleCreate(schedule=when, slug=slug, active=True)
                for slug, when in wanted.schedules.items()
            ],
            **wanted.owned,
        )
        return "made"
    changes: dict[str, Any] = {}
    before, now = (there.version or "").split("-"), wanted.version.split("-")
    is_told, is_planned = (before[0] == _OURS and before[part] != now[part] for part in (1, 2))
    if is_told:
        changes["parameters"] = dict(wanted.told)
    elif OLDER in there.parameters:  # of an older version
        changes["parameters"] = merged(there.parameters)
    client.update_deployment(there.id, DeploymentUpdate(**wanted.owned, version=wanted.version, **changes))
    if is_planned:
        _plan(client, there, wanted.schedules)
    return f"set as {FILE} says now" if is_told or is_planned else "kept as it is set"


def _plan(client: SyncPrefectClient, there: DeploymentResponse, schedules: Mapping[str, CronSchedule]) -> None:
    """Write the project's own schedules; those that somebody else added stay."""
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
    """Put deployments and automations into the server that PREFECT_API_URL names, and return the exit status.

    With `--announce` that server is this folder's own, and Prefect's commands here are to find it.
    """
    try:
        if not PREFECT_API_URL.value():
            raise SchemeError("PREFECT_API_URL must name the server, such as http://127.0.0.1:4200/api")
        project = Project.read()
        if "--announce" in arguments:
            key.announce(PREFECT_API_URL.value())
        print(f"giving what this project runs to {PREFECT_API_URL.value()}", flush=True)
        for line in ensure(project):
            print(line)
        automations.ensure()
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
