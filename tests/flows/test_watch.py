"""What is not well is told a webhook once, whatever is killed, and shown in the UI; a real server, real requests."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from prefect import tags
from prefect.client.orchestration import SyncPrefectClient
from prefect.states import Cancelled, Completed, Crashed, Failed, Pending, Running, State

from dpcore.errors import SchemeError
from dpcore.rounds.project import Project
from ldpflow_flows.monitoring import metrics, status, watch
from ldpflow_flows.monitoring.status import Line
from ldpflow_flows.monitoring.webhook import URL, Message, Outbox
from ldpflow_flows.names import CHECKS_FAILED, TAG
from ldpflow_flows.services import deployments
from tests.flows.artifacts import shown
from tests.helpers.ports import free_port
from tests.helpers.services import Sent, check_metrics, receiver, soon

pytestmark = pytest.mark.flows


@pytest.fixture
def outbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Outbox:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    monkeypatch.setattr(watch, "_SETTLED", watch._SETTLED * 0)
    monkeypatch.setattr(watch, "_FIRST_PAUSE", 0.01)
    return Outbox(status.outbox_file())


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sent]:
    """What the webhook is told."""
    with receiver() as (url, sent):
        monkeypatch.setenv(URL, url)
        yield sent


def ended(client: SyncPrefectClient, name: str, *states: State[Any], tag: str = TAG) -> str:
    """A run of ours that went through these states."""
    from ldpflow_flows.round import run_round

    with tags():
        run = client.create_flow_run(run_round, name=name, tags=[tag])
    for state in (Running(), *states):
        client.set_flow_run_state(run.id, state, force=True)
    return str(run.id)


def looked(outbox: Outbox) -> None:
    watch.look(outbox)
    watch.deliver(outbox)


def test_each_run_that_ended_badly_since_the_first_look_is_told_once(
    client: SyncPrefectClient, outbox: Outbox, told: Sent
) -> None:
    ended(client, "before", Failed())
    watch.look(outbox)
    run = ended(client, "bad", Failed(message="No file."))
    for name, state in (
        ("died", Crashed()),
        ("stopped", Cancelled()),
        ("slow", Failed(name="TimedOut")),
        ("drifted", Completed(name=CHECKS_FAILED, message="1 of 9")),
        ("good", Completed()),
    ):
        ended(client, name, state)
    ended(client, "elsewhere", Failed(), tag="another")
    for _ in range(3):
        looked(outbox)
    assert sorted((one["run"], one["state"]) for one in told) == [
        ("bad", "Failed"), ("died", "Crashed"), ("drifted", "ChecksFailed"), ("slow", "TimedOut"), ("stopped", "Cancelled"),
    ]  # fmt: skip
    [bad] = [one for one in told if one["run"] == "bad"]
    url = f"{status.ui()}/runs/flow-run/{run}"
    assert bad == {
        "text": f"ldpflow: round bad: Failed. No file. {url}",
        "flow": "round",
        "run": "bad",
        "state": "Failed",
        "message": "No file.",
        "url": url,
    }
    assert len(set(told.keys)) == 5


def test_a_run_that_ends_badly_again_is_told_again(client: SyncPrefectClient, outbox: Outbox, told: Sent) -> None:
    watch.look(outbox)
    run = ended(client, "again", Failed())
    looked(outbox)
    for state in (Running(), Failed()):
        client.set_flow_run_state(run, state, force=True)  # type: ignore[arg-type]
    looked(outbox)
    assert [one["run"] for one in told] == ["again", "again"]


def test_a_state_is_waited_for_until_it_is_the_last(
    client: SyncPrefectClient, outbox: Outbox, told: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    from datetime import UTC, datetime

    run = ended(client, "killed", Crashed())
    assert run not in [str(one.id) for one in watch.ended_badly(client, datetime(2026, 1, 1, tzinfo=UTC))]


ITS_SERVER_DIED = (
    "Flow run encountered an exception: ConcurrencySlotAcquisitionError: "
    "Unable to acquire concurrency slots on ['tag:ldpflow']"
)


@pytest.mark.usefixtures("only_daily")
@pytest.mark.parametrize("death", [Crashed(), Failed(message=ITS_SERVER_DIED)], ids=["itself", "its server"])
@pytest.mark.parametrize("is_told", [True, False])
def test_a_run_that_died_is_told_and_begun_again_twice(
    client: SyncPrefectClient,
    outbox: Outbox,
    told: Sent,
    monkeypatch: pytest.MonkeyPatch,
    is_told: bool,
    death: State[Any],
) -> None:
    if not is_told:
        monkeypatch.delenv(URL)
    deployments.ensure(None)
    daily = client.read_deployment_by_name("round/daily")
    watch.look(outbox)
    run = client.create_flow_run_from_deployment(daily.id, name="killed", parameters=daily.parameters, tags=[TAG])
    for time_ in (1, 2, 3):
        for state in (Pending(), Running(), death):
            client.set_flow_run_state(run.id, state.fresh_copy(), force=True)
        looked(outbox)
        found = client.read_flow_run(run.id)
        assert found.run_count == time_
        assert found.state is not None
        assert found.state.name == ("AwaitingRetry" if time_ < 3 else death.name)
        if time_ < 3:
            assert found.state.message == f"It crashed and restarts automatically: start {time_ + 1} of 3."
    assert [one["state"] for one in told] == [death.name] * 3 * is_told
    failed = client.create_flow_run_from_deployment(daily.id, name="bad", parameters=daily.parameters, tags=[TAG])
    for state in (Pending(), Running(), Failed()):
        client.set_flow_run_state(failed.id, state, force=True)
    looked(outbox)
    assert client.read_flow_run(failed.id).state_name == "Failed"  # it would fail again


def test_many_runs_are_told(
    client: SyncPrefectClient, outbox: Outbox, told: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_PAGE", 3)
    watch.look(outbox)
    for number in range(7):
        ended(client, f"number {number}", Failed())
    looked(outbox)
    assert len(told) == len(set(told.keys)) == 7


def test_a_webhook_that_does_not_take_it_is_asked_again_and_that_is_said(
    client: SyncPrefectClient, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = [Message(str(number), {"text": str(number)}) for number in range(3)]
    answers = {1: 500, 2: 404, 3: 200, 4: 0}
    with receiver(answer=lambda request: (answers.get(request, 200), {})) as (url, sent):
        monkeypatch.setenv(URL, url)
        outbox.put(messages, now=time.time())
        watch.deliver(outbox)  # 500: nothing more is sent
        assert (sent.asked, [one["text"] for one in sent]) == (1, [])
        line = status._alerts(None)
        assert not line.is_well
        assert line.text.startswith("1 not delivered since ")
        assert line.text.endswith(" UTC: the webhook answered 500")
        assert line.numbers == {"messages_waiting": 1}
        time.sleep(0.1)
        watch.deliver(outbox)  # 404 is that message's own; the next one is taken; the last finds nobody
        assert (sent.asked, [one["text"] for one in sent]) == (4, ["2"])
        assert "did not answer (RemoteProtocolError)" in status._alerts(None).text
        time.sleep(0.2)
        watch.deliver(outbox)
        assert sorted(one["text"] for one in sent) == ["0", "1", "2"]
        time.sleep(0.2)
        watch.deliver(outbox)
        assert sent.asked == 6
    assert status._alerts(None) == Line("alerts", "problems are sent to the webhook", numbers={"messages_waiting": 0})


def test_the_pauses_double_and_what_was_asked_for_is_kept(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 1000.0
    monkeypatch.setattr(watch, "_FIRST_PAUSE", 2.0)
    monkeypatch.setattr(watch.time, "time", lambda: clock)
    monkeypatch.setattr(watch.random, "uniform", lambda *_: 1.0)
    pauses = []
    asked_for = [""] * 11 + ["60", "5000"]
    with receiver(answer=lambda request: (503, {"Retry-After": asked_for[request - 1]})) as (url, _):
        monkeypatch.setenv(URL, url)
        outbox.put([Message("one", {})], now=clock)
        for _ in asked_for:
            before = clock
            watch.deliver(outbox)
            while not outbox.due(clock):
                clock += 1.0
            pauses.append(clock - before)
    assert pauses == [2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900, 900]


def test_of_two_that_watch_one_waits(client: SyncPrefectClient, tmp_path: Path) -> None:
    own = os.environ | {"PREFECT_HOME": str(tmp_path), "PREFECT_API_URL": str(client.api_url)}
    lock = tmp_path / "messages.db.lock"
    with ExitStack() as stack:

        def watching(log: Path) -> subprocess.Popen[bytes]:
            words = [sys.executable, "-m", "ldpflow_flows.monitoring.watch"]
            started = subprocess.Popen(words, cwd=tmp_path, env=own, stderr=stack.enter_context(log.open("wb")))
            stack.callback(started.wait)
            stack.callback(started.kill)
            return started

        first = watching(tmp_path / "first")
        assert soon(lambda: lock.is_file() and f"process {first.pid} (" in lock.read_text())
        second = watching(tmp_path / "second")
        assert soon(lambda: f"is held by process {first.pid} (ldpflow watch)" in (tmp_path / "second").read_text())
        first.kill()
        assert soon(lambda: f"process {second.pid} (" in lock.read_text())


def test_what_goes_on_to_be_wrong_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    errors = iter(
        [OSError("a path"), OSError("a path"), None, OSError(), SchemeError("no scheme"), SchemeError("none")]
    )

    def work() -> None:
        if (error := next(errors)) is not None:
            raise error

    def pause(_: float) -> None:
        if errors.__length_hint__() == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(watch.time, "sleep", pause)
    with pytest.raises(KeyboardInterrupt):
        watch._again_and_again(work, 1.0)
    assert [line.removeprefix("will try again: ") for line in caplog.messages] == [
        "OSError", "OSError", "no scheme", "none",
    ]  # fmt: skip


def test_without_a_webhook_nothing_is_told_of_runs_that_ended_meanwhile(
    client: SyncPrefectClient, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(URL, raising=False)
    watch.look(outbox)
    ended(client, "untold", Failed())
    looked(outbox)
    with receiver() as (url, sent):
        monkeypatch.setenv(URL, url)
        looked(outbox)
        assert sent == []


def test_what_stays_unwell_is_told_once_and_shown(
    client: SyncPrefectClient, outbox: Outbox, told: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [
        Line("server", "answers"),
        Line("disk", "0.1 of 9.0 GB free", False, numbers={"disk_free_bytes": 1e8}),
        Line("runs", "2 ended badly", False, is_reported=True),
    ]
    clock = 5000.0
    monkeypatch.setattr(status, "lines", lambda _: now)
    monkeypatch.setattr(watch.time, "monotonic", lambda: clock)
    seen: list[Any] = []
    around = watch.Around(outbox, seen.append)
    for step in (0.0, 59.0, 1.0, 300.0):
        clock += step
        around.look()
        watch.deliver(outbox)
        assert len(told) == (step in (1.0, 300.0))
    assert told[0]["text"] == f"ldpflow: status disk: NotWell. 0.1 of 9.0 GB free {status.ui()}"
    assert seen == [now] * 4
    page = shown("ldpflow-status")
    assert page.startswith("# Problems: disk, runs\n")
    assert "| ✗ disk | 0.1 of 9.0 GB free |" in page
    now[1:] = [Line("disk", "8.0 of 9.0 GB free")]
    around.look()
    assert shown("ldpflow-status").startswith("# No problems\n")


def test_metrics_are_what_prometheus_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    import urllib.request

    from prometheus_client.parser import text_string_to_metric_families

    port = free_port()
    tell = metrics.serve(int(port))
    tell([Line("disk", "", False, numbers={"disk_free_bytes": 7.0}), Line("server", "")])
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        text = answer.read().decode()
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert found == {("ldpflow_well", "disk"): 0, ("ldpflow_well", "server"): 1, ("ldpflow_disk_free_bytes",): 7}
    check_metrics(text)


def test_every_number_of_a_status_has_words(by_command: Path, outbox: Outbox, client: SyncPrefectClient) -> None:
    told = status.lines(Project(options={"data": str(by_command.parents[1])}))
    numbers = {name for line in told for name in line.numbers}
    assert numbers <= metrics.WORDS.keys()
    assert {"last_round_reports", "epsilon_spent", "disk_free_bytes", "runs_ended_badly"} <= numbers
