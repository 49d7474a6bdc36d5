"""Short versions of `make faults` and `make fuzz`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import doors, faults, fuzz

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("kills", "least"), [(2, 3), pytest.param(5, 4, marks=pytest.mark.nightly("every case"))])
def test_a_few_kills_lose_nothing_and_count_nothing_twice(tmp_path: Path, kills: int, least: int) -> None:
    """By day each of the three that may be killed is killed once."""
    run = faults.Faults(tmp_path, kills=kills, seed=2)
    assert run.carry_out() == []
    assert len(run.killed) == 3
    assert run.killed.total() >= least
    assert run.sent


def test_a_few_kills_of_collectors_that_share_a_folder_count_nothing_twice(tmp_path: Path) -> None:
    found = doors.Doors(tmp_path, reports=20_000, doors=3, kills=3, again=0.01, seed=3).carry_out()
    assert (found["problems"], found["counted"], found["kills"]) == ([], 20_000, 3)
    assert found["said"]["accepted"] + found["said"]["already_have"] == 20_000 + 10 * (20 - found["firsts"])


def test_requests_made_from_the_openapi_find_no_fault() -> None:
    assert fuzz.requests(examples=6, seed=1) == 0


def test_the_decoders_stand_inputs_that_their_coverage_makes(root: Path) -> None:
    words = [sys.executable, "-m", "tests.programs.fuzz", "--runs", "3000", "--examples", "0"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=root)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
