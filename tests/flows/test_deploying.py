"""What a project's file and the UI say of deployments: the first is obeyed once, the second stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import DeploymentUpdate
from prefect.client.schemas.schedules import CronSchedule

from dpcore.errors import SchemeError
from dpcore.rounds.project import Project, start
from ldpflow_flows import deploying

pytestmark = [pytest.mark.flows, pytest.mark.usefixtures("harness")]
DAILY = "round/daily"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    start(tmp_path / "own")
    monkeypatch.chdir(tmp_path / "own")
    return tmp_path / "own"


def ensure() -> dict[str, str]:
    return dict(line.split(": ") for line in deploying.ensure(Project.of()))


def say(folder: Path, old: str, new: str) -> None:
    text = (folder / "ldpflow.toml").read_text()
    assert old in text
    (folder / "ldpflow.toml").write_text(text.replace(old, new))


def crons(there: Any) -> dict[str | None, tuple[str, str, bool]]:
    return {each.slug: (each.schedule.cron, each.schedule.timezone, each.active) for each in there.schedules}


def test_what_was_set_stays_until_the_file_says_something_else(folder: Path, client: SyncPrefectClient) -> None:
    assert set(ensure().values()) == {"made"}
    made = client.read_deployment_by_name(DAILY)
    assert made.parameters["settings"] == Project.of().of_rounds()  # type: ignore[union-attr]
    assert crons(made) == {"daily-round": ("15 2 * * *", "UTC", True)}
    assert (made.path, made.entrypoint) == (str(folder), "ldpflow_flows.round.run_round")
    paused = {each.name for each in client.read_deployments() if each.paused}
    assert paused == {"coverage", "weekly-benchmark", "monthly-reproduce"}
    assert set(ensure().values()) == {"kept as it is set"}

    [own] = made.schedules
    client.update_deployment_schedule(
        made.id, own.id, active=False, schedule=CronSchedule(cron="1 1 * * *", timezone="UTC")
    )
    client.create_deployment_schedules(made.id, [(CronSchedule(cron="2 2 * * *", timezone="UTC"), True)])
    told = {"settings": {**made.parameters["settings"], "min_clients": 3}}
    client.update_deployment(made.id, DeploymentUpdate(parameters=told, paused=True, entrypoint="old.code.run"))
    assert set(ensure().values()) == {"kept as it is set"}
    kept = client.read_deployment_by_name(DAILY)
    assert (kept.parameters, kept.paused, kept.entrypoint) == (told, True, made.entrypoint)
    assert crons(kept) == {"daily-round": ("1 1 * * *", "UTC", False), None: ("2 2 * * *", "UTC", True)}

    say(folder, 'schedule = "15 2 * * *" ', 'schedule = "30 4 * * 1" ')
    say(folder, 'time_zone = "UTC"', 'time_zone = "Europe/Berlin"')
    assert {name for name, done in ensure().items() if done != "kept as it is set"} == {DAILY}
    planned = client.read_deployment_by_name(DAILY)
    assert (planned.parameters, planned.paused) == (told, True)
    assert crons(planned) == {"daily-round": ("30 4 * * 1", "Europe/Berlin", False), None: ("2 2 * * *", "UTC", True)}

    say(folder, "min_clients = 50 ", "min_clients = 60 ")
    assert ensure()[DAILY] == "set as ldpflow.toml says now"
    assert client.read_deployment_by_name(DAILY).parameters["settings"]["min_clients"] == 60
    assert crons(client.read_deployment_by_name(DAILY)) == crons(planned)
    say(folder, 'schedule = "30 4 * * 1" ', 'schedule = "" ')
    ensure()
    assert crons(client.read_deployment_by_name(DAILY)) == {None: ("2 2 * * *", "UTC", True)}
    say(folder, 'schedule = "" ', 'schedule = "15 2 * * *" ')
    ensure()
    assert "daily-round" in crons(client.read_deployment_by_name(DAILY))


def test_what_an_older_version_deployed_is_kept_and_known_from_then_on(folder: Path, client: SyncPrefectClient) -> None:
    ensure()
    there = client.read_deployment_by_name(DAILY)
    client.update_deployment(there.id, DeploymentUpdate(version="0f" * 16, parameters={"settings": {"seed": 5}}))
    assert ensure()[DAILY] == "kept as it is set"
    kept = client.read_deployment_by_name(DAILY)
    assert kept.parameters == {"settings": {"seed": 5}}
    assert kept.version == there.version


def test_without_a_project_flows_are_told_nothing() -> None:
    assert all(each.told == {} for each in deploying.deployments(None))


def test_every_form_takes_what_a_project_says_of_it(folder: Path) -> None:
    for each in deploying.deployments(Project.of()):
        for name, value in each.told.get("settings", {}).items():
            assert name in ("scheme", "schemes", "data", "reports", "min_clients"), (each.name, name, value)


def test_a_schedule_that_is_none_is_refused(folder: Path) -> None:
    say(folder, 'schedule = "15 2 * * *" ', 'schedule = "99 2 * * *" ')
    with pytest.raises(SchemeError, match="schedule"):
        deploying.deployments(Project.of())
