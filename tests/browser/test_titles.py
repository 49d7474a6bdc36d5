"""Titles on the consent page in a real browser: as the scheme states them, and names as written without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpcore import wire
from dpcore.protocol.scheme import Scheme
from tests.browser import chromium
from tests.browser.test_consent_page import FILL, READY, text, wait
from tests.helpers import collectors

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium.BINARY is None, reason="needs Debian's chromium: apt-get install chromium"),
]
SCHEME = """name = "visit"
[attributes.nps]
type = "categorical"
categories = ["0_6", "7_8", "9_10"]
titles = { 0_6 = "0 to 6, unlikely", 9_10 = "9 or 10, likely" }
epsilon = 1
[attributes.wage]
title = "Weekly wage"
type = "numeric"
lower = 0
upper = 2000
unit = "USD"
epsilon = 1
[attributes.member]
type = "boolean"
titles = { true = "Yes, at least once" }
epsilon = 1
[labels.area]
title = "Part of town"
categories = ["n", "s"]
titles = { n = "North" }
[labels.app]
categories = ["one", "two"]
"""


def test_the_consent_page_shows_titles_and_names_as_written(tmp_path: Path) -> None:
    file = tmp_path / "visit.toml"
    file.write_text(SCHEME, "utf-8")
    serving = collectors.Serving(tmp_path / "collected", file)
    try:
        with chromium.tab(tmp_path / "profile") as tab:
            tab.open(f"http://{collectors.HOST}:{serving.wait()}/survey/visit/", 1000)
            tab.evaluate(READY)
            assert text(tab, "trouble") == ""
            assert text(tab, "nps").split("\n")[0] == "nps"
            for name, shown in (("nps", ["0 to 6, unlikely", "7_8", "9 or 10, likely"]), ("area", ["North", "s"])):
                labels = (
                    f"[...document.querySelectorAll('#{name} .choices label')].map(label => label.innerText.trim())"
                )
                assert tab.evaluate(labels) == shown
            assert tab.evaluate("document.querySelector('#wage label').innerText") == "Weekly wage"
            assert text(tab, "clear-title") == "Not hidden: Part of town and app"
            assert text(tab, "clear-risk").startswith("The receiver learns from Part of town and app which group")
            assert "Part of town, app" in text(tab, "odds-sentence")
            heads = tab.evaluate(
                "[...document.querySelectorAll('#odds-numbers tbody th')].map(head => head.textContent)"
            )
            assert heads[:3] == ["nps", "Weekly wage", "member"]
            answers = {"nps": "9_10", "wage": "300", "member": "true", "area": "n", "app": "two"}
            tab.evaluate(FILL % json.dumps(answers))
            tab.evaluate("document.getElementById('prepare').click()")
            wait(tab, "review")
            shown = text(tab, "lines").split("\n")
            assert shown[shown.index("nps") + 2] == "9 or 10, likely"
            assert shown[shown.index("member") + 2] == "Yes, at least once"
            assert shown[shown.index("Part of town") :][-1] == "“two”"
            assert "“North”" in shown
            tab.evaluate("document.querySelector('#review details').open = true")
            report = wire.read_report(text(tab, "bytes").encode(), Scheme.from_toml(SCHEME))
            assert set(report.answers) == {*answers}
            page = str(tab.evaluate("document.body.innerText"))
            assert not {"Nps", "Member", "App"} & {*page.replace(":", " ").split()}
            assert tab.complaints == []
    finally:
        serving.stop()
