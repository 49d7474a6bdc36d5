"""A question about a text on the consent page: its field, what it refuses, and a report that a collector counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dpcore.protocol.scheme import Scheme
from tests.browser import chromium
from tests.browser.test_consent_page import FITS, READY, assert_counted_once, text, wait
from tests.helpers import collectors

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium.BINARY is None, reason="needs Debian's chromium: apt-get install chromium"),
]
ASKED = """
name = "medicines"
clients = 1000
[attributes.medicine]
type = "text"
title = "Which medicine do you take?"
alphabet = "abcdefghijklmnopqrstuvwxyz -"
max_bytes = 12
epsilon = 2
[attributes.place]
type = "text"
max_bytes = 10
missing = "category"
outside = "other"
epsilon = "ln 3"
"""
WRITE = """(() => { const field = document.querySelector("[name=%s]"); field.value = %r;
    field.dispatchEvent(new Event("input", { bubbles: true })); })()"""
HINT = "at most 12 characters out of “abcdefghijklmnopqrstuvwxyz -” and capitals"
PRESS = "document.getElementById('prepare').click()"


@pytest.fixture
def tab(tmp_path: Path) -> Iterator[chromium.Tab]:
    with chromium.tab(tmp_path / "profile") as page:
        yield page


def test_a_text_is_written_and_a_hash_is_sent(tmp_path: Path, tab: chromium.Tab, screenshots: Path) -> None:
    scheme, file, folder = Scheme.from_toml(ASKED), tmp_path / "medicines.toml", tmp_path / "collected"
    file.write_text(ASKED, "utf-8")
    serving = collectors.Serving(folder, file)
    try:
        url = f"http://{collectors.HOST}:{serving.wait()}/survey/medicines/"
        for width in (1000, 390):
            tab.open(url, width)
            tab.evaluate(READY)
            assert text(tab, "trouble") == ""
            assert text(tab, "medicine-gives").startswith(f"Write {HINT}. ")
            assert "Any other text counts as “other”. Leave it empty if you would rather not say." in text(
                tab, "place-gives"
            )
            assert tab.evaluate("document.querySelector('[name=medicine]').spellcheck") is False
            tab.do("Accessibility.enable")
            nodes = tab.do("Accessibility.getFullAXTree")["nodes"]
            found = {(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if "role" in node}
            assert {("textbox", "Which medicine do you take?"), ("textbox", "place")} <= found
            tab.evaluate(PRESS)
            assert text(tab, "medicine-wrong") == f"This question is not answered yet. Please write {HINT}."
            for wrong in ("vitamin b12", "acetylsalicylic acid"):
                tab.evaluate(WRITE % ("medicine", wrong))
                assert text(tab, "medicine-wrong") == f"Please write {HINT}."  # while writing
            tab.screenshot(screenshots / f"texts_{width}_form.png")
            tab.evaluate(PRESS)
            tab.evaluate("new Promise(done => setTimeout(done, 300))")
            assert tab.evaluate("document.getElementById('review').hidden")
            assert tab.evaluate("document.activeElement.name") == "medicine"
            tab.evaluate(WRITE % ("medicine", " Aspirin "))
            tab.evaluate(WRITE % ("place", "a place of many letters"))
            assert text(tab, "medicine-wrong") == text(tab, "place-wrong") == ""
            tab.evaluate(PRESS)
            wait(tab, "review")
            lines = text(tab, "lines").split("\n")
            assert (lines[2], lines[7]) == ("Aspirin", "a place of many letters")
            assert all(
                line.startswith("Bin ") and ", where x is a hash of the text" in line for line in (lines[4], lines[9])
            )
            assert tab.evaluate(FITS)
            tab.screenshot(screenshots / f"texts_{width}_review.png")
        assert_counted_once(tab, serving, folder, scheme)
    finally:
        if serving.process.poll() is None:
            serving.kill()
