"""The npm package: it is small, installs without a network, and passes every case; its examples send reports."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from dpcore import cli
from dpcore.conformance import all_cases
from dpcore.protocol.scheme import Scheme
from tests.browser import chromium
from tests.browser.serving import serving
from tests.helpers.collectors import HOST, collector
from tests.programs.npm import SOURCES, TERSER, build

ROOT = Path(__file__).parents[2]
SURVEY = Scheme.from_toml(
    'name = "commute"\n[attributes.mode]\ntype = "categorical"\ncategories = ["car", "bicycle", "foot"]\nepsilon = 1\n'
    '[attributes.distance]\ntype = "numeric"\nlower = 0\nupper = 100\nepsilon = 1\n'
)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("npm") is None, reason="needs node and npm")]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the package is installed, with the examples."""
    folder = tmp_path_factory.mktemp("npm")
    tarball = build(folder / "made")
    shutil.copytree(SOURCES / "example", folder / "app")
    npm = ["npm", "install", "--offline", "--no-audit", "--no-fund", "--prefix", ".", str(tarball)]
    subprocess.run(npm, cwd=folder / "app", check=True, capture_output=True)
    return folder


def test_it_is_small_and_has_no_dependency(installed: Path) -> None:
    [tarball] = (installed / "made").iterdir()
    package = installed / "app/node_modules/ldpflow-client"
    manifest = json.loads((package / "package.json").read_text("utf-8"))
    assert tarball.stat().st_size <= 60_000
    assert len(gzip.compress((package / "index.mjs").read_bytes(), 9)) <= (18_000 if TERSER.exists() else 26_000)
    assert not [key for key in manifest if "ependencies" in key or key == "scripts"]
    with tarfile.open(tarball) as tar:
        assert sorted(tar.getnames()) == sorted(f"package/{name}" for name in [*manifest["files"], "package.json"])
    assert build(installed / "again").read_bytes() == tarball.read_bytes()


def test_its_types_declare_what_it_exports(installed: Path) -> None:
    package = installed / "app/node_modules/ldpflow-client"
    program = 'console.log(Object.keys(await import("ldpflow-client")).join(" "))'
    found = subprocess.run(
        ["node", "--input-type=module", "-e", program],
        cwd=installed / "app",
        capture_output=True,
        text=True,
        check=True,
    )
    types = (package / "index.d.ts").read_text("utf-8")
    declared = re.findall(r"^export (?:function|class|const) (\w+)", types, re.MULTILINE)
    assert sorted(declared) == sorted(found.stdout.split())


def test_it_passes_every_case(installed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = installed / "app/node_modules/ldpflow-client/node.mjs"
    client = ["node", str(ROOT / "data/examples/node_client.mjs"), str(module)]
    with pytest.raises(SystemExit):
        cli.main(["conformance", "--timeout", "60", *client])
    assert (
        capsys.readouterr().out.splitlines()[-1] == f"{len(list(all_cases()))} cases, 0 differ from the expected answer"
    )


def test_its_example_sends_a_report(installed: Path) -> None:
    with collector(installed / "taken", SURVEY) as sender:
        words = [f"http://{HOST}:{sender.port}", "commute", '{"mode": "car", "distance": 3}']
        for digest, said in ((SURVEY.digest, "201 accepted\n"), ("0" * 64, "")):
            sent = subprocess.run(
                ["node", "send.mjs", *words, digest], cwd=installed / "app", capture_output=True, text=True, check=False
            )
            assert sent.stdout == said, sent.stderr
        assert "SchemeError" in sent.stderr


@pytest.mark.skipif(chromium.BINARY is None, reason="needs Debian's chromium: apt-get install chromium")
def test_its_example_page_sends_a_report_and_no_answer(installed: Path, tmp_path: Path) -> None:
    with (
        serving(installed / "app") as (url, _),
        chromium.tab(tmp_path / "profile") as tab,
        collector(installed / "of_page", SURVEY, origins=(url.rstrip("/"),)) as sender,
    ):
        tab.open(f"{url}page.html?scheme=http://{HOST}:{sender.port}/schemes/commute/", 800)
        tab.evaluate("document.querySelector('button').click()")
        tab.wait("The collector answered: accepted.", 60)
        tab.evaluate("document.querySelector('button').click()")
        tab.wait("The collector answered: already have it.", 60)
    assert tab.complaints == []
    assert not [address for address in tab.requests if "car" in address or "distance" in address]
