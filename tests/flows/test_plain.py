"""The flows without an engine: each task is the function that it decorates, and what would be shown is kept in a list."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from prefect.client.schemas.objects import TERMINAL_STATES
from prefect.states import Cancelled, Cancelling, Completed, Crashed, Failed

import ldpflow_flows.round as rounds
from dpcore import wire
from dpcore.collector.store.database import Store
from dpcore.collector.store.sealing import landing
from dpcore.errors import DPCoreError, SchemeError
from dpcore.results.pages import Pieces
from dpcore.results.text.phrases import JUDGED
from dpcore.rounds.maintenance.cleanup import Removal
from dpcore.rounds.run import Run, State
from dpcore.rounds.steps import preparation
from ldpflow_flows import audit, backfill, cleanup, collect, estimate, publish, simulate, studies
from ldpflow_flows.settings import (
    AuditSettings,
    BackfillSettings,
    CleanupSettings,
    CollectSettings,
    NamedRound,
    RoundSettings,
)
from ldpflow_flows.tasks import stage, steps, task_runner
from tests.helpers import collectors, undrawn, warehouses
from tests.helpers.flow_cases import unplugged
from tests.helpers.schemes import QUESTION


class InProcess(undrawn.Undrawn):
    """Executor of steps and tasks in this process."""

    def call(self, task: Any, run: Run) -> Any:
        return task(run)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    return unplugged(monkeypatch)


@pytest.fixture
def question(tmp_path: Path) -> Path:
    (tmp_path / "question.toml").write_text(QUESTION, encoding="utf-8")
    return tmp_path / "question.toml"


class Server:
    """A server of flow runs that have ended, and what it was asked."""

    def __init__(self, runs: int) -> None:
        self.runs, self.asked = runs, list[Any]()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def read_flow_runs(self, *, flow_run_filter: Any, limit: int, offset: int) -> list[int]:
        self.asked.append(flow_run_filter.model_dump(mode="json"))
        return list(range(self.runs))[offset : offset + limit]

    def request(self, method: str, path: str, *, json: Any) -> Any:
        self.asked.append((method, path, json))
        taken = min(self.runs, json["limit"])
        self.runs -= taken
        return SimpleNamespace(json=lambda: {"deleted": list(range(taken))})


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_cleanup_deletes_history_that_ended_long_ago_alone(dry_run: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(120)
    monkeypatch.setattr(cleanup, "get_client", lambda sync_client: server)
    earliest = datetime.now(UTC) - timedelta(days=7)
    assert cleanup.delete_history.fn(CleanupSettings(keep_history_days=7, dry_run=dry_run)) == 120
    assert server.runs == (120 if dry_run else 0)
    assert len(server.asked) == 4  # 50, 50, 20 and none
    for asked in server.asked:
        if not dry_run:
            assert asked[:2] == ("POST", "/flow_runs/bulk_delete")
            assert asked[2]["limit"] == 50
            asked = asked[2]["flow_runs"]
        assert set(asked["state"]["type"]["any_"]) == {state.value for state in TERMINAL_STATES}
        before = datetime.fromisoformat(asked["end_time"]["before_"])
        assert earliest <= before <= datetime.now(UTC) - timedelta(days=7)
        assert asked["end_time"]["after_"] is None


@pytest.mark.parametrize(("dry_run", "verb"), [(True, "would be deleted"), (False, "deleted")])
def test_a_cleanup_says_what_goes(
    dry_run: bool, verb: str, shown: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given = []
    monkeypatch.setattr(
        cleanup,
        "clean",
        lambda **told: given.append(told) or [Removal(kind="run", path=tmp_path, round="r", size=2_000_000)],
    )
    monkeypatch.setattr(cleanup, "get_client", lambda sync_client: Server(3))
    old, new = tmp_path / "old", tmp_path / "new"
    for path in (old, new):
        path.write_bytes(b"12345")
    monkeypatch.setattr(cleanup, "PREFECT_LOCAL_STORAGE_PATH", SimpleNamespace(value=lambda: str(tmp_path)))
    os.utime(old, (0, 0))
    state = cleanup.cleanup(CleanupSettings(data=tmp_path, dry_run=dry_run, keep_days=4))
    assert state.is_completed()
    assert state.message == f"{verb}: 1 runs' folders, 1 results of tasks; 2.0 MB; 3 of Prefect's runs"
    assert old.exists() is dry_run
    assert new.exists()
    told = {"data": tmp_path, "dry_run": dry_run, "keep_days": 4}
    assert given == [told | {"reports": None, "tables_days": None, "warehouse": None}]
    assert shown == [
        {
            "kind": "table",
            "table": [
                {"what": "run", "round": "r", "path": str(tmp_path), "bytes": 2_000_000},
                {"what": "result", "round": "", "path": str(old), "bytes": 5},
            ],
            "key": "cleanup",
            "description": state.message,
        }
    ]


def test_a_backfill_runs_what_is_missing_and_says_what_became_of_it(
    shown: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, question: Path, tmp_path: Path
) -> None:
    ran: list[RoundSettings] = []

    def run_round(return_state: bool, **options: Any) -> Any:
        ran.append(RoundSettings(**options))
        return Failed(message="no") if options["round"] == "2026-11-02" and return_state else Completed(message="yes")

    monkeypatch.setattr(backfill, "run_round", run_round)
    told: dict[str, Any] = {"scheme": question, "data": tmp_path, "first": date(2026, 11, 1), "clients": 70}
    state = backfill.backfill(BackfillSettings(**told, last=date(2026, 11, 3)))
    assert [one.round for one in ran] == ["2026-11-01", "2026-11-02", "2026-11-03"]
    assert {(one.scheme, one.data, one.clients) for one in ran} == {(question, tmp_path, 70)}
    assert state.is_failed()
    assert state.message == "1 of 3 rounds failed: 2026-11-02; the reasons are on the pages of their runs"
    assert shown[0]["table"][1] == {"round": "2026-11-02", "state": "Failed", "message": "no"}
    assert shown[0]["description"] == "3 rounds, 2026-11-01 to 2026-11-03"
    state = backfill.backfill(BackfillSettings(**told, last=date(2026, 11, 1)))
    assert state.is_completed()
    assert state.message == "1 missing rounds have run"


@pytest.mark.parametrize(("reports", "source"), [(None, "simulated"), (Path("data"), "reports")])
def test_a_backfill_looks_for_rounds_of_its_own_kind(
    reports: Path | None, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}
    monkeypatch.setattr(backfill, "rounds_of", lambda *days, **told: asked.update(told) or [*map(str, days[1:])])
    settings = BackfillSettings(reports=reports, first=date(2026, 11, 1), last=date(2026, 11, 2), again=True)
    assert backfill.find_missing.fn(settings) == ["data/var/warehouse.duckdb", "2026-11-01", "2026-11-02"]
    assert asked == {"source": source, "again": True}


def pieces(**given: Any) -> Pieces:
    told: dict[str, Any] = {
        "title": "T",
        "headline": "9 reports counted",
        "failed": [],
        "front": "# T",
        "attributes": {"height": "# Height of body\n", "side": "# side\n"},
        "pairs": {},
        "estimates": [{"a": "1"}, {"a": "2"}],
        "changes": [],
        "since": "r0",
        "groups": [{"b": "3"}],
    }
    return Pieces(**told | given)


@pytest.fixture
def run(question: Path, tmp_path: Path) -> Run:
    warehouses.put(tmp_path / "data/warehouse.duckdb")
    return preparation.prepare(
        question, round_="2026-11-20", clients=60, seed=1, data=tmp_path / "data", flow_run_id=str(UUID(int=1))
    )


def test_a_round_is_shown_in_tables_and_pages(
    shown: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    asked: list[Any] = []
    rows = [
        {"attribute": "side", "quantity": "mean", "estimate": "refused", "interval": ""},
        {"attribute": "side", "quantity": "share of<br>left", "estimate": "41 %", "interval": "37 to 45"},
    ]
    found = pieces(estimates=rows)
    monkeypatch.setattr(publish.pages, "pieces", lambda *which: asked.append(which) or found)
    assert publish.show(run) is found
    assert asked == [(run.plan.warehouse, run.plan.run_id)]
    assert shown == [
        {
            "kind": "table",
            "table": found.estimates,
            "key": "consumer-expenditure-estimates",
            "description": "Round 2026-11-20: 2 estimates with their intervals. Refused: 1; "
            "the reasons are on the attributes' pages",
        },
        {
            "kind": "table",
            "table": found.groups,
            "key": "consumer-expenditure-groups",
            "description": f"Round 2026-11-20: one group minus another. In the last column {JUDGED}",
        },
        *(
            {
                "kind": "markdown",
                "markdown": f"# {heading}\n",
                "key": f"consumer-expenditure-{name}",
                "description": f"Round 2026-11-20: {heading}{first}",
            }
            for name, heading, first in (
                ("height", "Height of body", ""),
                ("side", "side", "; share of left 41 %, interval 37 to 45"),
            )
        ),
    ]
    shown.clear()
    monkeypatch.setattr(publish.pages, "pieces", lambda *_: pieces(changes=[{"c": "4"}]))
    publish.show(run)
    assert shown[1]["description"] == f"Round 2026-11-20 minus round r0. In the last column {JUDGED}"
    shown.clear()
    two = {"estimates": [{"estimate": "refused"}, {"estimate": "1"}], "groups": [{"difference": "refused"}]}
    monkeypatch.setattr(publish.pages, "pieces", lambda *_: pieces(**two))
    publish.show(run)
    for table in shown[:2]:
        assert table["description"].endswith(". Refused: 1; the reasons are on the attributes' pages")


@pytest.mark.parametrize(
    ("failed", "name", "message"),
    [
        ([], "Completed", "9 reports counted"),
        (["a"], "ChecksFailed", "9 reports counted: a"),
        (list("abc"), "ChecksFailed", "9 reports counted: a; b; c"),
        (list("abcd"), "ChecksFailed", "9 reports counted: a; b; c; ..."),
    ],
)
def test_the_state_of_a_round_says_which_checks_failed(
    failed: list[str], name: str, message: str, shown: list[dict[str, Any]], run: Run
) -> None:
    state = publish.ended(run, pieces(failed=failed))
    assert (state.name, state.message, state.is_completed()) == (name, message, True)
    assert shown == [
        {
            "kind": "markdown",
            "markdown": "# T",
            "key": "consumer-expenditure-round",
            "description": "9 reports counted",
        }
    ]


def test_the_flows_carry_a_round_out_and_publish_it(
    shown: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, question: Path, tmp_path: Path
) -> None:
    for module in (rounds, collect, steps):
        monkeypatch.setattr(module, "Tasks", InProcess)
    written: list[Any] = []
    monkeypatch.setattr(publish.pages, "pieces", lambda *_: pieces())
    monkeypatch.setattr(publish.pages, "publish", lambda *given, **told: written.append((given, told)))
    warehouses.put(tmp_path / "warehouse.duckdb")
    told: dict[str, Any] = {"scheme": question, "data": tmp_path, "clients": 300, "round": "r"}
    state = rounds.run_round(RoundSettings(**told, seed=1))
    assert (state.name, state.is_completed()) == ("Completed", True)
    run = Run.at(state.data)
    assert run.state == State.ESTIMATED
    assert len(shown) == 5
    assert publish.publish(NamedRound(scheme=question, data=tmp_path, round="r")).data == run.folder
    page = Path(run.plan.figures) / "round.html"
    assert written == [
        ((run.plan.warehouse, page), {"round_": "r", "scheme": "consumer_expenditure", "language": "en"})
    ]
    few = rounds.run_round(RoundSettings(**told | {"round": "few"}, seed=2, min_clients=301))
    assert (few.name, few.is_completed()) == ("Waiting", True)
    assert "300" in few.message
    assert Run.at(few.data).plan.round == "few"


@pytest.mark.parametrize("has_begun", [True, False])
def test_a_round_for_which_nobody_has_reported_waits(
    shown: list[dict[str, Any]], tmp_path: Path, has_begun: bool
) -> None:
    (tmp_path / "scheme.toml").write_text(collectors.TEXT, encoding="utf-8")
    warehouses.put(tmp_path / "warehouse.duckdb")
    reports = landing(tmp_path / "into", collectors.SCHEME.digest)
    Store(tmp_path / "into", [collectors.SCHEME]).close()
    said = "nobody has reported yet: the collector of"
    if has_begun:
        wire.write_reports(reports / "a.parquet", collectors.SCHEME, collectors.reports(60), "2026-11-22")
        said = "holds no reports for round 2026-11-21"
    for flow, settings in ((rounds.run_round, RoundSettings), (collect.collect, CollectSettings)):
        state = flow(settings(scheme=tmp_path / "scheme.toml", data=tmp_path, reports=reports, round="2026-11-21"))
        assert (state.name, state.is_completed(), state.data) == ("Waiting", True, None)
        assert said in state.message


@pytest.mark.parametrize(
    ("ended", "name", "landed"),
    [(None, "Failed", False), ("prepared", "Failed", True), ("refused", "Failed", True)],
)
def test_a_failure_has_a_page_that_says_what_there_is(
    ended: str | None, name: str, landed: bool, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages, lines, landings = [], [], list[Run]()

    def land(failed: Run) -> None:
        landings.append(failed)
        if ended == "refused":
            raise DPCoreError("it is locked")

    client = SimpleNamespace(create_artifact=pages.append)
    monkeypatch.setattr(stage, "get_client", lambda sync_client: _Entered(client))
    monkeypatch.setattr(stage, "land_failure", land)
    monkeypatch.setattr(
        stage,
        "flow_run_logger",
        lambda *_: SimpleNamespace(error=lambda text, *parts: lines.append(text % parts)),
    )
    identifier = UUID(int=1 if ended else 2)
    settings = {"data": str(run.folder.parents[1])}
    flow_run = SimpleNamespace(id=identifier, name="r", parameters=settings)
    stage.report_failure(SimpleNamespace(name="round"), flow_run, Failed(message="it *broke*"))
    (page,) = pages
    assert (page.key, page.type, page.flow_run_id) == ("round-failure", "markdown", identifier)
    assert page.description == "Failed: what happened and what to do"
    parts = page.data.split("\n\n")
    assert parts[:3] == ["# r: Failed", "> it \\*broke\\*", "## What to do"]
    assert parts[3].startswith("Every task was tried four times")
    assert parts[4] == "## What remains"
    assert parts[6].endswith(f"prefect flow-run retry {identifier}`")
    assert lines == [f"{parts[3].replace('**', '')} {parts[5].replace('`', '')}"]
    assert landings == ([run] if landed else [])
    if ended is None:
        assert parts[5] == "No step has started: nothing has landed, and no epsilon was spent."
    else:
        assert parts[5].startswith(f"Round 2026-11-20, run `{run.plan.run_id}`: finished steps are in `{run.folder}`")
        assert ("could not be written to the warehouse: it is locked" in parts[5]) is (ended == "refused")
        assert ("records the run as failed" in parts[5]) is (ended == "prepared")


class _Entered:
    def __init__(self, client: Any) -> None:
        self.client = client

    def __enter__(self) -> Any:
        return self.client

    def __exit__(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (Cancelled(), "Somebody cancelled it"),
        (Cancelling(), "Somebody cancelled it"),
        (Crashed(), "Its process died: killed"),
        (Failed(name="TimedOut"), "It exceeded its time limit"),
        (Failed(data=TimeoutError()), "Every task was tried four times"),
        (Failed(data=SimpleNamespace(result=SchemeError("no"))), "ldpflow refused the input"),
    ],
)
def test_what_to_do_goes_by_how_it_ended(state: Any, said: str) -> None:
    assert stage.advice(state).startswith(said)


def test_runs_are_named_by_scheme_and_round(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(settings: dict[str, Any]) -> str:
        flow_run = SimpleNamespace(
            parameters=settings, scheduled_start_time=datetime(2026, 11, 20, tzinfo=UTC), id=None
        )
        monkeypatch.setattr(stage, "runtime", SimpleNamespace(flow_run=flow_run))
        assert stage.flow_run_id() is None
        return stage.run_name()

    assert of({}) == "consumer-expenditure-2026-11-20"
    assert of({"scheme": "data/a_b.toml", "round": "x"}) == "a-b-x"
    assert of({"settings": RoundSettings(scheme=Path("data/a_b.toml"), round="x"), "round": None}) == "a-b-x"
    assert of(dict(RoundSettings())) == "consumer-expenditure-2026-11-20"
    assert of({"clients": 5}) not in ("consumer-expenditure-2026-11-20", of({"clients": 6}))
    flow_run = SimpleNamespace(parameters={"first": date(2026, 1, 1), "last": date(2026, 1, 2)})
    monkeypatch.setattr(backfill, "runtime", SimpleNamespace(flow_run=flow_run))
    assert backfill.run_name() == "backfill-2026-01-01-2026-01-02"
    monkeypatch.setattr(stage, "runtime", SimpleNamespace(flow_run=SimpleNamespace(id=7)))
    assert stage.flow_run_id() == "7"


def test_progress_goes_to_a_hundred_and_the_log_gets_ten_lines(
    run: Run, monkeypatch: pytest.MonkeyPatch, shown: list[dict[str, Any]]
) -> None:
    updates: list[tuple[Any, ...]] = []
    lines: list[str] = []
    monkeypatch.setattr(stage, "update_progress_artifact", lambda *told: updates.append(told))
    monkeypatch.setattr(stage, "as_completed", iter)
    told = SimpleNamespace(
        info=lambda text, *parts, extra: lines.append(text % parts) if extra["is_progress"] else None
    )
    monkeypatch.setattr(stage, "get_run_logger", lambda: told)
    results: list[int] = []
    futures = [SimpleNamespace(result=lambda number=number: results.append(number)) for number in range(25)]
    stage.follow(run, privatized=futures[:21], aggregated=futures[21:])  # type: ignore[arg-type]
    assert results == list(range(25))
    assert [update[1] for update in updates] == [100 * (number + 1) / 25 for number in range(25)]
    assert updates[20][2] == "privatized: 21 of 21 batches"
    assert lines[:3] == [f"privatized: {number} of 21 batches" for number in (3, 6, 9)]
    assert len(lines) == 7 + 4
    assert shown == [
        {"kind": "progress", "progress": 0.0, "key": "consumer-expenditure-progress", "description": "started"}
    ]


def test_steps_are_tasks_of_batches_that_follow_each_other(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    maps: list[tuple[str, Any]] = []
    followed: dict[str, Any] = {}

    class Made(list[Any]):
        def result(self) -> list[Any]:
            return list(self)

    def task(name: str) -> Any:
        def mapped(of: Any, made: Any, wait_for: Any) -> Made:
            assert (of.value if name == "a" else of.value.unquote()) is run
            assert wait_for == []  # a batch waits for its own data alone
            maps.append((name, made))
            return Made([[f"{name} {item}" for item in batch] for batch in made])

        return SimpleNamespace(map=mapped)

    def one(name: str) -> Any:
        def step() -> None: ...

        step.__name__ = name
        return step

    monkeypatch.setattr(steps, "_BATCHES", {"a": (task("a"), "as"), "b": (task("b"), "bs")})
    monkeypatch.setattr(steps, "follow", lambda of, **phases: followed.update(phases))
    made = steps.Tasks().map([one("a"), one("b")], run, [1, 2])
    assert made == ["b a 1", "b a 2"]
    assert maps == [("a", [[1], [2]]), ("b", [["a 1"], ["a 2"]])]
    assert list(followed) == ["as", "bs"]
    monkeypatch.setattr(steps, "_ONE", {"a": lambda *given, wait_for: (*given, wait_for)})
    assert steps.Tasks().one(one("a"), run, 3) == (run, 3, [])


def test_batches_are_at_most_so_many_and_as_even_as_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    assert task_runner.batches(range(5), size=2) == [[0, 1], [2, 3], [4]]
    assert [len(batch) for batch in task_runner.batches(range(64))] == [2] * 32
    assert len(task_runner.batches(range(65))) == 22
    assert task_runner.flat([[1], [2, 3]]) == [1, 2, 3]
    monkeypatch.delenv(task_runner.SETTING, raising=False)
    assert task_runner.where() == ""
    assert task_runner.map_items(lambda run, item: (run, item), "run", [1, 2]) == [("run", 1), ("run", 2)]  # type: ignore[arg-type]
    assert task_runner.task_runner()._max_workers == 2
    for good in ("local:4", "tcp://scheduler:8786", "tls://10.0.0.1:1"):
        monkeypatch.setenv(task_runner.SETTING, good)
        assert task_runner.where() == good
        assert task_runner.task_runner()._max_workers == 32


def test_a_round_may_be_carried_out_by_three_flows(
    shown: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, question: Path, tmp_path: Path
) -> None:
    for module in (simulate, collect, estimate):
        monkeypatch.setattr(module, "Tasks", InProcess)
    monkeypatch.setattr(publish.pages, "pieces", lambda *_: pieces(failed=["a"]))
    warehouses.put(tmp_path / "warehouse.duckdb")
    told: dict[str, Any] = {"scheme": question, "data": tmp_path, "round": "r"}
    files = simulate.simulate(RoundSettings(**told, clients=100, seed=1, keep_reports=True))
    assert [file.suffix for file in files] == [".parquet"]
    few = collect.collect(CollectSettings(**told, reports=files[0].parent, min_clients=101))
    assert (few.name, few.is_completed()) == ("Waiting", True)
    run = Run.at(collect.collect(CollectSettings(**told, reports=files[0].parent, min_clients=100)))
    assert run.state == State.AGGREGATED
    state = estimate.estimate(NamedRound(**told))
    assert (state.name, state.data) == ("ChecksFailed", run.folder)
    assert len(shown) == 5


@pytest.mark.parametrize(
    ("name", "is_afresh", "is_apart"),
    [("benchmark", True, False), ("coverage", False, False), ("reproduce", False, True)],
)
def test_the_flow_of_a_study_measures_draws_and_shows(
    name: str, is_afresh: bool, is_apart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(studies, "measure", lambda *told: calls.append(("measure", *told)))
    monkeypatch.setattr(studies, "draw", lambda *told: calls.append(("draw", *told)) or "drawn")
    monkeypatch.setattr(studies, "show", lambda *told: calls.append(("show", *told)))
    begun = datetime(2026, 11, 20, tzinfo=UTC)
    now = SimpleNamespace(flow_run=SimpleNamespace(scheduled_start_time=begun))
    for module in (studies, stage):
        monkeypatch.setattr(module, "runtime", now)
    flow: Any = getattr(studies, name)
    flow.fn()
    (_, settings, since), (_, drawn), (_, shown, pictures, title, apart) = calls
    assert settings is drawn is shown
    assert settings.kind.name in flow.flow_run_name()
    assert flow.flow_run_name().endswith("-2026-11-20") is is_afresh
    assert since == (begun if is_afresh else None)
    assert (pictures, apart) == ("drawn", is_apart)
    assert title in flow.fn.__doc__


@pytest.mark.parametrize("people", ["records", "reports"])
def test_nobodys_noise_has_a_seed_that_prefect_keeps(people: str) -> None:
    RoundSettings(**{people: Path("data")})
    with pytest.raises(ValueError, match="seed is for simulated clients"):
        RoundSettings(seed=0, **{people: Path("data")})


def test_an_audit_shows_lands_and_then_judges_every_scheme(
    shown: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []
    made = SimpleNamespace(name="a_b", digest="0123456789abcdef0")
    certify = SimpleNamespace(
        scheme_files=lambda folder: [folder / "1", folder / "2"],
        audit_file=lambda file: made,
        measure=lambda audit, trials: calls.append(trials) or audit,
        embedded_page=lambda audit, day: f"page of {day}",
        land=lambda *told: calls.append(told),
        landed_seeds=lambda warehouse: f"seeds of {warehouse}",
        require=lambda *told: calls.append(told),
    )
    monkeypatch.setattr(audit, "audit_run", certify)
    monkeypatch.setattr(audit, "scheduled_day", lambda: "2026-11-20")
    settings = AuditSettings(schemes=Path("data"), warehouse=Path("data/w.duckdb"), trials=5000)
    assert audit.audit(settings) == [made, made]
    landed = (settings.warehouse, made, "2026-11-20")
    assert calls == [5000, landed, 5000, landed, ([made, made], f"seeds of {settings.warehouse}")]
    assert shown == 2 * [
        {
            "kind": "markdown",
            "markdown": "page of 2026-11-20",
            "key": "a-b-certificate",
            "description": "a_b, scheme 0123456789abcdef, 2026-11-20",
        }
    ]


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("verdicts", [[], [("aim", "seen", "yes", "why")]])
def test_a_study_is_measured_and_shown(
    apart: bool,
    verdicts: list[tuple[str, ...]],
    shown: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    (tmp_path / "p.png").write_bytes(b"abc")
    ran: list[Any] = []
    study = SimpleNamespace(
        name="s",
        title="The study",
        table={"one": "", "two": ""},
        run=lambda *told, **options: ran.append((told, options)) or iter([(0, 0), (1, 4)]),
        lines=lambda report: [("1", "2")],
        report=lambda warehouse: SimpleNamespace(verdicts=[SimpleNamespace(line=line) for line in verdicts]),
        draw=lambda warehouse, figures: {"p q": tmp_path / "p.png"},
    )
    updates: list[tuple[Any, ...]] = []
    lines: list[str] = []
    monkeypatch.setattr(studies, "update", lambda *told: updates.append(told))
    monkeypatch.setattr(
        studies, "get_run_logger", lambda: SimpleNamespace(info=lambda text, *parts: lines.append(text % parts))
    )
    settings: Any = SimpleNamespace(study=study, warehouse=tmp_path / "w", figures=tmp_path, again=True, workers=3)
    begun = datetime(2026, 11, 20, 2, 15)
    studies.measure(settings, begun)
    assert ran == [((tmp_path / "w", 3), {"again": True, "begun": begun})]
    assert [update[1] for update in updates] == [100.0, 25.0]
    assert lines == ["0 of 0 pieces measured", "1 of 4 pieces measured"]
    studies.measure(settings, None)
    told = [one["description"] for one in shown]
    assert told == ["study started 2026-11-20 02:15", "The study"]
    assert {one["key"] for one in shown} == {"s-progress"}
    shown.clear()
    studies.show(settings, studies.draw(settings), "Title", apart)
    table, page = shown
    heads = dict(zip(studies.HEADS, verdicts[0], strict=True)) if verdicts else {"one": "1", "two": "2"}
    assert table == {"kind": "table", "table": [heads], "key": "s-aims", "description": "Title"}
    image = "![p q](data:image/png;base64,YWJj)"
    if apart:
        assert page == {
            "kind": "markdown",
            "markdown": f"## p q\n\n{image}",
            "key": "s-p-q",
            "description": "Title: p q",
        }
    else:
        text = "| one | two |\n| --- | --- |\n| 1 | 2 |"
        assert page["markdown"] == f"## Title\n\n{text}\n\n{image}"
        assert (page["key"], page["description"]) == ("s", "Title")
