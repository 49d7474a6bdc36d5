"""What can be told is said once: a declared option is in its command, its form, the flow's own command and the run's plan.

The table of variables in flows/README.md has every one that the code reads or sets, and the reference every field of a form.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from pathlib import Path

import pytest
import typer.main
from pydantic import BaseModel

from dpcore.cli import app
from dpcore.errors import SchemeError
from dpcore.rounds.run import Plan
from dpcore.rounds.settings import Backfill, Cleanup, Collect, Option, Round, Rules, Where, Which, integer, options
from ldpflow_flows import round as rounds
from ldpflow_flows import settings
from ldpflow_flows.services import environment, up
from ldpflow_flows.studies import settings as study_settings

pytestmark = pytest.mark.flows

VARIABLE = re.compile(r"\b(?:LDPFLOW|PREFECT)_[A-Z][A-Z_]+\b")
MODELS = [
    model
    for forms in (settings, study_settings)
    for _, model in inspect.getmembers(forms, inspect.isclass)
    if issubclass(model, BaseModel) and model.__module__ == forms.__name__
]


TOLD = {  # what is declared -> the verb whose command and form have it
    Round: ("run", settings.RoundSettings),
    Collect: ("collect", settings.CollectSettings),
    Backfill: ("backfill", settings.BackfillSettings),
    Cleanup: ("cleanup", settings.CleanupSettings),
}
DECLARED = {option.name: option for declared in (Which, *TOLD) for option in options(declared)}
EACH = pytest.mark.parametrize(
    ("declared", "option"),
    [(declared, option) for declared in TOLD for option in options(declared)],
    ids=lambda value: value.name if isinstance(value, Option) else value.__name__,
)


@EACH
def test_what_is_declared_is_an_option_of_the_command(declared: type, option: Option) -> None:
    command = typer.main.get_command(app).commands[TOLD[declared][0]]  # type: ignore[attr-defined]
    [shown] = [each for each in command.params if each.name == option.name]
    assert shown.opts == [f"--{option.name.replace('_', '-')}"]
    assert (shown.help, shown.default) == (option.words, option.default)


@EACH
def test_what_is_declared_is_a_field_of_the_form(declared: type, option: Option) -> None:
    form = TOLD[declared][1]
    if form.model_fields[option.name].is_required():
        pytest.skip("the form asks for it")
    field = form.model_json_schema()["properties"][option.name]
    assert field["description"] == option.words
    assert form.model_fields[option.name].default == option.default
    [kind, *_] = field.get("anyOf", [field])
    assert (kind.get("minimum"), kind.get("maximum")) == (option.least, option.most)


@EACH
def test_what_is_out_of_bounds_is_refused_by_name(declared: type, option: Option) -> None:
    least, most = option.least, option.most
    assert option.words.endswith(".")
    assert (option.plain is int) == (least is not None) == (most is not None)
    if least is not None and most is not None:
        for good in (least, most):
            assert getattr(declared(**{option.name: good}), option.name) == good
        for bad in (least - 1, most + 1, least - 0.5, least + 0.5, float("nan"), True, str(least)):
            with pytest.raises(SchemeError, match=f"{option.name}: must be a whole number between .*, got {bad}"):
                declared(**{option.name: bad})


def test_the_flows_own_command_has_the_options_of_a_round() -> None:
    shown = {action.dest: action for action in rounds._parser()._actions}
    assert set(shown) - {"help"} == {option.name for option in (*options(Which), *options(Round))}
    said = vars(rounds._parser().parse_args(["s.toml", "--again", "--no-keep-reports", "--min-clients", "5"]))
    assert {name: value for name, value in said.items() if value is not None} == {
        "scheme": Path("s.toml"),
        "again": True,
        "keep_reports": False,
        "min_clients": 5,
    }


def test_a_plan_keeps_the_rules_and_all_of_them_can_be_left_out() -> None:
    assert {option.name for option in options(Rules)} <= {field.name for field in fields(Plan)}
    assert {option.name for option in options(Where)} <= set(DECLARED)
    for declared in TOLD:
        declared()


@pytest.fixture(scope="module")
def table(root: Path) -> dict[str, str]:
    """Variable -> its row."""
    text = (root / "flows/README.md").read_text(encoding="utf-8")
    rows = re.search(r"\| variable \| what \| default; such as \|\n\|[-|]+\|\n((?:\|.*\n)+)", text)
    assert rows is not None
    return {name: row for row in rows[1].splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def test_every_variable_is_in_the_table(root: Path, table: dict[str, str]) -> None:
    used = {folder: variables(root / folder) for folder in ("dpcore", "flows", "tests")}
    ours = {name for name in used["tests"] if name.startswith("LDPFLOW_")}
    prefects = set(environment._SERVER)  # which stand there with their reasons
    assert sorted((used["dpcore"] | used["flows"] | ours) - set(table) - prefects) == []
    assert sorted(name for name in set(table) - set().union(*used.values()) if name.isupper()) == []


def test_the_table_knows_what_make_up_sets(table: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in table:
        monkeypatch.delenv(name, raising=False)
    environment = up.environment_of("4200")
    told = {name: row for name, row in table.items() if "under `make up`" in row}
    assert len(told) == 4
    assert [name for name, row in told.items() if f"`{environment[name]}` under `make up`" not in row] == []


def variables(folder: Path) -> set[str]:
    return {name for file in folder.rglob("*.py") for name in re.findall(VARIABLE, file.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_field_is_in_the_reference(model: type[BaseModel], root: Path) -> None:
    reference = (root / "data/guide/reference/settings.md").read_text(encoding="utf-8")
    for name, field in model.model_fields.items():
        rows = re.findall(rf"^\| `{name}` \|.*$", reference, re.MULTILINE)
        assert rows, name
        if isinstance(field.default, bool):
            assert any(f"`{str(field.default).lower()}`" in row for row in rows), name


def test_the_table_is_of_variables_alone(table: dict[str, str]) -> None:
    assert sorted(name for name in table if not name.isupper()) == []


def test_numbers_may_be_written_as_people_write_them() -> None:
    said = {"1000000": 10**6, "1e6": 10**6, "1_000": 1000, "0": 0, "2.5e1": 25, str(2**63 - 1): 2**63 - 1, "-5": -5}
    assert {text: integer(text) for text in said} == said
    for text in ("", "x", "1.5", "1e-3", "nan", "inf", "1e300", "1e21", "0x10", "five"):
        with pytest.raises(ValueError, match="expected a whole number, such as 1000000 or 1e6"):
            integer(text)
