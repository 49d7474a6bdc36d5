"""The page of a round under axe-core, which npm installs: no violation of WCAG 2.2 AA in any of its forms."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from dpcore.results.pages import publish
from tests.browser import chromium
from tests.browser.test_consent_page import READY
from tests.helpers import collectors

pytestmark = [
    pytest.mark.nightly("every case"),
    pytest.mark.skipif(chromium.BINARY is None, reason="needs Debian's chromium: apt-get install chromium"),
    pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm: apt-get install npm"),
]
VERSION = "4.14.1"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The checker's script."""
    folder = tmp_path_factory.mktemp("axe")
    command = [
        "npm",
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--prefix",
        folder,
        f"axe-core@{VERSION}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        pytest.skip("npm found no registry that has axe-core")
    return (folder / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")


def violations(tab: chromium.Tab, axe: str) -> list[str]:
    tab.evaluate(f"{axe};0")
    tab.evaluate(f"globalThis.asked = {json.dumps({'runOnly': RULES})}")
    told = "found.violations.flatMap(one => one.nodes.map(node => `${one.id} ${node.html}`))"
    return list(tab.evaluate(f"axe.run(document, asked).then(found => {told})"))


@pytest.mark.parametrize("scheme", ["consumer_expenditure", "health_insurance"])
def test_axe_finds_nothing(landed: Path, tmp_path: Path, axe: str, scheme: str) -> None:
    page = tmp_path / "round.html"
    publish(landed, page, round_="2026-11-20", scheme=scheme)
    with chromium.tab(tmp_path / "profile") as tab:
        for preferred in ("light", "dark"):
            tab.prefer(preferred)
            for width in (1400, 400):
                tab.open(page, width)
                assert violations(tab, axe) == [], (preferred, width)
                tab.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
                assert violations(tab, axe) == [], (preferred, width, "open")


@pytest.mark.parametrize("language", ["de", "es"])
def test_axe_finds_nothing_in_other_languages(landed: Path, tmp_path: Path, axe: str, language: str) -> None:
    page = tmp_path / "round.html"
    publish(landed, page, round_="2026-11-20", scheme="consumer_expenditure", language=language)
    with chromium.tab(tmp_path / "profile") as tab:
        tab.open(page, 400)
        assert violations(tab, axe) == []


def test_axe_finds_nothing_on_the_consent_page(root: Path, tmp_path: Path, axe: str) -> None:
    file = root / "data/schemes/consumer_expenditure.toml"
    serving = collectors.Serving(tmp_path / "collected", file)
    try:
        page = f"http://{collectors.HOST}:{serving.wait()}/survey/consumer_expenditure/"
        with chromium.tab(tmp_path / "profile") as tab:
            tab.do("Page.setBypassCSP", enabled=True)
            for width in (1400, 400):
                tab.open(page, width)
                tab.evaluate(READY)
                for language in ("en", "de", "es"):
                    tab.evaluate(f"document.querySelector('#languages [lang={language}]').click()")
                    tab.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
                    assert violations(tab, axe) == [], (language, width)
    finally:
        serving.stop()


def test_axe_would_find_what_is_wrong(tmp_path: Path, axe: str) -> None:
    """The check above can fail: a page without a language, a picture without words, and grey on white."""
    (tmp_path / "bad.html").write_text(
        "<!doctype html><title>bad</title><svg role=img></svg><p style='color: #999'>grey</p>"
    )
    with chromium.tab(tmp_path / "profile") as tab:
        tab.open(tmp_path / "bad.html", 800)
        assert {told.split()[0] for told in violations(tab, axe)} == {"html-has-lang", "svg-img-alt", "color-contrast"}
