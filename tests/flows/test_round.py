"""The round through the engine: the same bits as the command line, whatever fails on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any
from uuid import UUID

import pandas as pd
import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterFlowRunId, FlowRunFilter, FlowRunFilterId
from prefect.client.schemas.objects import TaskRunResult

from dpcore import wire
from dpcore.errors import InvalidRecord, InvalidReport, SchemeError
from dpcore.results import warehouse
from dpcore.rounds.run import Run
from dpcore.rounds.steps import aggregation, landing, preparation, privatization
from ldpflow_flows import collect as collecting
from ldpflow_flows import publish as publishing
from ldpflow_flows import round as rounds
from ldpflow_flows import simulate as simulating
from ldpflow_flows.settings import CollectSettings, NamedRound, RoundSettings
from ldpflow_flows.tasks import steps
from tests.helpers.services import soon

pytestmark = [pytest.mark.flows, pytest.mark.usefixtures("harness")]


def settings_of(scheme: Path, data: Path, **options: Any) -> RoundSettings:
    return RoundSettings(**({"scheme": scheme, "data": data, "seed": 7, "round": "2026-11-20"} | options))


def same_aggregate(left: Path, right: Path) -> bool:
    scheme = Run.at(left).scheme
    return wire.read_aggregate(left / "aggregate.parquet", scheme).equals(
        wire.read_aggregate(right / "aggregate.parquet", scheme)
    )


def arrows_of(flow_run_id: str) -> set[tuple[str, str]]:
    """The arrows between the tasks of a flow run, as (from, to)."""
    with get_client(sync_client=True) as client:
        run = FlowRunFilter(id=FlowRunFilterId(any_=[UUID(flow_run_id)]))
        tasks = {task.id: task for task in client.read_task_runs(flow_run_filter=run)}
    inputs = [(one, task.name) for task in tasks.values() for group in task.task_inputs.values() for one in group]
    return {(tasks[one.id].name, name) for one, name in inputs if isinstance(one, TaskRunResult)}


def runs_in(data: Path) -> pd.DataFrame:
    return warehouse.query(data / "warehouse.duckdb", "select * from runs")


def artifacts_of(flow_run_id: str) -> list[Any]:
    async def read() -> list[Any]:
        async with get_client() as client:
            wanted = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[flow_run_id]))
            return await client.read_artifacts(artifact_filter=wanted)

    return asyncio.run(read())


def fail_once_after(function: Callable[..., Any], seen: dict[Any, int]) -> Callable[..., Any]:
    """The function, which does its work and then fails, the first time for each of its last arguments."""

    @wraps(function)
    def flaky(*arguments: Any) -> Any:
        result = function(*arguments)
        key = (function.__name__, str(arguments[-1]))
        seen[key] = seen.get(key, 0) + 1
        if seen[key] == 1:
            raise OSError("the connection was lost after the work was done")
        return result

    return flaky


def without_waiting(monkeypatch: pytest.MonkeyPatch, *tasks: Any) -> None:
    for task in tasks:
        monkeypatch.setattr(task, "retry_delay_seconds", [0.01, 0.01, 0.01])


def test_the_flow_gives_the_same_bits_as_the_command_and_shows_what_it_found(
    households_file: Path, households_by_command: Path, tmp_path: Path
) -> None:
    folder = rounds.run_round(settings_of(households_file, tmp_path))
    assert len(privatization.shards(Run.at(folder))) == 2
    assert same_aggregate(folder, households_by_command)
    for table in ("functionals", "frequencies", "densities"):
        left, right = (
            pd.read_parquet(made / "tables" / f"{table}.parquet") for made in (folder, households_by_command)
        )
        pd.testing.assert_frame_equal(left, right)

    run = runs_in(tmp_path).iloc[0]
    plan = Run.at(folder).plan
    assert (run["state"], run["accepted"], run["seed"]) == ("landed", 200_000, 7)
    assert run["flow_run_id"] == plan.flow_run_id is not None
    assert not (folder / "reports").exists()

    shown = {artifact.key: artifact for artifact in artifacts_of(plan.flow_run_id)}
    assert {"consumer-expenditure-estimates", "consumer-expenditure-progress"} <= set(shown)
    assert float(shown["consumer-expenditure-progress"].data) == 100
    assert '"attribute": "income", "quantity": "mean"' in str(shown["consumer-expenditure-estimates"].data)
    for attribute in ("income", "urban-rural"):
        assert "](data:image/svg+xml;base64," in str(shown[f"consumer-expenditure-{attribute}"].data)
    parts = ("00000", "00001")
    arrows = {
        *(("prepare", f"privatize-{part}") for part in parts),
        *((f"privatize-{part}", f"aggregate-{part}") for part in parts),
        *((f"aggregate-{part}", "merge") for part in parts),
        *(("merge", "estimate"), ("estimate", "land"), ("land", "show"), ("land", "draw"), ("show", "draw")),
    }
    soon(lambda: arrows_of(plan.flow_run_id) == arrows)  # the server records task runs in batches, after they ended
    assert arrows_of(plan.flow_run_id) == arrows
    front = shown["consumer-expenditure-round"]
    assert front.description.startswith("200,000 reports counted, 0 rejected; ")
    assert "# consumer expenditure, round 2026-11-20" in str(front.data)


@pytest.mark.usefixtures("undrawn")
def test_a_task_that_fails_after_its_effect_counts_nobody_twice(
    scheme_file: Path, by_command: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_waiting(monkeypatch, steps.privatize_batch, steps.aggregate_batch, steps.merge, steps.land)
    seen: dict[Any, int] = {}
    of = {privatization: ["privatize_shard"], aggregation: ["aggregate_file", "merge"], landing: ["land"]}
    for module, name in ((module, name) for module, names in of.items() for name in names):
        monkeypatch.setattr(module, name, fail_once_after(getattr(module, name), seen))
    folder = rounds.run_round(settings_of(scheme_file, tmp_path))
    assert sorted(seen.values()) == [2] * 6  # two shards privatized and aggregated, one merge, one landing
    assert same_aggregate(folder, by_command)
    assert list(runs_in(tmp_path)["accepted"]) == [200_000]


@pytest.mark.usefixtures("undrawn")
def test_shards_of_another_size_give_the_same_bits(
    scheme_file: Path, by_command: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(privatization, "SHARD_BLOCKS", 1)
    assert same_aggregate(rounds.run_round(settings_of(scheme_file, tmp_path)), by_command)


@pytest.mark.usefixtures("undrawn")
def test_records_that_are_privatized_twice_are_reported_once(
    scheme_file: Path, records_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_waiting(monkeypatch, steps.privatize_records)
    seen: dict[Any, int] = {}
    written = []
    flaky = fail_once_after(privatization.privatize_records, seen)

    def privatize_records(run: Run) -> Any:
        try:
            return flaky(run)
        finally:
            written.append([path.read_bytes() for path in sorted((run.folder / "reports").glob("*.parquet"))])

    monkeypatch.setattr(privatization, "privatize_records", privatize_records)
    rounds.run_round(settings_of(scheme_file, tmp_path, records=records_file, seed=None))
    assert len(written) == 2
    assert written[0] == written[1]
    run = runs_in(tmp_path).iloc[0]
    assert (run["source"], run["randomness"], run["accepted"]) == ("records", "secure", 5000)


@pytest.mark.usefixtures("undrawn")
def test_records_of_a_run_that_is_retried_after_landing_are_not_privatized_again(
    scheme_file: Path, records_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = rounds.run_round(settings_of(scheme_file, tmp_path, records=records_file, seed=None))
    first = (folder / "aggregate.parquet").read_bytes()
    assert not (folder / "reports").exists()
    again = preparation.prepare(
        scheme_file,
        round_="2026-11-20",
        records=records_file,
        data=tmp_path,
        flow_run_id=Run.at(folder).plan.flow_run_id,
    )
    assert again.folder == folder
    aggregation.merge(
        again, [aggregation.aggregate_file(again, path) for path in privatization.privatize_records(again)]
    )
    assert (folder / "aggregate.parquet").read_bytes() == first


def test_no_flow_rehearses(
    scheme_file: Path, records_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Prefect keeps what a flow is told, and a seed undoes the noise of real people."""
    with pytest.raises(ValueError, match="seed is for simulated clients; for a dry run use `ldpflow run"):
        settings_of(scheme_file, tmp_path, records=records_file, seed=7)
    assert rounds.main([str(scheme_file), "--records", str(records_file), "--seed", "7", "--data", str(tmp_path)]) == 1
    assert "for a dry run use `ldpflow run --records FILE --seed S`" in capsys.readouterr().err
    with pytest.raises(SchemeError, match="outside Prefect"):
        preparation.prepare(scheme_file, records=records_file, seed=7, data=tmp_path, flow_run_id="mine")
    assert not list(tmp_path.glob("runs/*"))


def test_what_is_refused_is_not_retried_and_lands_as_failed(
    scheme_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = []

    def aggregate_file(run: Run, reports: Path) -> Path:
        calls.append(reports.name)
        raise InvalidReport("the reports are of another kind; collect them anew")

    monkeypatch.setattr(aggregation, "aggregate_file", aggregate_file)
    assert rounds.main([str(scheme_file), "--seed", "7", "--data", str(tmp_path)]) == 1
    errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("ldpflow:")]
    assert errors == ["ldpflow: the reports are of another kind; collect them anew"]
    assert len(calls) == len(set(calls))
    assert list(runs_in(tmp_path)["state"]) == ["failed"]


def test_records_that_are_refused_leave_nothing_landed(scheme_file: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidRecord):
        rounds.run_round(settings_of(scheme_file, tmp_path, records=tmp_path / "absent.csv", seed=None))
    assert not (tmp_path / "warehouse.duckdb").exists()


def test_the_flows_of_the_stages_make_a_round_together(scheme_file: Path, by_command: Path, tmp_path: Path) -> None:
    from ldpflow_flows.estimate import estimate

    reports = simulating.simulate(settings_of(scheme_file, tmp_path / "clients"))
    where = {"scheme": scheme_file, "data": tmp_path, "round": "2026-11-20"}
    collected = collecting.collect(CollectSettings(reports=reports[0].parent, **where))
    assert same_aggregate(collected, by_command)
    assert estimate(NamedRound(**where)) == collected
    run = runs_in(tmp_path).iloc[0]
    assert (run["source"], run["state"], run["accepted"]) == ("reports", "landed", 200_000)
    assert publishing.publish(NamedRound(**where)) == collected
    page = tmp_path / "figures" / run["run_id"] / "round.html"
    assert "<title>" in page.read_text(encoding="utf-8")
    assert len(runs_in(tmp_path)) == 1
    assert reports[0].exists()
