"""What the README shows works as shown."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest

import dpcore as dp
from dpcore import cli


@pytest.fixture(scope="module")
def readme(root: Path) -> str:
    return (root / "README.md").read_text()


def test_the_python_runs_and_finds_what_is_true(readme: str, root: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", readme, re.S)
    names: dict[str, object] = {}
    with contextlib.chdir(root):
        exec(code, names)
    mean = names["mean"]
    assert mean.low < 66_449 < mean.high  # type: ignore[attr-defined]


def test_the_scheme_is_one(readme: str) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", readme, re.S)
    assert dp.Scheme.from_toml(text).epsilon == 2


def test_the_commands_are_those_there_are(readme: str) -> None:
    shown = set(re.findall(r"^\| `ldpflow (\w+)", readme, re.M))
    there = {command.callback.__name__ for command in cli.app.registered_commands}  # type: ignore[union-attr]
    there |= {group.name for group in cli.app.registered_groups}
    assert shown == there


def test_the_verbs_are_in_the_makefile(readme: str, root: Path) -> None:
    verbs = set(re.findall(r"`?make (\w+)", readme)) - {"sure"}
    makefile = (root / "Makefile").read_text()
    assert {"run", "test", "up", "quick", "slow"} <= verbs
    assert all(re.search(rf"^{verb}:", makefile, re.M) for verb in verbs)


def test_nothing_committed_names_a_machine_or_a_host(root: Path) -> None:
    import subprocess

    files = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout.split()
    for name in files:
        content = (root / name).read_bytes()
        assert b"/ho" + b"me/" not in content, name
        assert b"pypi" + b".org" not in content, name
        assert b"/wo" + b"rk/" not in content, name
