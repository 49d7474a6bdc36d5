"""The page of a round in a real browser: fetches nothing, complains of nothing, fits, opens its SQL, prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dpcore.results.pages import publish
from tests.browser import chromium

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium.BINARY is None, reason="needs Debian's chromium: apt-get install chromium"),
]
FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"


@pytest.mark.parametrize("scheme", ["consumer_expenditure", "health_insurance"])
def test_a_page_is_whole_in_a_browser(landed: Path, tmp_path: Path, screenshots: Path, scheme: str) -> None:
    page = tmp_path / "round.html"
    publish(landed, page, round_="2026-11-20", scheme=scheme)
    with chromium.tab(tmp_path / "profile") as tab:
        for width in (1100, 390):
            tab.open(page, width)
            assert tab.evaluate(FITS), width
            assert tab.evaluate("[...document.images].every(image => image.naturalWidth > 0)")
            tab.screenshot(screenshots / f"{scheme}_{width}.png")
            shut = tab.evaluate("document.body.scrollHeight")
            tab.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
            assert tab.evaluate("document.body.scrollHeight") > 1.2 * shut
            assert tab.evaluate(FITS), f"{width}, with the SQL open"
        tab.open(page, 1100)
        printed = tab.pdf()
        (screenshots / f"{scheme}.pdf").write_bytes(printed)
        pages = len(re.findall(rb"/Type\s*/Page\b", printed))
        assert 3 <= pages <= 12, pages
        tab.do("Emulation.setEmulatedMedia", media="print")
        assert tab.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
        assert tab.evaluate("getComputedStyle(document.querySelector('details')).display") == "none"
        assert tab.complaints == []
        fetched = [url for url in tab.requests if not url.startswith("data:")]
        assert set(fetched) == {page.as_uri()}


def test_the_browser_would_tell_of_a_page_that_fetches(tmp_path: Path) -> None:
    """The check above can fail: an image from elsewhere is asked for, and its failure complained of."""
    (tmp_path / "bad.html").write_text("<!doctype html><title>bad</title><img src='http://127.0.0.1:9/x.png'>")
    with chromium.tab(tmp_path / "profile") as tab:
        tab.open(tmp_path / "bad.html", 800)
        assert "http://127.0.0.1:9/x.png" in tab.requests
        assert tab.complaints
