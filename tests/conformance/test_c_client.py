"""The client in C, made from the specification: built by the command of its page, it passes the cases of its mechanisms."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from dpcore import cli
from dpcore.conformance import all_cases, cases_of
from dpcore.wire import read_report

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "data/examples/README.md").read_text("utf-8")
MECHANISMS = ("randomized_response", "unary_encoding", "dyadic_wave")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, built as the page says, with its warnings as errors."""
    target = tmp_path_factory.mktemp("c") / "client"
    [command] = re.findall(r"^cc .*$", PAGE, re.MULTILINE)
    words = [str(target) if word == "client" else word for word in shlex.split(command)]
    subprocess.run([*words, "-Werror"], cwd=ROOT, check=True)
    return target


def test_it_passes_the_cases_of_its_mechanisms(client: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = [word for name in MECHANISMS for word in ("--mechanism", name)]
    with pytest.raises(SystemExit):
        cli.main(["conformance", "--timeout", "60", *chosen, str(client)])
    cases = len(list(all_cases(set(MECHANISMS))))
    assert capsys.readouterr().out.splitlines()[-1] == f"{cases} cases, 0 differ from the expected answer"


def test_it_refuses_schemes_of_other_mechanisms(client: Path) -> None:
    case = cases_of("together")[0]
    printed = subprocess.run(
        [client], input=json.dumps(case.question) + "\n", capture_output=True, text=True, check=True
    )
    assert printed.stdout == '{"refused":"scheme"}\n'


def test_its_own_randomness_makes_reports_that_a_collector_accepts(client: Path) -> None:
    """Of 400 reports of two coins three in four are true, within 9 standard deviations, which are 78."""
    case = cases_of("randomized_response")[0]
    line = json.dumps(case.question) + "\n"
    printed = subprocess.run([client, "--secure"], input=400 * line, capture_output=True, text=True, check=True)
    reports = [read_report(content.encode(), case.scheme) for content in printed.stdout.splitlines()]
    assert len({report.id for report in reports}) == 400
    true = case.scheme.encode(case.record)["coin"][0]
    assert 222 < sum(report.answers["coin"] == (0, (true,)) for report in reports) < 378
