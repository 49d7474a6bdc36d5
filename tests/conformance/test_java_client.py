"""The client in Java, written from the specification alone and built as its page says, passes the cases of its mechanisms."""

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

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "data/examples/README.md").read_text("utf-8")
MECHANISMS = ("randomized_response", "unary_encoding", "dyadic_wave")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("javac") is None, reason="needs a Java compiler")]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that runs it, built as the page says."""
    folder = str(tmp_path_factory.mktemp("java"))
    [command] = re.findall(r"^javac .*$", PAGE, re.MULTILINE)
    subprocess.run([folder if word == "client" else word for word in shlex.split(command)], cwd=ROOT, check=True)
    return ["java", "-cp", folder, "Client"]


def test_it_passes_the_cases_of_its_mechanisms(client: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    chosen = [word for name in MECHANISMS for word in ("--mechanism", name)]
    with pytest.raises(SystemExit):
        cli.main(["conformance", "--timeout", "60", *chosen, *client])
    cases = len(list(all_cases(set(MECHANISMS))))
    assert capsys.readouterr().out.splitlines()[-1] == f"{cases} cases, 0 differ from the expected answer"


def test_it_refuses_schemes_of_other_mechanisms(client: list[str]) -> None:
    case = cases_of("together")[0]
    question = json.dumps(case.question) + "\n"
    printed = subprocess.run(client, input=question, capture_output=True, text=True, check=True)
    assert printed.stdout == '{"refused":"scheme"}\n'
