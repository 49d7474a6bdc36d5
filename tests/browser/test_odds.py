"""What people are told of odds, in a real browser: on the consent page of a collector, in three languages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from dpcore.audit import audit_scheme
from dpcore.protocol.scheme import Scheme
from dpcore.results.pages import publish
from tests.browser import chromium
from tests.browser.test_consent_page import FITS, READY, text
from tests.helpers import collectors

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium.BINARY is None, reason="needs Debian's chromium: apt-get install chromium"),
]
REPEATED = re.compile(r"(\d+(?:[.,]\d+)?) (?:times|Mal|veces) (?:out of|of|von|de) 100")
CELLS_FIT = """[...document.querySelectorAll('.odds td, .odds th')].every(cell => cell.closest('thead')
    || cell.getBoundingClientRect().right <= document.querySelector('.odds').getBoundingClientRect().right + 1)"""
DOTS = "[...document.querySelectorAll('#odds-picture circle')].map(dot => dot.getAttribute('class'))"


@pytest.fixture
def survey(root: Path, tmp_path: Path) -> Iterator[str]:
    file = root / "data/schemes/consumer_expenditure.toml"
    wording = tmp_path / "wording.json"
    wording.write_text(json.dumps({"consumer_expenditure": {"language": "de", "rounds": 4}}), "utf-8")
    serving = collectors.Serving(tmp_path / "collected", file, "--wording", str(wording))
    try:
        yield f"http://{collectors.HOST}:{serving.wait()}/survey/consumer_expenditure/"
    finally:
        serving.stop()


def test_the_consent_page_says_what_is_enumerated(survey: str, root: Path, tmp_path: Path, screenshots: Path) -> None:
    audit = audit_scheme(Scheme.from_toml(root / "data/schemes/consumer_expenditure.toml"))
    with chromium.tab(tmp_path / "profile") as tab:
        for width in (1400, 400):
            tab.open(survey, width)
            tab.evaluate(READY)
            assert tab.evaluate("document.getElementById('odds').lang") == "de"  # what the survey chose
            for language, name in (("de", "Deutsch"), ("es", "Español"), ("en", "English")):
                tab.evaluate(f"document.querySelector('#languages [lang={language}]').click()")
                assert tab.evaluate("document.activeElement.textContent") == name
                assert tab.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
                for attribute in audit.attributes:
                    ratio = attribute.finding.loss.ratio
                    if attribute.finding.loss.rational == 0 and ratio is not None:
                        (said,) = REPEATED.findall(text(tab, f"{attribute.name}-chance"))
                        assert int(said) == -(-100 * ratio / (1 + ratio) // 1)
                        cells = tab.evaluate(
                            "[...document.querySelectorAll('#odds-numbers td')].map(cell => cell.textContent)"
                        )
                        assert any(cell.startswith(f"{ratio} ") or cell == str(ratio) for cell in cells)
                        assert any(cell.startswith(str(ratio / (1 + ratio))) for cell in cells)
                whole, rounds = REPEATED.findall(text(tab, "odds-sentence"))
                assert (Fraction(whole.replace(",", ".")), rounds) == (Fraction("99.4"), "100")  # ln 3 + 4, four times
                dots = tab.evaluate(DOTS)
                assert (dots.count("guess"), dots.count("more"), dots.count("none")) == (50, 50, 0)
                assert tab.evaluate(FITS)
                tab.screenshot(screenshots / f"odds_{language}_{width}.png")
                tab.evaluate("document.querySelectorAll('#odds details').forEach(details => details.open = true)")
                assert tab.evaluate(FITS)
                tab.screenshot(screenshots / f"odds_{language}_{width}_open.png")
                tab.evaluate("document.querySelectorAll('#odds details').forEach(details => details.open = false)")


@pytest.mark.parametrize("language", ["en", "de", "es"])
def test_a_rounds_page_says_what_is_enumerated(
    landed: Path, root: Path, tmp_path: Path, screenshots: Path, language: str
) -> None:
    audit = audit_scheme(Scheme.from_toml(root / "data/schemes/consumer_expenditure.toml"))
    page = tmp_path / "round.html"
    publish(landed, page, round_="2026-11-20", scheme="consumer_expenditure", language=language)
    with chromium.tab(tmp_path / "profile") as tab:
        for width in (1400, 400):
            tab.open(page, width)
            assert tab.evaluate(FITS)
            assert tab.evaluate(CELLS_FIT)
            assert tab.evaluate("document.querySelector('.odds').lang") == language
            said = REPEATED.findall(str(tab.evaluate("document.querySelector('.odds .said').innerText")))
            assert said[0].replace(",", ".") == "99.4"
            cells = tab.evaluate("[...document.querySelectorAll('.odds td')].map(cell => cell.textContent)")
            ratios = [
                attribute.finding.loss.ratio for attribute in audit.attributes if not attribute.finding.loss.rational
            ]
            assert all(any(cell.split(" ")[0] == str(ratio) for cell in cells) for ratio in ratios)
            dots = tab.evaluate("document.querySelectorAll('.odds circle.more').length")
            assert dots == 50
            tab.evaluate("document.querySelector('.odds').scrollIntoView()")
            tab.screenshot(screenshots / f"round_odds_{language}_{width}.png", whole=False)
