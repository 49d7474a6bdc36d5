"""The examples in docstrings say what happens."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(p for d in ("dpcore", "flows") for p in (ROOT / d).rglob("*.py") if ">>> " in p.read_text("utf-8"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_are_right(path: Path) -> None:
    module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    found = doctest.testmod(module)
    assert found.attempted
    assert not found.failed, "what differs is printed above"
