"""Programs that tests hold as text name what there is: no linter reads a string, and what is gone may look like success."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
WHAT_IS_NOT = {"test_texts.py", "test_systems.py"}  # these name, on purpose, what there is not
FILES = sorted(path for path in (ROOT / "tests").rglob("*.py") if path.name not in WHAT_IS_NOT)
FROM = re.compile(r"\bfrom ((?:dpcore|ldpflow_flows)(?:\.\w+)*) import +(?:\(([^)]*)\)|([\w, ]+))")
IMPORT = re.compile(r"(?<!\w)import ((?:dpcore|ldpflow_flows)(?:\.\w+)*)")
DOTTED = re.compile(r"(?:dpcore|ldpflow_flows)(?:\.[a-z_]\w*)+(?:\.\w+)*")


def names_in(source: str) -> set[tuple[str, str]]:
    """(module, name) of what the strings of a program import, or are the dotted name of; '' is the name of a whole module."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            continue
        for module, inside, plain in FROM.findall(node.value):
            for each in filter(None, (part.strip() for part in (inside or plain).split(","))):
                found.add((module, each.split(" as ")[0]))
        found |= {(module, "") for module in IMPORT.findall(node.value)}
        if DOTTED.fullmatch(node.value):
            found.add((node.value, ""))
    return found


@cache
def is_there(module: str, name: str) -> bool:
    """Whether there is such a module with such a name, or such a thing in a module; flows are not asked for their things."""
    place = ROOT.joinpath(*module.replace("ldpflow_flows", "flows").split("."))
    if not (place.is_dir() or place.with_suffix(".py").is_file()):
        outer, _, last = module.rpartition(".")
        return bool(outer) and not name and is_there(outer, last)
    inside = place / name
    if not name or inside.is_dir() or inside.with_suffix(".py").is_file():
        return True
    return module.startswith("ldpflow_flows") or hasattr(import_module(module), name)


def test_texts_name_modules_that_there_are() -> None:
    for path in FILES:
        named = names_in(path.read_text("utf-8"))
        assert {f"{module} {name}".strip() for module, name in named if not is_there(module, name)} == set(), path


def test_a_name_that_is_gone_is_seen() -> None:
    program = (
        "import sys; from dpcore.wire import (read_report, nothing as n)\nimport dpcore.away\nfrom dpcore.gone import x"
    )
    told = f"code, name = {program!r}, 'dpcore.wire.json_report.never'"
    gone = {(module, name) for module, name in names_in(told) if not is_there(module, name)}
    assert gone == {
        ("dpcore.wire", "nothing"),
        ("dpcore.away", ""),
        ("dpcore.gone", "x"),
        ("dpcore.wire.json_report.never", ""),
    }
