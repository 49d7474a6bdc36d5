"""What the engine is not needed for: settings, names, what is retried, and bad input told before the engine starts."""

from __future__ import annotations

import errno
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from prefect.exceptions import SignatureMismatchError
from prefect.states import Failed
from pydantic import ValidationError

from dpcore import pipeline, wire
from dpcore.errors import SchemeError, WarehouseError
from dpcore.protocol.report import with_ids
from dpcore.results.warehouse import Locked
from dpcore.rounds import defaults
from dpcore.rounds.steps import aggregation, preparation, privatization
from ldpflow_flows import round as rounds
from ldpflow_flows.settings import RoundSettings
from ldpflow_flows.tasks import steps
from ldpflow_flows.tasks.stage import advice, is_transient, key, run_of
from tests.helpers import warehouses
from tests.helpers.flow_cases import FLOWS, TASKS
from tests.helpers.tapes import Tape, Written, only


def test_every_task_retries_has_a_limit_and_caches_nothing() -> None:
    for task in TASKS:
        assert task.retries == 3, task.name
        assert task.retry_delay_seconds == [1, 2, 4], task.name
        assert task.retry_jitter_factor > 0, task.name
        assert task.retry_condition_fn is is_transient, task.name
        if task in (steps.privatize_batch, steps.aggregate_batch):
            assert task.timeout_seconds is None  # they run in threads, where Prefect can only warn
        else:
            assert task.timeout_seconds >= 60, task.name
        assert not task.persist_result, task.name
        assert type(task.cache_policy).__name__ == "_None", task.name


def test_only_what_may_pass_is_retried() -> None:
    transient, permanent = (OSError("gone"), TimeoutError()), (SchemeError("no"), WarehouseError("locked"))
    for error in (*transient, *permanent):
        assert is_transient(None, None, SimpleNamespace(data=error)) is (error in transient), repr(error)


def test_keys_of_artifacts_have_the_letters_prefect_allows() -> None:
    assert key("consumer_expenditure", "Kids_count") == "consumer-expenditure-kids-count"
    assert key("größe", "Zeit (h)") == "gr-e-zeit-h"


def test_settings_refuse_what_does_not_fit() -> None:
    wrong: dict[str, Any]
    for wrong in ({"clients": 0}, {"clients": 10**13}, {"seed": -1}, {"seed": 2**63}, {"round": ""}, {"client": 5}):
        with pytest.raises(ValidationError, match=next(iter(wrong))):
            RoundSettings(**wrong)


def test_every_field_of_the_form_is_described_and_bounded() -> None:
    """What `prefect deploy` sends for the UI's form: help for each field, a range for each number, a list for each name."""
    for flow in FLOWS:
        schema = flow.parameters.model_dump()
        assert {field["position"] for field in schema["properties"].values()} == set(
            range(1, len(schema["properties"]) + 1)
        )
        for definition in (schema, *schema["definitions"].values()):
            for name, field in definition["properties"].items():
                assert field.get("description"), (flow.name, name)
                kinds = [kind for option in field.get("anyOf", [field]) for kind in (option, option.get("items", {}))]
                for kind in kinds:
                    if kind.get("type") in ("integer", "number"):
                        assert {"minimum", "maximum"} <= set(kind), (flow.name, name)
                    if kind.get("type") == "string" and name in ("targets", "methods"):
                        assert kind["enum"], (flow.name, name)
        with pytest.raises(SignatureMismatchError):
            flow.validate_parameters({"unknown": 1})


def test_preparing_passes_every_setting_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given = {}

    def record(scheme: Path, **options: object) -> None:
        given.update(options, scheme=scheme)

    monkeypatch.setattr(preparation, "prepare", record)
    settings = RoundSettings(clients=5, seed=3, data=tmp_path, warehouse=tmp_path / "w.duckdb", keep_reports=True)
    steps.prepare.fn(settings)
    assert given["round_"] is None
    assert given["day"] == defaults.today()
    assert {name: given[name] for name in ("clients", "seed", "data", "warehouse", "keep_reports", "records")} == {
        "clients": 5,
        "seed": 3,
        "data": tmp_path,
        "warehouse": tmp_path / "w.duckdb",
        "keep_reports": True,
        "records": None,
    }


def test_the_task_of_records_draws_every_word_from_the_operating_system(
    scheme_file: Path, records_file: Path, tmp_path: Path
) -> None:
    tape, slow = Tape(1), Tape(1)
    run = preparation.prepare(scheme_file, records=records_file, round_="r", data=tmp_path, flow_run_id="7")
    with only(tape):
        [path] = steps.privatize_records.fn(run)
    people = pd.read_csv(records_file)
    twin = with_ids(pipeline.privatize(run.scheme, people, Written(slow)), Written(slow))
    assert tape.asked == slow.asked
    wire.write_reports(tmp_path / "twin.parquet", run.scheme, twin)
    assert path.read_bytes() == (tmp_path / "twin.parquet").read_bytes()


def test_a_run_that_failed_is_found_by_its_flow_run_or_by_the_round_it_was_told(
    scheme_file: Path, tmp_path: Path
) -> None:
    warehouses.put(tmp_path / "warehouse.duckdb")
    options = {"round_": "2026-11-20", "data": tmp_path, "clients": 100}
    mine = preparation.prepare(scheme_file, seed=1, flow_run_id="mine", **options)
    other = preparation.prepare(scheme_file, seed=2, flow_run_id="other", **options)
    settings = {"scheme": str(scheme_file), "data": str(tmp_path)}
    assert run_of("mine", settings) == mine
    assert run_of("absent", settings) is None
    assert run_of("absent", settings | {"round": "2026-11-20"}) is None  # nothing is collected yet
    aggregation.merge(other, [aggregation.aggregate_file(other, privatization.privatize_shard(other, 0))])
    assert run_of("absent", settings | {"round": "2026-11-20"}) == other
    assert run_of("absent", {"data": str(tmp_path / "nowhere")}) is None


def test_the_page_of_a_failure_says_what_to_do_about_this_one() -> None:
    for error, said in (
        (OSError(errno.ENOSPC, "No space left on device", "reports/00001.parquet"), "**Free space**"),
        (OSError("gone"), "Every task was tried four times"),
        (Locked("w.duckdb is locked by another program"), "**Press Retry** when it has finished"),
        (WarehouseError("w.duckdb is not a DuckDB file"), "**Correct what the message names"),
    ):
        assert said in advice(Failed(data=error)), repr(error)


def test_every_flow_has_a_limit_and_hooks_that_a_worker_can_call_by_the_names_it_uses() -> None:
    for flow in FLOWS:
        assert flow.timeout_seconds >= 3600, flow.name
        for hooks in (flow.on_failure_hooks, flow.on_crashed_hooks, flow.on_cancellation_hooks):
            called_with = [list(signature(hook).parameters) for hook in hooks]
            assert called_with == [["flow", "flow_run", "state"]], flow.name


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["absent.toml"], "no scheme file at absent.toml"),
        (["--clients", "0"], "clients: "),
        (["--seed", "-1"], "seed: "),
    ],
)
def test_bad_input_is_one_line_before_the_engine_starts(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "run_round", lambda settings: pytest.fail("the engine was started"))
    assert rounds.main([*arguments, "--data", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert captured.err.startswith(f"ldpflow: {said}")
    assert list(tmp_path.iterdir()) == []
