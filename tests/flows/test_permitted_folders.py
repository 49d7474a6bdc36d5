"""What a run may read and write: every path of every form, in every flow and task, whatever links say."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from prefect import Flow
from pydantic import BaseModel

from dpcore.errors import DPCoreError
from dpcore.rounds import defaults
from dpcore.rounds.run import Run
from dpcore.rounds.steps import preparation
from ldpflow_flows import settings
from ldpflow_flows.audit import enumerate_loss, land_checks
from ldpflow_flows.settings import RoundSettings
from ldpflow_flows.studies import settings as study_settings
from ldpflow_flows.tasks import permitted_folders, stage
from ldpflow_flows.tasks.steps import aggregate_batch, land, prepare
from tests.helpers import warehouses
from tests.helpers.flow_cases import FLOWS, TASKS

REFUSED = "runs may only use "
GUARDED = [*FLOWS, *TASKS]
REQUIRED = {"reports": Path("data"), "round": "2026-11-20", "first": date(2026, 11, 1), "last": date(2026, 11, 2)}


def form_of(made: Any) -> type[BaseModel] | None:
    """The settings of a flow or task, where it takes any."""
    parameter = inspect.signature(inspect.unwrap(made.fn), eval_str=True).parameters.get("settings")
    found = parameter.annotation if parameter else None
    forms = found.__args__ if hasattr(found, "__args__") else (found,)
    return next((form for form in forms if inspect.isclass(form)), None)


def paths_of(form: type[BaseModel]) -> list[str]:
    """The fields of a form that are paths."""
    return [name for name, field in form.model_fields.items() if "Path" in str(field.annotation)]


def filled(form: type[BaseModel], **given: Any) -> BaseModel:
    """A form in which all that it requires is given."""
    required = {name: value for name, value in REQUIRED.items() if name in form.model_fields}
    return form(**required | given)


FORMED = [(made, form) for made in GUARDED if (form := form_of(made))]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one folder that runs may use; `tmp_path / "outside"` is none."""
    monkeypatch.setenv(permitted_folders.SETTING, f"data,{tmp_path / 'here'}")
    warehouses.put(tmp_path / "here" / "warehouse.duckdb")
    (tmp_path / "outside").mkdir()
    return tmp_path / "here"


def test_where_nothing_is_named_the_projects_file_says_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(permitted_folders.SETTING)
    monkeypatch.setattr(permitted_folders, "_named", [])  # whatever a command in this process named
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DPCoreError, match=f"runs may only use {tmp_path}/data, got {tmp_path}/in;"):
        permitted_folders.check(tmp_path / "in")
    (tmp_path / "ldpflow.toml").write_text(
        'scheme = "schemes/s.toml"\ndata = "d"\nreports = "in"\nfolders = ["more"]\n'
    )
    for name in ("in", "d", "schemes", "more"):
        permitted_folders.check(tmp_path / name)
    for name in ("data", "ldpflow.toml", "."):
        with pytest.raises(DPCoreError, match="runs may only use"):
            permitted_folders.check(tmp_path / name)


@pytest.fixture
def outside(here: Path) -> Path:
    return here.parent / "outside"


def test_no_flow_or_task_begins_with_a_path_outside(outside: Path) -> None:
    cases = [(made, form, field) for made, form in FORMED for field in paths_of(form)]
    assert len(cases) > 50
    for made, form, field in cases:
        others = {name: None for name in inspect.signature(inspect.unwrap(made.fn)).parameters if name != "settings"}
        settings = filled(form, **{field: outside / "it"})
        try:
            made.fn(**dict(settings) if made in FLOWS else {"settings": settings, **others})
        except DPCoreError as error:
            said = str(error)
        else:
            said = "it began"
        assert REFUSED in said, (made.name, field)
        assert str(outside / "it") in said, (made.name, field)
        assert len(said.splitlines()) == 1, (made.name, field)


def test_every_form_is_the_form_of_a_flow_that_is_guarded_or_what_such_are_made_of() -> None:
    modules = (settings, study_settings)
    forms = {form for one in modules for _, form in inspect.getmembers(one, inspect.isclass)}
    with_paths = {form for form in forms if issubclass(form, BaseModel) and paths_of(form)}
    told = [form for made, form in FORMED if isinstance(made, Flow)]
    assert [form for form in with_paths if not any(issubclass(each, form) for each in told)] == []


def test_every_flow_and_task_is_guarded() -> None:
    for made in GUARDED:
        own = made.fn.__wrapped__ if made in FLOWS else made.fn  # a flow takes its form apart first
        assert own.__code__ is permitted_folders.guarded(lambda: None).__code__, made.name
        paths = {name for name, one in inspect.signature(own).parameters.items() if one.annotation is Path}
        assert paths <= {"file", "warehouse"}, f"{made.name}: a run is given whole, so that its plan is looked at"


def test_links_dots_and_urls_lead_nowhere_else(here: Path, outside: Path) -> None:
    (here / "link").symlink_to(outside)
    for place in (f"{here}/../outside/it", f"{here}/link/it", f"file://{outside}/it", "s3://bucket/it"):
        with pytest.raises(DPCoreError, match=REFUSED):
            permitted_folders.check(RoundSettings(records=Path(place)))


def test_a_file_that_is_a_link_is_where_it_leads(here: Path, outside: Path) -> None:
    (outside / "people.csv").touch()
    (here / "people.csv").symlink_to(outside / "people.csv")
    with pytest.raises(DPCoreError, match=f"got {here}/people.csv, which is {outside}/people.csv; move it there, or"):
        permitted_folders.check(here / "people.csv")
    (here / "people.csv").unlink()
    (here / "own.csv").touch()
    (here / "other.csv").symlink_to(here / "own.csv")
    permitted_folders.check([here / "own.csv", here / "other.csv", here, here / "not there yet"])


@pytest.mark.parametrize("name", ["1.parquet", "runs"])
def test_a_folders_own_links_are_looked_at(name: str, here: Path, outside: Path) -> None:
    (here / "reports").mkdir()
    (here / "reports" / name).symlink_to(outside / name)
    with pytest.raises(DPCoreError, match=f"got {here}/reports/{name}, which is {outside}/{name}"):
        permitted_folders.check(RoundSettings(reports=here / "reports"))


def test_the_beginning_of_a_url_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(permitted_folders.SETTING, "s3://bucket/ldpflow/, https://data.example.org")
    for url in ("s3://bucket/ldpflow", "s3://bucket/ldpflow/var", "https://data.example.org/people.csv"):
        permitted_folders.check(Path(url))
    for url in (
        "s3://bucket/ldpflow2",
        "s3://bucket",
        "s3://bucket/ldpflow/../else",
        "s3://bucket/ldpflow/%2e%2e/else",
        "s3://bucket/ldpflow/x::file:///etc/passwd",
        "https://data.example.org.evil.example/people.csv",
        "https://data.example.org@evil.example/people.csv",
        "data/var",
    ):
        with pytest.raises(DPCoreError, match=REFUSED):
            permitted_folders.check(Path(url))


def test_a_command_line_names_its_own(here: Path, outside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permitted_folders, "_named", [])
    with pytest.raises(DPCoreError):
        permitted_folders.check(outside)
    permitted_folders.name(outside, None)
    permitted_folders.check(outside / "it")


def forged(here: Path, **names: str) -> Run:
    """A run whose plan names something else."""
    folder = preparation.prepare(defaults.DEFAULT_SCHEME, round_="2026-11-20", clients=1000, data=here).folder
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    (folder / "plan.json").write_text(json.dumps(plan | names), encoding="utf-8")
    return Run.at(folder)


def test_what_a_runs_plan_names_is_looked_at_in_each_task(here: Path, outside: Path) -> None:
    for name in ("scheme_file", "input", "warehouse", "figures"):
        run = forged(here, **{name: str(outside / "it")})
        with pytest.raises(DPCoreError, match=REFUSED):
            land.fn(run)
        assert list(outside.iterdir()) == [], name


def test_a_link_that_is_turned_between_two_tasks_is_seen_by_the_second(
    here: Path, outside: Path, scheme_file: Path, records_file: Path
) -> None:
    from ldpflow_flows.tasks.steps import privatize_records

    (here / "small.toml").write_text(scheme_file.read_text(encoding="utf-8"), encoding="utf-8")
    (here / "people.csv").write_text(records_file.read_text(encoding="utf-8"), encoding="utf-8")
    run = preparation.prepare(here / "small.toml", round_="2026-11-20", records=here / "people.csv", data=here)
    (here / "people.csv").rename(outside / "people.csv")
    (here / "people.csv").symlink_to(outside / "people.csv")
    with pytest.raises(DPCoreError, match=f"which is {outside}/people.csv"):
        privatize_records.fn(run)


def test_other_arguments_are_looked_at(here: Path, outside: Path) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: enumerate_loss.fn(outside / "scheme.toml"),
        lambda: land_checks.fn(None, outside / "warehouse.duckdb", "2026-11-20"),
        lambda: aggregate_batch.fn(forged(here), [outside / "1.parquet"]),
        lambda: prepare.fn(RoundSettings(data=outside)),
    ]
    for call in calls:
        with pytest.raises(DPCoreError, match=REFUSED):
            call()


def test_what_tells_of_a_failure_looks_nowhere_else(here: Path, outside: Path) -> None:
    run = preparation.prepare(
        defaults.DEFAULT_SCHEME, round_="2026-11-20", clients=1000, data=outside, flow_run_id="asked"
    )
    assert stage.run_of("asked", {"data": str(outside)}) is None
    (here / "runs").symlink_to(outside / "runs")
    assert stage.run_of("asked", {"data": str(here)}) is None
    (here / "runs").unlink()
    (outside / "runs").rename(here / "runs")
    assert stage.run_of("asked", {"data": str(here)}).folder == here / "runs" / run.folder.name
