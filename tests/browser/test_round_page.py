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
SEEN = "[...document.querySelectorAll('svg.picture')].filter(one => one.getClientRects().length)"
STACKED = """[...document.querySelectorAll('section[id^=attribute] tbody tr:has(.low)')].map(row => {
    const [value, low, high, truth] = ['.value', '.low', '.high', '.truth'].map(name => row.querySelector(name));
    const [top, ...below] = [value, low, high, truth].filter(one => one).map(one => one.getBoundingClientRect());
    return {
        told: row.innerText,
        below: below.every(box => box.top >= top.bottom - 2 && box.width > 0),
        seen: [top, ...below].every(box => box.left >= 0 && box.right <= innerWidth),
    };
})"""
FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"


@pytest.mark.parametrize("scheme", ["consumer_expenditure", "health_insurance"])
def test_a_page_is_whole_in_a_browser(landed: Path, tmp_path: Path, screenshots: Path, scheme: str) -> None:
    page = tmp_path / "round.html"
    publish(landed, page, round_="2026-11-20", scheme=scheme)
    with chromium.tab(tmp_path / "profile") as tab:
        for width in (1100, 390):
            tab.open(page, width)
            assert tab.evaluate(FITS), width
            assert tab.evaluate(f"{SEEN}.every(one => one.getBoundingClientRect().width > 300)")
            assert tab.evaluate(f"{SEEN}.length === document.querySelectorAll('figure').length")
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


@pytest.fixture
def page(landed: Path, tmp_path: Path) -> Path:
    publish(landed, tmp_path / "round.html", round_="2026-11-20", scheme="consumer_expenditure")
    return tmp_path / "round.html"


def test_on_a_narrow_page_interval_and_truth_stand_under_the_estimate(page: Path, tmp_path: Path) -> None:
    with chromium.tab(tmp_path / "profile") as tab:
        for width in (320, 400, 720):
            tab.open(page, width)
            assert tab.evaluate(FITS), width
            rows = tab.evaluate(STACKED)
            assert len(rows) > 30
            assert [row["told"] for row in rows if not (row["below"] and row["seen"])] == [], width
            label = tab.evaluate("getComputedStyle(document.querySelector('td.low'), '::before').content")
            assert "95 % interval" in label or "attr(" in label
        tab.open(page, 1400)
        assert not any(row["below"] for row in tab.evaluate(STACKED))


def test_a_page_is_dark_for_who_prefers_that_and_never_on_paper(page: Path, tmp_path: Path, screenshots: Path) -> None:
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    drawn = f"getComputedStyle({SEEN}[0].querySelector('path')).fill"
    with chromium.tab(tmp_path / "profile") as tab:
        found = {}
        for scheme, media in (("light", "screen"), ("dark", "screen"), ("dark", "print")):
            tab.prefer(scheme, media)
            tab.open(page, 1400)
            found[scheme, media] = tab.evaluate(f"[{paper}, {drawn}]")
            tab.screenshot(screenshots / f"page_{scheme}_{media}.png")
    assert found["light", "screen"] == found["dark", "print"] == ["rgb(255, 255, 255)"] * 2
    assert found["dark", "screen"] == ["rgb(21, 24, 28)"] * 2


@pytest.mark.parametrize("width", [1400, 400])
def test_pointing_at_a_picture_shows_the_row_of_its_table(page: Path, tmp_path: Path, width: int) -> None:
    """Where the curve is at that place: the row's value lies where the pointer is."""
    with chromium.tab(tmp_path / "profile") as tab:
        tab.open(page, width)
        for number, axis, expected in ((1, "y", "black"), (3, "x", "income (USD) 125,000")):
            box = tab.evaluate(
                f"({SEEN}[{number}].scrollIntoView(), {SEEN}[{number}].getBoundingClientRect().toJSON())"
            )
            places = f"{SEEN}[{number}].parentNode.dataset.at.split(' ').map(Number)"
            row = 1 if axis == "y" else tab.evaluate(f"{places}.length") // 2
            place = tab.evaluate(f"{places}[{row}]")
            across, down = (place, 0.5) if axis == "x" else (0.5, place)
            at = {"x": box["x"] + across * box["width"], "y": box["y"] + down * box["height"]}
            tab.do("Input.dispatchMouseEvent", type="mouseMoved", **at)
            tip = f"{SEEN}[{number}].closest('.frame').querySelector('.tip')"
            told = tab.evaluate(f"{tip}.innerText").splitlines()
            assert told[0].startswith(expected), told
            assert any(re.search(r"\d to \d", line) for line in told), told
            assert any(line.startswith("true value") for line in told), told
            inside = tab.evaluate(f"(box => box.left >= 0 && box.right <= innerWidth)({tip}.getBoundingClientRect())")
            assert inside
            tab.do("Input.dispatchKeyEvent", type="keyDown", key="Escape")
            assert tab.evaluate(f"{tip}.hidden")
        assert tab.complaints == []


def test_without_javascript_nothing_is_lost(page: Path, tmp_path: Path, screenshots: Path) -> None:
    with chromium.tab(tmp_path / "profile") as tab:
        tab.open(page, 400)
        whole = tab.text()
        assert tab.evaluate("document.querySelectorAll('.tip').length") > 0
        tab.do("Emulation.setScriptExecutionDisabled", value=True)
        tab.open(page, 400)
        tab.screenshot(screenshots / "page_without_javascript.png")
        assert tab.text() == whole
        assert tab.evaluate("document.querySelectorAll('.tip').length") == 0
        summary = tab.evaluate(
            "(one => (one.scrollIntoView(), one.getBoundingClientRect().toJSON()))"
            "([...document.querySelectorAll('summary')].find(one => one.textContent === 'Show as table'))"
        )
        at = {"x": summary["x"] + 5, "y": summary["y"] + 5, "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            tab.do("Input.dispatchMouseEvent", type=kind, **at)
        assert "95 % band" in tab.evaluate("document.querySelector('details[open] table').textContent")


def test_the_browser_would_tell_of_a_page_that_fetches(tmp_path: Path) -> None:
    """The check above can fail: an image from elsewhere is asked for, and its failure complained of."""
    (tmp_path / "bad.html").write_text("<!doctype html><title>bad</title><img src='http://127.0.0.1:9/x.png'>")
    with chromium.tab(tmp_path / "profile") as tab:
        tab.open(tmp_path / "bad.html", 800)
        assert "http://127.0.0.1:9/x.png" in tab.requests
        assert tab.complaints
