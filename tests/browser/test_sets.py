"""A set of options on the consent page: checkboxes, as many as may be chosen, and a report that a collector counts."""

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
name = "travel"
clients = 1000
[attributes.travel]
type = "set"
title = "How do you travel?"
categories = ["bus", "car", "bike", "train", "tram", "walk", "taxi", "ferry", "other"]
titles = { bus = "bus or coach" }
at_most = 3
epsilon = 2
[attributes.care]
type = "set"
categories = ["child", "parent", "friend"]
columns = ["has_child", "has_parent", "has_friend"]
epsilon = "ln 3"
size = 2
"""
CHECK = "for (const value of %s) document.querySelector(`[name=travel][value=${value}]`).click()"


@pytest.fixture
def tab(tmp_path: Path) -> Iterator[chromium.Tab]:
    with chromium.tab(tmp_path / "profile") as page:
        yield page


def test_several_options_may_be_chosen_and_no_more_than_the_scheme_allows(
    tmp_path: Path, tab: chromium.Tab, screenshots: Path
) -> None:
    scheme, file, folder = Scheme.from_toml(ASKED), tmp_path / "travel.toml", tmp_path / "collected"
    file.write_text(ASKED, "utf-8")
    serving = collectors.Serving(folder, file)
    try:
        url = f"http://{collectors.HOST}:{serving.wait()}/survey/travel/"
        for width in (1000, 390):
            tab.open(url, width)
            tab.evaluate(READY)
            assert text(tab, "trouble") == ""
            assert text(tab, "travel-gives").startswith("Choose all that apply, at most 3, or none.")
            assert text(tab, "care-gives").startswith("Choose all that apply, or none.")
            tab.do("Accessibility.enable")
            nodes = tab.do("Accessibility.getFullAXTree")["nodes"]
            found = {(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if "role" in node}
            assert {("group", "How do you travel?"), ("checkbox", "bus or coach"), ("checkbox", "ferry")} <= found
            tab.evaluate(CHECK % ["bus", "car", "bike", "tram"])
            assert text(tab, "travel-wrong") == "Please choose at most 3."  # while choosing
            tab.screenshot(screenshots / f"sets_{width}_form.png")
            tab.evaluate("document.getElementById('prepare').click()")
            tab.evaluate("new Promise(done => setTimeout(done, 300))")
            assert tab.evaluate("document.getElementById('review').hidden")
            assert tab.evaluate("[document.activeElement.name, document.activeElement.ariaInvalid]") == [
                "travel",
                "true",
            ]
            tab.evaluate(CHECK % ["tram"])
            assert text(tab, "travel-wrong") == ""
            tab.evaluate("document.getElementById('prepare').click()")
            wait(tab, "review")
            lines = text(tab, "lines").split("\n")
            assert (lines[2], lines[7]) == ("“bus or coach”, “car”, “bike”", "none")
            assert lines[4].startswith("Perhaps ")
            assert lines[9].startswith("Perhaps one or more of ")
            assert tab.evaluate(FITS)
            tab.screenshot(screenshots / f"sets_{width}_review.png")
        assert_counted_once(tab, serving, folder, scheme)
    finally:
        if serving.process.poll() is None:
            serving.kill()
