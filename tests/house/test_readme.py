"""What the README shows works as shown."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest

import dpcore as dp
from dpcore import cli
from dpcore.functionals import FunctionDensity
from dpcore.populations import consumer_expenditure


@pytest.fixture(scope="module")
def readme(root: Path) -> str:
    return (root / "README.md").read_text()


def test_the_python_runs_and_finds_what_is_true(readme: str, root: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(root):
        for code in re.findall(r"```python\n(.*?)```", readme, re.S):
            exec(compile(code, "README.md", "exec", dont_inherit=True), names)
    gap, races, divide = (names[name] for name in ("gap", "races", "divide"))
    assert gap.low < 0 < gap.high
    assert all(each.low < 0 < each.high for each in races.values())
    assert divide.low < 20_472 < divide.high
    assert divide.correlation < 0
    mean, top, own = names["mean"], names["top"], names["ShareAbove"](100_000)
    assert mean.low < 66_449 < mean.high
    law = consumer_expenditure().truth("income")
    truth = own.value(law)
    assert 0.2 < truth < 0.6
    assert top.low < truth < top.high < top.low + 0.2
    assert (top.functional, top.reason) == ("share_above(100000)", None)
    _check_expansion(own, law)


def _check_expansion(own: Any, law: Any) -> None:
    """Towards the uniform the remainder after T is quadratic, and after Q cubic."""

    def mixed(a: float, b: float) -> FunctionDensity:
        return FunctionDensity(law.lower, law.upper, lambda x: a * law.pdf(x) + b / 250_000, tuple(law.breakpoints))

    expansion, step = own.expand(law), mixed(-1, 1)
    T, Q = expansion.influence(step), expansion.curvature(step, law.lower, law.upper)
    for t in (1e-2, 1e-3):
        change = own.value(mixed(1 - t, t)) - expansion.value
        assert abs(change - t * T) > 1e-3 * t**2
        assert abs(change - t * T - t**2 * Q) < 10 * t**3


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
    assert {"run", "test", "up", "quick", "nightly"} <= verbs
    assert all(re.search(rf"^{verb}:", makefile, re.M) for verb in verbs)


def test_nothing_committed_names_a_machine_or_a_host(root: Path) -> None:
    import subprocess

    files = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout.split()
    for name in files:
        content = (root / name).read_bytes()
        assert b"/ho" + b"me/" not in content, name
        assert b"pypi" + b".org" not in content, name
        assert b"/wo" + b"rk/" not in content, name


def test_a_test_waits_for_the_night_for_a_reason_that_is_told(root: Path) -> None:
    told = set(re.findall(r"^\| `([a-z ]+)` \|", (root / "tests/README.md").read_text(encoding="utf-8"), re.M))
    for file in (root / "tests").rglob("test_*.py"):
        reasons = re.findall(r"mark\.nightly\((.*?)\)", file.read_text(encoding="utf-8"))
        assert {reason.strip('"') for reason in reasons if not reason.startswith(".")} <= told, file
