"""Both files prefect.yaml say what can be deployed: every entrypoint is a flow, every schedule has a name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect import Flow
from prefect.client.schemas.schedules import CronSchedule

from ldpflow_flows.names import POOL
from tests.helpers.flow_cases import FLOWS

pytestmark = pytest.mark.flows

ROOT = Path(__file__).parents[2]
DEFINITIONS, STUDIES = (  # a project's, and a checkout's besides
    yaml.safe_load((ROOT / file).read_text(encoding="utf-8")) for file in ("prefect.yaml", "flows/studies/prefect.yaml")
)
DEPLOYMENTS = DEFINITIONS["deployments"] + STUDIES["deployments"]


def flow_of(deployment: dict[str, Any]) -> Any:
    """The flow of an entrypoint, which names a module: where it names a file, Prefect puts the file's folder before all others,
    and an import of `coverage`, say, finds the flow."""
    module, _, name = deployment["entrypoint"].rpartition(".")
    assert module.startswith("ldpflow_flows.")
    return getattr(import_module(module), name)


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda deployment: deployment["entrypoint"])
def test_every_entrypoint_is_a_flow_for_the_pool_that_make_up_creates(deployment: dict[str, Any]) -> None:
    flow = flow_of(deployment)
    assert isinstance(flow, Flow)
    assert flow.fn.__doc__
    assert deployment["work_pool"]["name"] == POOL
    assert deployment["description"]
    assert deployment["concurrency_limit"]["limit"] == 1


def test_every_flow_of_the_folder_is_deployed_once() -> None:
    """But for dry runs, which a script calls: the UI of a team shows the flows of its rounds."""
    deployed = sorted([*(flow_of(deployment).name for deployment in DEPLOYMENTS), "dry-runs"])
    assert deployed == sorted(flow.name for flow in FLOWS)


def test_schedules_are_named_and_in_utc() -> None:
    named = [
        (deployment["name"], schedule) for deployment in DEPLOYMENTS for schedule in deployment.get("schedules", [])
    ]
    schedules = [schedule for _, schedule in named]
    assert len({schedule["slug"] for schedule in schedules}) == len(schedules)
    assert all(schedule["slug"].startswith(name) for name, schedule in named)
    for schedule in schedules:
        assert schedule["timezone"] == "UTC"
        CronSchedule(cron=schedule["cron"], timezone=schedule["timezone"])


def test_no_path_of_one_machine_is_written_down(root: Path) -> None:
    text = (root / "prefect.yaml").read_text(encoding="utf-8")
    assert "pull" not in DEFINITIONS
    assert not any(word.strip("\"'").startswith("/") for word in text.split())
