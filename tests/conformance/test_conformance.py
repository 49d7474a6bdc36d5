"""The conformance kit: its cases are the frozen ones, our clients pass them, and a planted fault is named by its case."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from dpcore import cli
from dpcore.collector.browser_client import ENTRY, joined
from dpcore.conformance import all_cases, cases_of, difference
from dpcore.conformance.cases import CHANGES, NO_SCHEME, recorded
from dpcore.conformance.schemes import OF_SEVERAL, SCHEMES
from dpcore.mechanisms.registry import BY_KIND
from dpcore.protocol import tokens
from dpcore.protocol.scheme import Scheme

ROOT = Path(__file__).parents[2]
PYTHON = [sys.executable, str(ROOT / "data/examples/python_client.py")]
FAULTY = [sys.executable, "-m", "tests.helpers.faulty_client"]
FAST = ["--mechanism", "randomized_response", "--mechanism", "dyadic_wave"]
CASES = {case.name: case for case in all_cases()}


def conformance(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """The exit status of `ldpflow conformance`, and what it prints on standard output and on standard error."""
    status = 0
    try:
        cli.main(["conformance", *words])
    except SystemExit as stop:
        status = int(stop.code or 0)
    return (status, *capsys.readouterr())


def test_the_cases_are_the_frozen_reports() -> None:
    for path in (ROOT / "tests/vectors").glob("*.json"):
        vectors = json.loads(path.read_text("utf-8"))
        scheme = Scheme.from_toml(vectors["scheme"])
        for number, report in enumerate(vectors["reports"]):
            if path.stem in SCHEMES:
                case = CASES[f"{path.stem}/report-{number}"]
                token = case.secret and tokens.token_of(case.secret, case.digest)
                assert (case.record, token, case.round, case.expected) == tuple(report.values())
            elif number % 5 == 0:
                assert recorded(scheme, report["record"], number)[2] == report["content"]
    assert set(OF_SEVERAL) <= {path.stem for path in (ROOT / "tests/vectors").glob("*.json")}


def test_there_is_a_case_of_every_mechanism_and_every_change_of_a_scheme() -> None:
    used = set.union(*(case.mechanisms for case in CASES.values()))
    assert used == {name for kinds in BY_KIND.values() for name in kinds}
    texts = [case.bundle["scheme.toml"] for case in CASES.values() if case.expected == NO_SCHEME]
    for pattern, _ in CHANGES:
        canonical = [cases_of(name)[0].scheme.canonical for name in SCHEMES]
        assert any(re.search(pattern, text) for text in canonical), pattern
    assert len(texts) > 80
    assert {case.scheme.name for case in CASES.values()} == set(SCHEMES)


def test_the_expected_line_alone_is_no_difference() -> None:
    for case in CASES.values():
        assert difference(case, case.expected) is None
        assert difference(case, f"{case.expected} ") is not None


def test_pythons_client_passes(capsys: pytest.CaptureFixture[str]) -> None:
    status, printed, _ = conformance(*FAST, *PYTHON, capsys=capsys)
    assert status == 0, printed
    assert printed.splitlines()[-1] == "283 cases, 0 differ from the expected answer"


@pytest.mark.slow
@pytest.mark.parametrize("client", ["python", "node"])
def test_our_clients_pass_every_case(client: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if client == "node" and shutil.which("node") is None:
        pytest.skip("needs node")
    module = tmp_path / ENTRY
    module.write_text(joined(ROOT / "dpcore/collector/static"), "utf-8")
    program = PYTHON if client == "python" else ["node", str(ROOT / "data/examples/node_client.mjs"), str(module)]
    status, printed, _ = conformance("--timeout", "60", *program, capsys=capsys)
    assert status == 0, printed
    assert printed.splitlines()[-1] == f"{len(CASES)} cases, 0 differ from the expected answer"


FAULTS = {  # fault -> the case that is named first, and what is said of it
    "level": ("dyadic_wave/report-0", r"attribute 'dyadic' \(dyadic_wave\): the level is 1, expected 0"),
    "bias": (
        "randomized_response/edge-3",
        r"attribute '\w+' \(randomized_response\): integer at level 0 is \d, expected \d",
    ),
    "threshold": (
        "randomized_response/edge-3",
        r"attribute '\w+' \(randomized_response\): integer at level 0 is \d, expected \d",
    ),
    "token": ("randomized_response/report-1", r"the token: made of the secret and the digest; .*"),
    "padding": (
        "randomized_response/report-0",
        r"attribute 'coin' .*: the encoding: '..=', .*; it is not base64url without padding",
    ),
    "spaces": ("randomized_response/report-0", r"the spelling: the content is right; .*"),
    "greedy": ("randomized_response/report-0", r"expected a report, got '{\"refused\":\"words\"}'"),
    "credulous": ("randomized_response/refused-scheme-0", r"the client must refuse the scheme: expected .*"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_named(fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, printed, _ = conformance(*FAST, *FAULTY, fault, capsys=capsys)
    first = next(line for line in printed.splitlines() if re.match(r"\w+/", line))
    name, said = FAULTS[fault]
    assert status == 1
    assert re.fullmatch(f"{name}: {said}", first), first
    kinds = {
        line.partition(":")[0].partition("/")[2].rpartition("-")[0] for line in printed.splitlines() if "/" in line
    }
    assert kinds <= {"edge"} or fault not in ("bias", "threshold")


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (["not-there"], "not-there: cannot be started (No such file or directory); check the path of the program"),
        (["false"], "randomized_response/report-0: the program ended with status 1 without an answer"),
        (["sh", "-c", "kill -SEGV $$"], "randomized_response/report-0: the program ended by SIGSEGV without an answer"),
        (
            ["sh", "-c", "echo one >&2; echo two >&2; exit 3"],
            "randomized_response/report-0: the program ended with status 3 without an answer; its last line on standard "
            "error: two",
        ),
        (
            ["sleep", "100"],
            "randomized_response/report-0: no answer within 0.3 seconds; print one line for each case and flush it, "
            "or raise --timeout",
        ),
        (
            ["yes"],
            "randomized_response/report-0: expected one line of JSON on standard output, got 'y'; write anything else to "
            "standard error",
        ),
        (
            [*FAULTY, "silent"],
            "randomized_response/refused-record-0: expected one line of JSON on standard output, got 'no'; write anything "
            "else to standard error",
        ),
    ],
)
def test_a_program_that_gives_no_answer_is_one_line(
    program: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    timeout = "0.3" if program[0] == "sleep" else "60"
    assert conformance("--timeout", timeout, *program, capsys=capsys) == (1, "", f"ldpflow: {said}\n")


def test_what_differs_before_a_program_ends_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    status, printed, said = conformance("sh", "-c", "read line; echo '{}'", capsys=capsys)
    assert (status, printed) == (1, "randomized_response/report-0: expected a report, got '{}'\n")
    assert said == "ldpflow: randomized_response/report-1: the program ended with status 0 without an answer\n"


def test_a_mechanism_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, said = conformance("--mechanism", "coin", "true", capsys=capsys)
    assert status == 1
    assert "mechanism must be one of 'randomized_response'" in said
    assert "add other mechanisms" in conformance("--mechanism", "crossed_wave", "true", capsys=capsys)[2]


def test_vectors_are_written_as_they_are_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["vectors", str(tmp_path)])
    assert capsys.readouterr().out == f"{len(CASES)} cases of {len(SCHEMES)} schemes in {tmp_path}\n"
    for name in SCHEMES:
        lines = (tmp_path / f"{name}.jsonl").read_text("utf-8").splitlines()
        documents = [json.loads(line) for line in lines]
        assert [document.pop("expected") for document in documents] == [case.expected for case in cases_of(name)]
        assert documents[0] == json.loads(json.dumps(CASES[f"{name}/report-0"].question))
        assert all(0 <= word < 1 << 32 for document in documents for word in document["words"])
        for file, text in documents[0]["bundle"].items():
            if not file.endswith(".int32"):
                assert (tmp_path / name / file).read_text("utf-8") == text
        assert Scheme.from_toml(tmp_path / f"{name}.toml").digest == documents[0]["digest"]
