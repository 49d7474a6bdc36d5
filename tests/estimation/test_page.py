"""What the page on estimates from Python shows works as shown."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest

from dpcore.functionals import FunctionDensity
from dpcore.populations import consumer_expenditure


@pytest.mark.slow  # seconds of rounds; what it calls has quick tests
def test_the_python_runs_and_finds_what_is_true(root: Path) -> None:
    page = (root / "dpcore/estimation/README.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(root):
        for code in re.findall(r"```python\n(.*?)```", page, re.S):
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
