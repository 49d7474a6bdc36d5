"""The tutorial's pages are its notebooks, with what came out when they were run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.browser import chromium
from tests.helpers.scratch import scratch, shape

ROOT = Path(__file__).parents[2]
FOLDER = Path("data/guide/tutorial")
NOTEBOOKS = sorted((ROOT / FOLDER).glob("*.py"))
_SHOWN = re.compile(r"^```(?:sh|python|toml)\n.*?^```$", re.MULTILINE | re.DOTALL)


def page(name: str) -> str:
    return (ROOT / FOLDER / f"{name}.md").read_text(encoding="utf-8")


def test_a_page_shows_the_cells_of_its_notebook() -> None:
    import jupytext  # it takes a quarter of a second to load

    from tests.programs.tutorial import fenced, written

    for path in NOTEBOOKS:
        cells = [
            cell for cell in jupytext.read(path).cells if not {"hidden", "picture"} & set(cell.metadata.get("tags", ()))
        ]
        shown = [
            each
            for cell in cells
            for each in _SHOWN.findall(cell.source if cell.cell_type == "markdown" else fenced(written(cell)))
        ]
        assert _SHOWN.findall(page(path.stem)) == shown, f"{path.stem}: run make tutorial"
        words = [cell.source for cell in cells if cell.cell_type == "markdown"]
        assert [each for each in words if each not in page(path.stem)] == [], f"{path.stem}: run make tutorial"


def test_pictures_of_a_page_are_there_and_say_what_they_show() -> None:
    for name in (path.stem for path in NOTEBOOKS):
        pictures = re.findall(r"!\[(.*?)\]\((.*?)\)", page(name))
        assert all(words and (ROOT / FOLDER / file).is_file() for words, file in pictures), name
        assert {file for _, file in pictures} == {file.name for file in (ROOT / FOLDER).glob(f"{name}_*.png")}, name


@pytest.mark.nightly("every case")
@pytest.mark.skipif(chromium.BINARY is None, reason="needs Debian's chromium: apt-get install chromium")
def test_what_comes_out_is_what_the_pages_say() -> None:
    """Noise is drawn anew, so that digits differ; rows, words and verdicts do not."""
    from tests.programs.tutorial import pages

    with scratch() as folder:
        for name, text, _ in pages(folder):
            assert shape(text) == shape(page(name)), f"{name}: run make tutorial, and look at what has changed"


def test_another_word_or_row_is_seen() -> None:
    one = "```text\n mean   10.5 points   9.4 to 11.6   yes\n```"
    assert shape(one) == shape(one.replace("10.5", "9.25").replace("yes", "no").replace("   ", " "))
    assert shape(one) != shape(one.replace("mean", "median"))
    assert shape(one) != shape(one.replace("\n```", "\n another row\n```"))
