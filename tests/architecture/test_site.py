"""`make site`: every link leads somewhere, nothing is fetched, and the search finds what people ask, from a folder."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote_plus

import pytest

from tests.browser import chromium
from tests.programs import site

pytestmark = pytest.mark.slow
ASKED = {  # what a newcomer types -> a page that answers, among the first five
    "how do I give missing answers a category?": "missing_answers",
    "how likely can somebody guess my answer?": "decide_epsilon",
    "how many clients do I need?": "plan_how_many_clients",
    "do two groups differ?": "compare_groups",
    "connect a dashboard": "connect_a_dashboard",
    "how do I restore a backup?": "back_up",
    "rotate a key": "rotate_keys",
    "round has landed": "troubleshooting",
    "what is a digest?": "glossary",
    "what does ChecksFailed mean?": "a_round_is_refused",
    "how do I delete a round?": "publish",
    "run every night": "run_it_every_night",
}
FOUND = "[...document.querySelectorAll('.md-search-result__link')].slice(0, 5).map(link => link.href).join(' ')"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    site.build(place / "site", place / "pages")
    return place / "site"


def test_it_is_built_and_fetches_nothing(built: Path) -> None:
    pages = list(built.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|img|iframe)[^>]* src="https?:', text), page
        assert not re.findall(r'<link[^>]* rel="(?:stylesheet|preconnect)"[^>]* href="https?:', text), page


@pytest.mark.skipif(chromium.BINARY is None, reason="needs Debian's chromium: apt-get install chromium")
def test_questions_are_answered_by_the_search_of_a_folder(built: Path, tmp_path: Path) -> None:
    with chromium.tab(tmp_path / "profile") as tab:
        lost = {}
        for asked, answer in ASKED.items():
            tab.visit(f"file://{built}/index.html?q={quote_plus(asked)}", until="matching documents", seconds=20)
            found = str(tab.evaluate(FOUND))
            if answer not in found:
                lost[asked] = found
        assert not lost


@pytest.mark.skipif(chromium.BINARY is None, reason="needs Debian's chromium: apt-get install chromium")
@pytest.mark.parametrize("width", [400, 1400])
def test_no_page_of_the_guide_is_wider_than_its_window(width: int, built: Path, tmp_path: Path) -> None:
    with chromium.tab(tmp_path / "profile") as tab:
        for page in sorted((built / "data/guide").rglob("*.html")):
            tab.open(page, width)
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, page
