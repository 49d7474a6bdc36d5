"""The table of the documents' systems: everything it names is there, and every figure is in it."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from dpcore.laboratory.studies.reproduce import FIGURES

README = (Path(__file__).parents[2] / "dpcore/laboratory/README.md").read_text(encoding="utf-8")
TABLE = README.partition("| document | system | implemented by | figure |")[2].splitlines()[2:]
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in TABLE if line.startswith("|")]


def found(name: str) -> Any:
    """What a dotted name means: a module, and attributes of it."""
    parts = name.split(".")
    for taken in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:taken]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[taken:]:
            thing = getattr(thing, attribute)
        return thing
    raise ModuleNotFoundError(name)


def test_a_row_names_what_there_is() -> None:
    for _, system, implemented, figures in ROWS:
        names, drawn = re.findall(r"`([^`]+)`", implemented), re.findall(r"`([^`]+)`", figures)
        assert names, system
        assert drawn, system
        for name in names:
            assert name.startswith("dpcore."), name
            found(name)
        assert set(drawn) <= set(FIGURES), system


def test_every_document_and_every_figure_is_there() -> None:
    assert len(ROWS) >= 29
    assert {row[0] for row in ROWS} == {"Wasserman, Zhou", "Szabo", "Hu", "Garivier", "Barber, Duchi"}
    assert {name for row in ROWS for name in re.findall(r"`([^`]+)`", row[3])} == set(FIGURES)
    assert len({row[1] for row in ROWS}) == len(ROWS)


def test_a_missing_name_is_found_missing() -> None:
    with pytest.raises(AttributeError):
        found("dpcore.laboratory.central.majority.nothing")
    with pytest.raises(ModuleNotFoundError):
        found("nowhere.at.all")
