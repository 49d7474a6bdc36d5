"""What a project's file and the UI say of deployments: the first is obeyed once, the second stays."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import DeploymentUpdate
from prefect.client.schemas.schedules import CronSchedule
from prefect.settings import PREFECT_API_URL, temporary_settings

from dpcore.errors import SchemeError
from dpcore.rounds.project import Project, start
from ldpflow_flows.services import deployments
from tests.helpers.ports import free_port

pytestmark = [pytest.mark.flows, pytest.mark.usefixtures("harness")]
DAILY = "round/daily"
ROUNDS = {"daily", "collect", "estimate", "publish", "monthly-audit", "backfill", "weekly-cleanup"}
STUDIES = {"weekly-benchmark", "coverage", "monthly-reproduce"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    start(tmp_path / "own")
    monkeypatch.chdir(tmp_path / "own")
    return tmp_path / "own"


def ensure() -> dict[str, str]:
    return dict(line.split(": ") for line in deployments.ensure(Project.read()))


def say(folder: Path, old: str, new: str) -> None:
    text = (folder / "ldpflow.toml").read_text()
    assert old in text
    (folder / "ldpflow.toml").write_text(text.replace(old, new))


def crons(there: Any) -> dict[str | None, tuple[str, str, bool]]:
    return {each.slug: (each.schedule.cron, each.schedule.timezone, each.active) for each in there.schedules}


def test_what_was_set_stays_until_the_file_says_something_else(folder: Path, client: SyncPrefectClient) -> None:
    assert set(ensure().values()) == {"created"}
    made = client.read_deployment_by_name(DAILY)
    assert made.parameters == Project.read().of_rounds()  # type: ignore[union-attr]
    assert crons(made) == {"daily-round": ("15 2 * * *", "UTC", True)}
    assert (made.path, made.entrypoint) == (str(folder), "ldpflow_flows.round.run_round")
    assert {each.name for each in client.read_deployments()} == ROUNDS
    assert set(ensure().values()) == {"unchanged"}

    [own] = made.schedules
    client.update_deployment_schedule(
        made.id, own.id, active=False, schedule=CronSchedule(cron="1 1 * * *", timezone="UTC")
    )
    client.create_deployment_schedules(made.id, [(CronSchedule(cron="2 2 * * *", timezone="UTC"), True)])
    told = {**made.parameters, "min_clients": 3}
    client.update_deployment(made.id, DeploymentUpdate(parameters=told, paused=True, entrypoint="old.code.run"))
    assert set(ensure().values()) == {"unchanged"}
    kept = client.read_deployment_by_name(DAILY)
    assert (kept.parameters, kept.paused, kept.entrypoint) == (told, True, made.entrypoint)
    assert crons(kept) == {"daily-round": ("1 1 * * *", "UTC", False), None: ("2 2 * * *", "UTC", True)}

    say(folder, 'schedule = "15 2 * * *" ', 'schedule = "30 4 * * 1" ')
    say(folder, 'time_zone = "UTC"', 'time_zone = "Europe/Berlin"')
    assert {name for name, done in ensure().items() if done != "unchanged"} == {DAILY}
    planned = client.read_deployment_by_name(DAILY)
    assert (planned.parameters, planned.paused) == (told, True)
    assert crons(planned) == {"daily-round": ("30 4 * * 1", "Europe/Berlin", False), None: ("2 2 * * *", "UTC", True)}

    say(folder, "min_clients = 50 ", "min_clients = 60 ")
    assert ensure()[DAILY] == "updated from ldpflow.toml"
    assert client.read_deployment_by_name(DAILY).parameters["min_clients"] == 60
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
    assert ensure()[DAILY] == "unchanged"
    kept = client.read_deployment_by_name(DAILY)
    assert kept.parameters == {"seed": 5}
    assert kept.version == there.version


def test_studies_are_deployed_without_a_project_and_deleted_from_one(folder: Path, client: SyncPrefectClient) -> None:
    own, entry = client.create_flow_from_name("coverage"), "ldpflow_flows.studies.coverage"
    client.create_deployment(own, "coverage", path=str(folder), entrypoint=entry)
    client.create_deployment(own, "weekly-benchmark", path=str(folder.parent), entrypoint=entry)
    client.create_deployment(own, "nightly", tags=["ldpflow"], path=str(folder), entrypoint=entry)  # somebody's own
    lines = ensure()
    assert lines.pop("coverage").startswith("deleted")
    assert {each.name for each in client.read_deployments()} == {*ROUNDS, "weekly-benchmark", "nightly"}

    checkout = deployments.deployments(None)
    assert {each.name for each in checkout} == {*ROUNDS, *STUDIES, "simulate"}
    assert {each.name for each in checkout if each.entry.get("paused")} == STUDIES
    assert all(each.parameters == {} for each in checkout)


def test_every_form_takes_what_a_project_says_of_it(folder: Path) -> None:
    for each in deployments.deployments(Project.read()):
        for name, value in each.parameters.items():
            assert name in ("scheme", "schemes", "data", "reports", "min_clients"), (each.name, name, value)


@pytest.mark.parametrize("whose", ["clients = 600000", 'records = "people.csv"', 'reports = "in"'])
def test_whoever_is_asked_it_can_be_said_again(folder: Path, client: SyncPrefectClient, whose: str) -> None:
    """The server looks at parameters of what is there."""
    say(folder, "min_clients = 50 ", f"{whose}\nmin_clients = 50 ")
    assert set(ensure().values()) == {"created"}
    assert set(ensure().values()) == {"unchanged"}
    say(folder, whose, "")
    assert ensure()["round/daily"] == "updated from ldpflow.toml"


def test_a_schedule_that_is_none_is_refused_in_one_line(folder: Path) -> None:
    say(folder, 'schedule = "15 2 * * *" ', 'schedule = "99 2 * * *" ')
    with pytest.raises(SchemeError, match=r"^ldpflow\.toml: schedule: [^\n]*, got '99 2 \* \* \*'$"):
        deployments.deployments(Project.read())


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "it asks for another key"),
        (404, "no Prefect server there; the address must end in /api"),
        (None, "answers at"),
    ],
)
def test_a_server_that_is_none_is_named_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], status: int | None, said: str
) -> None:
    class Refuses(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(status or 0)

        do_POST = do_GET  # noqa: N815 - http.server's name

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Refuses) as server:
        port = server.server_address[1] if status else free_port()
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        with temporary_settings({PREFECT_API_URL: f"http://127.0.0.1:{port}/api"}):
            assert deployments.main() == 1
        server.shutdown()
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("ldpflow: ")
    assert f"http://127.0.0.1:{port}/api" in line
    assert said in line
