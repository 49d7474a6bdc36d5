"""The generated pages are what the code says now."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tests.programs.reference.markdown import MADE
from tests.programs.reference.pages import pages

made = cache(pages)


def test_a_page_is_what_it_is_made_of(root: Path) -> None:
    for name, text in made().items():
        assert (root / name).read_text(encoding="utf-8") == text, f"{name} has changed: make reference"


def test_every_page_of_the_reference_is_made_or_run(root: Path) -> None:
    """Those that are not made are the index, and what tests run: the questions and the specification of clients."""
    there = {path.relative_to(root).as_posix() for path in (root / "data/guide/reference").glob("*.md")}
    written = {
        f"data/guide/reference/{name}.md"
        for name in (
            "README",
            "client_specification",
            "client_specification_texts",
            "questions",
            "questions_of_pairs",
            "questions_of_rounds",
        )
    }
    assert there - set(made()) == written
    everywhere = (path for folder in ("data", "dpcore", "flows", "tests") for path in (root / folder).rglob("*.md"))
    marked = {path.relative_to(root).as_posix() for path in everywhere if MADE in path.read_text(encoding="utf-8")}
    assert marked <= set(made()), "what says that it is made of the code is made of it"
