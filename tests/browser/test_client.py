"""The browser's client in a real browser: the frozen vectors, and bugs planted in it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dpcore import wire
from dpcore.collector.browser_client import ENTRY, joined
from dpcore.protocol.scheme import Scheme
from tests.browser import chromium
from tests.browser.serving import serving
from tests.helpers.bundles import KEPT, REFUSED, wrongly_judged
from tests.helpers.client_cases import RECORDS
from tests.helpers.provenance import differ, prepare

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium.BINARY is None, reason="needs Debian's chromium: apt-get install chromium"),
]
HERE = Path(__file__).parent
NAMES = ("everything", "one_of_three", "labelled", "options", "texts")
UNCHANGED = "const TAIL = 45;"
PLANTED = {  # a line of the client -> the same with a bug
    "other >= truth ? other + 1 : other": "other > truth ? other + 1 : other",
    "less[place] & ~mask": "less[place]",
    "t < k - 1; t += 1": "t < k - 2; t += 1",
    "subset.has(drawn) ? last : drawn": "drawn",
    "padded.length < most": "padded.length < 0",
    "firstOf(members.length, options)": "0",
    "parity(cell & column) ^ out": "parity(cell & column) | out",
    "1 + one(source, prime - 1)": "one(source, prime)",
    "(phase - half + cells) % cells : phase": "phase : phase",
    "t * successes[i]": "t + successes[i]",
    "drawn >= end": "drawn > end - 200",
    "drawn[i] >= limit": "drawn[i] > WORD",
    UNCHANGED: "const TAIL = 45.0;",
    "!equal(utf8(spell(report, payloads)), bytes)": "false",
    "if (levels?.has(name) && answers": "if (false && answers",
    "String(sensitivity) !== String(stated)": "sensitivity < stated",
    "!isKept(mechanism.kept, promise)": "false",
    "draws !== DRAWS": "draws === null",
}


@pytest.fixture
def folder(tmp_path: Path, root: Path) -> Path:
    """What a browser needs: the client, the vectors, and the bundles of their schemes."""
    site = tmp_path / "site"
    shutil.copytree(root / "tests" / "vectors", site / "vectors")
    shutil.copy(HERE / "vectors.mjs", site)
    (site / ENTRY).write_text(joined(root / "dpcore/collector/static"), "utf-8")
    (site / "index.html").write_text("<!doctype html><title>vectors</title><link rel='icon' href='data:,'>")
    for name in NAMES:
        vectors = json.loads((site / "vectors" / f"{name}.json").read_text("utf-8"))
        wire.write_bundle(site / name, Scheme.from_toml(vectors["scheme"]))
    return site


def wrong(tab: chromium.Tab, url: str, name: str) -> list[str]:
    tab.open(url, 800)
    return list(tab.evaluate(f"import('./vectors.mjs').then(module => module.tryVectors('{name}'))"))


def test_the_browser_gives_the_same_bytes_and_refuses_the_same(folder: Path, tmp_path: Path) -> None:
    with serving(folder) as (url, _), chromium.tab(tmp_path / "profile") as tab:
        for name in NAMES:
            assert wrong(tab, url, name) == []
        assert tab.complaints == []
        assert all(request.startswith((url, "data:")) for request in tab.requests)


def test_the_browser_refuses_the_frozen_bundles_for_their_reasons(folder: Path, tmp_path: Path) -> None:
    shutil.copy(HERE / "bundles.mjs", folder)
    bundles = {bundle.name: bundle.files() for bundle in (*KEPT, *REFUSED)}
    (folder / "bundles.json").write_text(json.dumps(bundles), "utf-8")
    opened = "Promise.all([import('./bundles.mjs'), fetch('bundles.json').then(answer => answer.json())])"
    with serving(folder) as (url, _), chromium.tab(tmp_path / "profile") as tab:
        tab.open(url, 800)
        assert wrongly_judged(tab.evaluate(f"{opened}.then(([module, bundles]) => module.openAll(bundles))")) == {}


def test_every_word_that_decides_a_report_is_the_browsers(folder: Path, tmp_path: Path, root: Path) -> None:
    shutil.copy(HERE / "provenance.mjs", folder)
    expected, record = prepare(folder, root), json.dumps(RECORDS["everything"][0])
    with serving(folder) as (url, _), chromium.tab(tmp_path / "profile") as tab:
        tab.open(url, 800)
        assert tab.evaluate("import('./provenance.mjs').then(module => module.drawn())") == expected
        assert differ(tab.evaluate(f"import('./provenance.mjs').then(module => module.twice('everything', {record}))"))


def test_a_planted_bug_fails_them(folder: Path, tmp_path: Path) -> None:
    client = (folder / ENTRY).read_text("utf-8")
    caught = {}
    with serving(folder) as (url, _), chromium.tab(tmp_path / "profile") as tab:
        tab.do("Network.setCacheDisabled", cacheDisabled=True)
        for line, bug in PLANTED.items():
            assert line in client, line
            (folder / ENTRY).write_text(client.replace(line, bug), "utf-8")
            try:
                caught[line] = any(wrong(tab, url, name) for name in NAMES)
            except AssertionError:  # the client threw
                caught[line] = True
    assert [line for line, found in caught.items() if not found] == [UNCHANGED]


def test_a_scheme_of_odd_words_is_read(folder: Path, tmp_path: Path) -> None:
    """A tab stands for itself in TOML and not in JSON; every object has a constructor."""
    text = (
        'name = "odd"\ndescription = "a \\"tab\\": \\t."\n[attributes.constructor]\ntype = "categorical"\nepsilon = 1\n'
    )
    scheme = Scheme.from_toml(text + 'categories = ["\\\\", "\\u00fc"]\n')
    wire.write_bundle(folder / "odd", scheme)
    opened = f"import('./ldpflow.mjs').then(m => m.fetchBundle('odd/', '{scheme.digest}'))"
    opened += ".then(s => [s.description, ...s.attributes.get('constructor').categories], error => error.message)"
    with serving(folder) as (url, _), chromium.tab(tmp_path / "profile") as tab:
        tab.open(url, 800)
        assert tab.evaluate(opened) == ['a "tab": \t.', "\\", "\u00fc"]


def test_noise_that_the_browser_cannot_draw_is_refused(folder: Path, tmp_path: Path) -> None:
    text = 'name = "relaxed"\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = 1\nfinest_level = 3\n'
    text += 'mechanism = "wavelet_laplace"\nnoise = "discrete_gaussian"\ndelta = 1e-6\n'
    scheme = Scheme.from_toml(text)
    wire.write_bundle(folder / "relaxed", scheme)
    opened = f"import('./ldpflow.mjs').then(m => m.fetchBundle('relaxed/', '{scheme.digest}'))"
    opened += ".then(() => 'opened', error => error.message)"
    with serving(folder) as (url, _), chromium.tab(tmp_path / "profile") as tab:
        tab.open(url, 800)
        assert "draws Laplace noise only" in tab.evaluate(opened)
