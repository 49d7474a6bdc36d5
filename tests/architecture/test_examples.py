"""The examples in docstrings say what happens."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = sorted(p for d in ("dpcore", "flows") for p in (ROOT / d).rglob("*.py") if ">>> " in p.read_text("utf-8"))


def test_examples_are_right() -> None:
    assert len(FILES) > 50
    for path in FILES:
        module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
        found = doctest.testmod(module)
        assert found.attempted, path
        assert not found.failed, f"{path}: the differences are printed above"
