"""Every study declares its command, its table and what it can be asked, and is found by its name."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from string import Formatter
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from dpcore import cli
from dpcore.errors import SchemeError
from dpcore.laboratory.benchmarks import STUDIES, study
from dpcore.laboratory.benchmarks.option import Place, options
from ldpflow_flows.studies.settings import form_of

NAMES = [*STUDIES, "reproduce"]


def kind_of(name: str) -> type[study.Study]:
    return getattr(import_module(f"dpcore.laboratory.benchmarks.{name}"), name.capitalize())


def test_every_module_of_a_study_is_listed() -> None:
    folder = Path(study.__file__).parent
    others = {"__init__", "option", "study", "reproduce"}
    assert {path.stem for path in folder.glob("*.py")} - others == set(STUDIES)


@pytest.mark.parametrize("name", NAMES)
def test_a_study_is_asked_by_its_declaration_and_has_pieces_when_nothing_is_known(name: str) -> None:
    kind = kind_of(name)
    asked = kind()
    assert asked.name == name
    known = pd.DataFrame(columns=["method", "parameters", "target", "clients", "epsilon", "repetitions"])
    assert asked.pending(known)
    assert all(not isinstance(each.default, list) for each in options(kind).values())
    for option in options(kind).values():
        assert option.words.endswith(".")
        assert option.kind in (str, int, float, bool, Place) or isinstance(option.default, Path)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_among_the_choices_or_bounds_is_refused_by_its_name(name: str) -> None:
    kind = kind_of(name)
    for field, option in options(kind).items():
        wrong: Any = None
        if option.choices:
            wrong = "telepathy"
        elif option.least is not None:
            wrong = option.kind(option.least) - 1
        if wrong is not None:
            with pytest.raises(SchemeError, match=(option.flag or field).lstrip("-")):
                replace(kind(), **{field: (wrong,) if option.is_list else wrong})


def test_an_empty_list_is_all_only_where_that_is_the_default() -> None:
    """Separators alone are a slip: without this a profile of no round would be one of a million clients."""
    done = CliRunner().invoke(cli.app, ["benchmark", "profile", "--clients", ","])
    assert str(done.exception) == "clients needs at least one, such as 1000000; got none"
    assert not kind_of("accuracy")(methods=()).methods
    with pytest.raises(SchemeError, match="targets needs at least one"):
        kind_of("accuracy")(targets=())


@pytest.mark.parametrize("name", NAMES)
def test_a_form_is_made_of_it_and_asks_the_same(name: str) -> None:
    kind = kind_of(name)
    form = form_of(kind, "Form")
    assert form().study == form(**form().model_dump()).study == kind()
    assert set(options(kind)) <= set(form.model_json_schema()["properties"])


@pytest.mark.parametrize("name", STUDIES)
def test_the_command_has_an_option_for_each_field_and_says_what_it_does(name: str) -> None:
    said = " ".join(CliRunner().invoke(cli.app, ["benchmark", name, "--help"]).output.split())
    assert STUDIES[name] in said
    assert f"Example: ldpflow benchmark {name}" in said
    for field, option in options(kind_of(name)).items():
        assert (option.flag or field) in said
    assert ("--again" in said) == bool(kind_of(name).stands)


@pytest.mark.parametrize("name", NAMES)
def test_a_study_of_which_nothing_has_landed_is_reported_as_not_measured(
    name: str, created: Path, tmp_path: Path
) -> None:
    asked = kind_of(name)()
    found = asked.report(created)
    assert not asked.lines(found)
    assert all(verdict.reached is None for verdict in found.verdicts)
    assert not asked.draw(created, tmp_path / "figures")


@pytest.mark.parametrize("name", NAMES)
def test_the_tables_texts_are_well_formed(name: str) -> None:
    for heading, text in kind_of(name).table.items():
        assert heading.strip()
        assert [field for _, field, _, _ in Formatter().parse(text) if field], heading


def test_a_text_of_which_a_value_is_missing_is_empty_and_an_unknown_value_is_an_error() -> None:
    assert study._text("{low:.1f} to {high:.1f}", {"low": 1.0, "high": 2.0}) == "1.0 to 2.0"
    assert study._text("{low:.1f} to {high:.1f}", {"low": float("nan"), "high": 2.0}) == ""
    with pytest.raises(KeyError):
        study._text("{lo}", {"low": 1.0})
