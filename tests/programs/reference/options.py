"""Options of rounds, studies and audits: of commands, of a project's file, and of Prefect's forms."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from annotated_types import Ge, Le
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from dpcore.rounds import project
from dpcore.rounds.settings import Backfill, Cleanup, Collect, Option, Round, Which, options
from ldpflow_flows import settings
from ldpflow_flows.studies import settings as study_settings
from tests.programs.reference import markdown

_VERBS = {"run": (Which, Round), "collect": (Which, Collect), "backfill": (Which, Backfill), "cleanup": (Cleanup,)}
_ROUNDS = """Each setting is declared once, in `dpcore/rounds/settings.py`. It is an option of commands (`--min-clients`) and a
field of the flows' forms in the UI (`min_clients`). Those of `run`, except `round`, `again` and `seed`, are also keys of a
project's `ldpflow.toml`. Paths in a form are on the worker's machine. Environment variables are on
[the page about flows](../../../flows/README.md#variables)."""
_FORMS = "Other fields of the flows' forms. Commands of the same names have options for most of them."
_BASES = (settings.NamedRound, study_settings.StudySettings)  # of which forms are made
_PROJECT = """Keys besides those of rounds, as `ldpflow init` writes them into [`ldpflow.toml`](../../project/ldpflow.toml). The
table `[collector]` has options of [`ldpflow serve`](commands.md#ldpflow-serve); without it `ldpflow up` starts no collector."""
_HEAD = ("setting", "default", "from, to", "what", "of")


def page() -> str:
    """Return the page."""
    told: dict[Option, list[str]] = {}
    for verb, declared in _VERBS.items():
        for option in (option for kind in declared for option in options(kind)):
            told.setdefault(option, []).append(verb)
    known = {option.name for option in told}
    rows = [_row(option, verbs) for option, verbs in told.items()]
    forms = [row for model in _models() for row in _fields(model, known)]
    keys = markdown.table(("key", "such as", "what"), _of_project())
    return markdown.page(
        "Settings",
        _ROUNDS,
        "## Of rounds",
        markdown.table(_HEAD, rows),
        "## Of a project's file",
        _PROJECT,
        keys,
        "## Of flows",
        _FORMS,
        markdown.table(_HEAD, forms),
    )


def _row(option: Option, verbs: list[str]) -> tuple[str, ...]:
    default = (
        "" if option.default is None else str(option.default).lower() if option.plain is bool else str(option.default)
    )
    bounds = "" if option.least is None else f"{option.least:,} to {option.most:,}"
    bounds += " characters" if bounds and option.plain is str else ""
    return f"`{option.name}`", markdown.code(default), bounds, option.words, ", ".join(f"`{verb}`" for verb in verbs)


def _of_project() -> list[tuple[str, str, str]]:
    """Its own keys, of the shipped file: what stands there, and the comment beside it."""
    text = (Path(__file__).parents[3] / "data/project/ldpflow.toml").read_text(encoding="utf-8")
    written = re.findall(r"^(?:# )?(\w+) = (.*?) +# (.*)$", text.partition("[collector]")[0], re.MULTILINE)
    rows = [(f"`{key}`", f"`{value}`", words) for key, value, words in written if key in project._OWN]
    assert {key for key, *_ in written if key in project._OWN} == set(project._OWN) - {"collector"}
    return rows


def _models() -> list[type[BaseModel]]:
    found = []
    for forms in (settings, study_settings):
        for _, model in inspect.getmembers(forms, inspect.isclass):
            if issubclass(model, BaseModel) and model.__module__ == forms.__name__ and model not in _BASES:
                found.append(model)
    return found


def _fields(model: type[BaseModel], known: set[str]) -> list[tuple[str, ...]]:
    rows = []
    for name, field in model.model_fields.items():
        if name in known and (name != "again" or model.__module__ == settings.__name__):
            continue
        least = [each.ge for each in field.metadata if isinstance(each, Ge)]
        most = [each.le for each in field.metadata if isinstance(each, Le)]
        bounds = f"{least[0]:,} to {most[0]:,}" if least and most else ""
        rows.append(
            (
                f"`{name}`",
                _default(field.default),
                bounds,
                field.description or "",
                f"`{model.__name__.removesuffix('Settings').lower()}`",
            )
        )
    return rows


def _default(value: Any) -> str:
    if value is PydanticUndefined:
        return "needed"
    if isinstance(value, list):
        return ", ".join(map(_default, value))
    if isinstance(value, BaseModel):
        return ", ".join(f"{name} {each}" for name, each in value.model_dump().items())
    return "" if value is None else markdown.code(str(value).lower() if isinstance(value, bool) else value)
