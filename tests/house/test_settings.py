"""The README's table of settings has every variable that the code reads or sets, and every field of the flows' forms."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from flows import settings, study_settings, up

pytestmark = pytest.mark.flows

VARIABLE = re.compile(r"\b(?:LDPFLOW|PREFECT)_[A-Z][A-Z_]+\b")
MODELS = [
    model
    for forms in (settings, study_settings)
    for _, model in inspect.getmembers(forms, inspect.isclass)
    if issubclass(model, BaseModel) and model.__module__ == forms.__name__
]


@pytest.fixture(scope="module")
def table(root: Path) -> dict[str, str]:
    """Setting -> its row."""
    text = (root / "README.md").read_text(encoding="utf-8")
    rows = re.search(r"\| setting \| default \| example \| what \|\n\|[-|]+\|\n((?:\|.*\n)+)", text)
    assert rows is not None
    return {name: row for row in rows[1].splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def test_every_variable_is_in_the_table(root: Path, table: dict[str, str]) -> None:
    used = {folder: variables(root / folder) for folder in ("dpcore", "flows", "tests")}
    ours = {name for name in used["tests"] if name.startswith("LDPFLOW_")}
    assert sorted((used["dpcore"] | used["flows"] | ours) - set(table)) == []
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
def test_every_field_is_in_the_table_with_its_default(model: type[BaseModel], table: dict[str, str]) -> None:
    for name, field in model.model_fields.items():
        assert name in table, name
        if isinstance(field.default, (bool, Path)) and field.default != Path() and name not in ("figures", "warehouse"):
            assert f"`{str(field.default).lower()}`" in table[name], name


def test_nothing_is_in_the_table_that_cannot_be_set(table: dict[str, str]) -> None:
    fields = {name for model in MODELS for name in model.model_fields}
    assert sorted(name for name in table if name.islower() and name not in fields) == []
