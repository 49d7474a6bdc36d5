"""What `ldpflow status` says: each thing that is not well is one line, and its exit status."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import DeploymentUpdate
from prefect.exceptions import PrefectHTTPStatusError

from dpcore.results import pages
from dpcore.rounds.project import Project, start
from ldpflow_flows.monitoring import status
from ldpflow_flows.names import POOL
from ldpflow_flows.services import deployments
from tests.helpers import collectors, warehouses
from tests.helpers.ports import free_port
from tests.helpers.services import receiver

pytestmark = pytest.mark.flows
_DAY = datetime(2026, 11, 20, 2, 15, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    start(tmp_path / "own")
    monkeypatch.chdir(tmp_path / "own")
    monkeypatch.delenv("LDPFLOW_NOTIFY_URL", raising=False)
    return tmp_path / "own"


def said() -> dict[str, tuple[str, bool]]:
    return {line.subject: (line.text, line.is_well) for line in status.of_server()[0]}


@pytest.mark.usefixtures("only_daily")
def test_what_the_server_knows(folder: Path, client: SyncPrefectClient) -> None:
    deployments.ensure(Project.read())
    first = said()
    assert first["server"][1]
    assert first["worker"] == ("none is running; scheduled runs wait; start one: ldpflow up", False)
    assert first["next round"] == (
        "none is scheduled yet, although a schedule is active",
        False,
    )  # nobody plans in tests
    assert status.of_server()[1] is None
    client.send_worker_heartbeat(POOL, "one")
    assert said()["worker"][0].startswith("1 running, last heartbeat ")
    daily = client.read_deployment_by_name("round/daily")
    when = datetime(2040, 1, 2, 2, 15, tzinfo=UTC)
    run = client.create_flow_run_from_deployment(daily.id, state=_planned(when), parameters=daily.parameters)
    assert said()["next round"] == ("2040-01-02 02:15 UTC", True)
    assert said()["runs"][1]
    client.update_deployment(daily.id, DeploymentUpdate(paused=True))
    assert said()["next round"] == ("none is scheduled: the deployment round/daily is paused", False)
    client.delete_flow_run(run.id)


@pytest.mark.usefixtures("only_daily")
def test_a_run_that_ended_badly_is_named(folder: Path, client: SyncPrefectClient) -> None:
    from prefect.states import Crashed, Failed, Running

    deployments.ensure(Project.read())
    daily = client.read_deployment_by_name("round/daily")
    for name, state in (("first", Failed()), ("second", Crashed())):
        run = client.create_flow_run_from_deployment(daily.id, name=name, parameters=daily.parameters)
        for each in (Running(), state):
            client.set_flow_run_state(run.id, each, force=True)
    told, is_well = said()["runs"]
    assert not is_well
    assert "first (Failed)" in told
    assert "second (Crashed)" in told


@pytest.mark.usefixtures("only_daily")
def test_a_round_that_was_due_and_has_not_landed_is_reported(
    by_command: Path, folder: Path, client: SyncPrefectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prefect.states import Completed, Failed, Running

    deployments.ensure(Project.read())
    daily = client.read_deployment_by_name("round/daily")
    run = client.create_flow_run_from_deployment(daily.id, state=_planned(_DAY), parameters=daily.parameters)
    client.set_flow_run_state(run.id, Failed(), force=True)
    assert status.of_server()[1] is None  # somebody asked for it
    now = datetime.now(UTC)
    within = {"start_time": f"{now - timedelta(hours=26)}", "end_time": f"{now}", "max_runs": 1}
    client._client.post(f"/deployments/{daily.id}/schedule", json=within).raise_for_status()
    [planned] = [each for each in client.read_flow_runs() if each.auto_scheduled]
    due = status.of_server()[1]
    assert due is not None
    assert due.when == planned.expected_start_time
    assert (due.state, due.is_reported) == ("no worker has started it", False)
    last = status._round(Project.read(), due)[0]
    assert not last.is_well
    when = f"{due.when:%Y-%m-%d %H:%M}"
    none = f"none has landed in data/var/warehouse.duckdb; the one due {when} UTC has not landed (no worker has started it)"
    assert (last.text, last.about) == (none, when)
    for state, wanted in (
        (Running(), None),
        (Completed(name="Waiting", message="3 came"), status.Due(due.when, "Waiting: 3 came", is_reported=False)),
        (Failed(message="why"), status.Due(due.when, "Failed: why", is_reported=True)),
    ):
        client.set_flow_run_state(planned.id, state, force=True)
        assert status.of_server()[1] == wanted
    (folder / "data/var").mkdir(parents=True)
    warehouses.put(folder / "data/var/warehouse.duckdb")  # which a round that waits leaves
    assert status._round(Project.read(), due)[0].text == none
    shutil.copy(by_command.parents[1] / "warehouse.duckdb", folder / "data/var/warehouse.duckdb")
    assert status._round(Project.read(), due)[0].is_well  # it landed just now
    late = status.Due(now + timedelta(minutes=1), "Waiting", is_reported=False)
    assert not status._round(Project.read(), late)[0].is_well


def test_what_listens_is_asked_whether_it_is_the_collector(folder: Path) -> None:
    def line(port: int) -> status.Line:
        project = Project({"scheme": "schemes/survey.toml"}, collector={"into": "in", "port": port})
        return status._collector(project)

    assert line(int(free_port())).text.startswith("does not listen on port ")
    with receiver() as (url, _):
        other = line(int(url.strip("/").rpartition(":")[2]))
        assert (other.is_well, other.text.partition(": ")[2]) == (False, "another program listens there")
    with collectors.collector(folder / "in") as sender:
        assert line(sender.port) == status.Line("collector", f"port {sender.port}: takes reports")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (401, "the server asks for another key; set PREFECT_API_AUTH_STRING to the server's key"),
        (404, "nothing is deployed there: ldpflow deploy"),
        (500, "no answer: PrefectHTTPStatusError"),
    ],
)
def test_what_a_server_does_not_say_has_a_reason(
    client: SyncPrefectClient, monkeypatch: pytest.MonkeyPatch, code: int, said: str
) -> None:
    request = httpx.Request("POST", "http://127.0.0.1/api")
    wrong = httpx.HTTPStatusError("no", request=request, response=httpx.Response(code, request=request))

    def refuse(_: object) -> status.Line:
        raise PrefectHTTPStatusError.from_httpx_error(wrong)

    refuse.__name__ = "_runs"
    monkeypatch.setattr(status, "_runs", refuse)
    assert status.Line("runs", said, False) in status.of_server()[0]


@pytest.mark.usefixtures("only_daily")
def test_beside_a_server_of_ones_own_a_worker_is_what_is_started(
    folder: Path, client: SyncPrefectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://prefect.example.org:4200/api")
    said = {line.subject: line.text for line in status.of_server()[0]}
    assert said["next round"] == "nothing is deployed there: ldpflow deploy"
    deployments.ensure(Project.read())
    monkeypatch.setattr(status, "_SILENT", 0)  # another test's worker
    assert status._worker(client).text.endswith("start one: prefect worker start --pool ldpflow-pool")


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_data_that_cannot_be_written_is_reported(folder: Path) -> None:
    (folder / "data").mkdir(mode=0o500)
    assert not status._disk(Project.read()).is_well


def _planned(when: datetime) -> object:
    from prefect.states import Scheduled

    return Scheduled(scheduled_time=when)


def test_without_a_server_the_rest_is_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    down = [status.Line("server", "does not answer", False)]
    monkeypatch.setattr(status, "of_server", lambda: (down, None))
    monkeypatch.setattr(status.environment, "settle", lambda **_: None)
    assert status.main() == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[:2]] == [["!", "server"], ["!", "collector"]]
    assert "  last round   none has landed in data/var/warehouse.duckdb" in "\n".join(lines)
    assert "  alerts       no webhook" in "\n".join(lines)
    (folder / "ldpflow.toml").write_text("scheme = 5")
    assert status.main() == 1
    assert capsys.readouterr().err == "ldpflow: ldpflow.toml: scheme must be a text, got 5\n"


def test_the_newest_round_is_told_with_its_checks(
    by_command: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "data/var").mkdir(parents=True)
    shutil.copy(by_command.parents[1] / "warehouse.duckdb", folder / "data/var/warehouse.duckdb")
    last, checks, spent = status._round(Project.read(), None)
    assert last.text.startswith("2026-11-20 of consumer_expenditure, landed ")
    assert "200,000 reports counted, 0 rejected" in last.text
    assert checks.is_well
    assert "every round (1 round)" in spent.text
    found = pages.newest(folder / "data/var/warehouse.duckdb")
    monkeypatch.setattr(status, "newest", lambda _: found.__class__(**{**vars(found), "failed": ["drift", "fit"]}))
    told = status._round(Project.read(), None)[1]
    assert (told.is_well, told.text) == (False, f"2 of {found.checks} did not pass: drift, fit")
    assert (told.about, told.is_reported) == (found.run_id, False)  # it landed by the command: no flow tells it
    monkeypatch.setattr(
        status, "newest", lambda _: found.__class__(**{**vars(found), "failed": ["drift"], "flow_run_id": "1"})
    )
    assert status._round(Project.read(), None)[1].is_reported


def test_what_little_there_is_on_the_disk_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for free, is_well in ((60, True), (4, False)):
        monkeypatch.setattr(status.shutil, "disk_usage", lambda _, free=free: (100e9, (100 - free) * 1e9, free * 1e9))
        numbers = {"disk_free_bytes": free * 1e9}
        wanted = status.Line("disk", f"{free}.0 of 100.0 GB free", is_well, numbers=numbers)
        assert status._disk(Project.read()) == wanted


def test_times_are_told_in_their_size() -> None:
    assert [status._in_words(seconds) for seconds in (5, 119, 600, 10_000, 200_000)] == [
        "5 s", "119 s", "10 minutes", "3 hours", "2 days",
    ]  # fmt: skip
    assert status._ago(datetime.now(UTC) - timedelta(seconds=30)) == pytest.approx(30, abs=5)
