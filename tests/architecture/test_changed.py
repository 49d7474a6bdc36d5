"""Which tests a change asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs import changed

pytestmark = pytest.mark.slow  # it reads all the tests there are


@pytest.mark.parametrize(
    ("file", "asked", "left"),
    [
        ("dpcore/results/plots/style.py", "tests/results/test_plots.py", "tests/mechanisms/numeric/test_waves.py"),
        ("dpcore/results/warehouse/views.sql", "tests/results/test_experiments.py", "tests/wire/test_parts.py"),
        ("dpcore/collector/static/client/words.mjs", "tests/browser/test_client.py", "tests/rounds/test_standing.py"),
        ("data/guide/reference/questions.md", "tests/architecture/test_questions.py", "tests/rounds/test_standing.py"),
        ("tests/helpers/standing.py", "tests/rounds/test_standing.py", "tests/rounds/test_account.py"),
        ("flows/round.py", "tests/flows/test_round.py", "tests/rounds/test_account.py"),
    ],
)
def test_a_file_asks_for_its_rooms_tests_and_for_those_that_name_it(file: str, asked: str, left: str) -> None:
    found = changed.asked_for([file])
    assert asked in found
    assert left not in found


def test_all_is_whatever_rests_on_it() -> None:
    alone, everything = (
        changed.asked_for(["dpcore/results/plots/style.py"], everything=all_) for all_ in (False, True)
    )
    assert set(alone) < set(everything)
    assert "tests/cli/test_cli.py" in set(everything) - set(alone)
    assert "tests/mechanisms/numeric/test_waves.py" not in everything


def test_a_test_asks_for_what_its_fixtures_and_the_contract_name() -> None:
    assert "dpcore.results.warehouse" in changed.asked_by(Path("tests/rounds/test_damaged_files.py"))
    assert "dpcore.pipeline" in changed.asked_by(Path("tests/results/test_spending.py"))


def test_a_commit_that_git_does_not_know_is_told() -> None:
    with pytest.raises(ValueError, match="expected a commit that git knows, got 'no-such'"):
        changed.changed_files("no-such")
