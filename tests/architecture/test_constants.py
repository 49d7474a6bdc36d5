"""The numbers that somebody chose in `dpcore/estimation`: in one file, counted, each with a comment."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ESTIMATION = Path(__file__).parents[2] / "dpcore" / "estimation"
CONSTANTS = ESTIMATION / "constants.py"
TUNING = 30  # numbers on which estimates depend, at most
ELSEWHERE = {  # module-level numbers outside that file, with the reason
    "discrete/log_linear_family.py": {
        "_ROUND",
        "_MULTIPLES",
    },  # round numbers in the decimal system, of clocks and calendars
}
NUMERICAL = "# -- Numerical tolerances"


def _numbers(path: Path) -> Iterator[tuple[str, int]]:
    """Names and lines of the numbers, tuples and grids that a module assigns, but for what it derives from constants."""
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(statement, ast.Assign) or statement.value is None:
            continue
        leaves = [node for node in ast.walk(statement.value) if isinstance(node, ast.Constant)]
        is_derived = any(
            isinstance(node, ast.Name) and (node.id == "constants" or node.id.isupper())
            for node in ast.walk(statement.value)
        )
        if is_derived or not leaves or not all(isinstance(leaf.value, int | float) for leaf in leaves):
            continue
        for name in (node for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)):
            yield name.id, statement.lineno


def test_no_other_module_of_estimation_has_a_number_of_its_own() -> None:
    for path in ESTIMATION.rglob("*.py"):
        if path != CONSTANTS:
            here = str(path.relative_to(ESTIMATION))
            assert {name for name, _ in _numbers(path)} <= ELSEWHERE.get(here, set()), here


def test_tuning_constants_are_few_and_each_has_a_comment() -> None:
    lines = CONSTANTS.read_text(encoding="utf-8").splitlines()
    numerical = next(number for number, line in enumerate(lines, 1) if line.startswith(NUMERICAL))
    numbers = list(_numbers(CONSTANTS))
    assert len([name for name, line in numbers if line < numerical]) <= TUNING
    for name, line in numbers:
        above = next(
            text for text in reversed(lines[: line - 1]) if not text[:1].isupper()
        )  # numbers may share a comment
        assert "#" in lines[line - 1] or above.startswith("# "), name
