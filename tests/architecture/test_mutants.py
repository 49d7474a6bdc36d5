"""The table of planted bugs: each can be planted, and is looked for in tests that there are.  `make mutants` plants them."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.programs import mutants

ROOT = Path(__file__).parents[2]
BUGS = [bug for file in sorted(mutants.TABLE.glob("*.toml")) for bug in mutants.bugs_of(file)]


def test_names_are_said_once() -> None:
    assert [name for name, times in Counter(bug.name for bug in BUGS).items() if times > 1] == []


def test_each_can_be_planted() -> None:
    read = cache(lambda path: (ROOT / path).read_text(encoding="utf-8"))
    for bug in BUGS:
        assert bug.planted(ROOT) != read(bug.file), bug.name
        for test in bug.tests:
            path, _, name = test.partition("::")
            assert (ROOT / path).exists(), bug.name
            assert not name or f"\ndef {name}(" in read(path), bug.name


def test_a_bug_whose_text_is_not_there_or_not_once_is_told(tmp_path: Path) -> None:
    (tmp_path / "it.py").write_text("a = 1\na = 1\n", encoding="utf-8")
    for old, times in (("a = 1", 2), ("b = 1", 0)):
        with pytest.raises(ValueError, match=f"expected its text once in it.py, found it {times} times"):
            mutants.Bug("it", "it.py", old, "", ()).planted(tmp_path)


@pytest.mark.slow
def test_a_bug_that_tests_see_is_killed_and_another_is_alive(tmp_path: Path) -> None:
    (tmp_path / "it.py").write_text("a = 1\nb = 1\n", encoding="utf-8")
    (tmp_path / "test_it.py").write_text("from it import a\ndef test_a(): assert a == 1\n", encoding="utf-8")
    assert mutants.is_killed(mutants.Bug("a", "it.py", "a = 1", "a = 2", ("test_it.py",)), tmp_path)
    assert not mutants.is_killed(mutants.Bug("b", "it.py", "b = 1", "b = 2", ("test_it.py",)), tmp_path)
    assert (tmp_path / "it.py").read_text(encoding="utf-8") == "a = 1\nb = 1\n"


@pytest.mark.slow
def test_samples_can_be_planted_and_are_those_of_their_seed() -> None:
    some = mutants.sampled(["dpcore/privacy"], 6, 3)
    assert some == mutants.sampled(["dpcore/privacy"], 6, 3)
    assert len(some) == 6
    for bug in some:
        compile(bug.planted(ROOT), bug.file, "exec")
        assert mutants.Bug(**(vars(bug))) == bug


def test_edits_leave_out_guards_and_named_arguments() -> None:
    edits = [new for _, new in mutants._edits("if bad:\n    raise ValueError\nf(1, a=2, b=g)\n")]
    assert {"if False:\n", "f(1, b=g)\n", "f(1, a=2)\n"} <= set(edits)


@pytest.mark.slow
def test_samples_are_of_files_too() -> None:
    some = mutants.sampled(["dpcore/client.py", "dpcore/_random.py"], 4, 1)
    assert {(bug.file, bug.tests[:1]) for bug in some} == {
        ("dpcore/client.py", ("tests/client",)),
        ("dpcore/_random.py", ("tests/test_random.py",)),
    }
