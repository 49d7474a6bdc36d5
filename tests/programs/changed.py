"""Which tests a change asks for: `make changed` runs them; `python -m tests.programs.changed --all` names all.

What has changed is what git says: files that differ from a commit (HEAD, or another by `--since`), and new ones.  A test asks
for what its text names of `dpcore` and `ldpflow_flows`, and for what the helpers and fixtures that it imports name.  Of a
changed room that is: its own tests, and those of other rooms that name a changed module.  With `--all`, also whatever rests on
a changed module by the graph of imports, which of a low room is nearly everything: `make quick` before a commit.
Files that are no Python belong to the package they lie in; of those outside, as `data/README.md`, the tests that name them.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import grimp

import dpcore

ROOT = Path(__file__).parents[2]
_NAMED = re.compile(r"\b(?:dpcore|ldpflow_flows|tests)(?:\.\w+)+")
_FROM = re.compile(r"^\s*from ((?:dpcore|ldpflow_flows|tests)[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_CONTRACT = re.compile(r"\bdp\.(\w+)")


def changed_files(since: str) -> list[str]:
    """Return the paths, from the root, that differ from a commit or are new.  Raises ValueError where git knows none such."""
    found: list[str] = []
    for command in (["diff", "--name-only", since, "--"], ["ls-files", "--others", "--exclude-standard"]):
        said = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)
        if said.returncode:
            raise ValueError(f"expected a commit that git knows, got {since!r}: {said.stderr.strip().splitlines()[0]}")
        found += said.stdout.splitlines()
    return sorted(set(found))


def asked_for(changed: Iterable[str], *, everything: bool = False) -> list[str]:
    """Return the test files, from the root, that changed files ask for."""
    changed = list(changed)
    modules = {module for path in changed for module in _modules_of(path)}
    rooms = {"/".join(path.split("/")[:2]) for path in changed if path.startswith("dpcore/")}
    rooms |= {"flows" for path in changed if path.startswith("flows/")}
    if everything:
        graph = _graph()
        modules |= {other for module in modules & graph.modules for other in graph.find_downstream_modules(module)}
    own = {Path("tests", Path(room).stem) for room in rooms}
    elsewhere = {
        path for path in changed if not path.startswith(("dpcore/", "flows/", "tests/")) or path.endswith(".toml")
    }
    return [
        str(test)
        for test in _tests()
        if str(test) in changed
        or any(test.is_relative_to(folder) for folder in own)
        or asked_by(test) & modules
        or any(Path(path).name in _text(test) for path in elsewhere)
    ]


@cache
def asked_by(test: Path) -> frozenset[str]:
    """Return the modules that a file of the tests names, itself or by helpers and conftest files; names below a module, too."""
    return frozenset(_named(test, frozenset()))


def _named(path: Path, seen: frozenset[Path], text: str | None = None) -> set[str]:
    text = text or _text(path)
    names = set(_NAMED.findall(text))
    for module, imported in _FROM.findall(text):
        names |= {module, *(f"{module}.{name}" for name in re.findall(r"\w+", imported))}
    if "import dpcore as dp" in text:
        names |= {dpcore._EXPORTS[name] for name in _CONTRACT.findall(text) if name in dpcore._EXPORTS}
    helpers = [Path(*name.split(".")).with_suffix(".py") for name in names if name.startswith("tests.")]
    for other in helpers:
        if other not in seen and (ROOT / other).is_file():
            names |= {".".join(other.with_suffix("").parts)} | _named(other, seen | {path})
    for conftest in (folder / "conftest.py" for folder in path.parents if folder.parts):
        if (ROOT / conftest).is_file() and (used := _used_of(conftest, text)):
            names |= {".".join(conftest.with_suffix("").parts)} | _named(Path("tests"), seen | {path}, used)
    return names


def _used_of(conftest: Path, text: str) -> str:
    """Return the text of a conftest file's functions that a text names, as tests name fixtures, and of those these name."""
    functions = dict(_functions_of(conftest))
    used = ""
    while named := [name for name in functions if re.search(rf"\b{name}\b", text + used)]:
        used += "\n".join(functions.pop(name) for name in named) + "\n"
    return used


@cache
def _functions_of(file: Path) -> dict[str, str]:
    return {one.name: ast.unparse(one) for one in ast.parse(_text(file)).body if isinstance(one, ast.FunctionDef)}


def _modules_of(path: str) -> set[str]:
    """Return the modules that a change of this file changes: of one that is no Python all of the package that it lies in."""
    file = Path(path)
    if file.parts[0] not in ("dpcore", "flows", "tests"):
        return set()
    if file.suffix == ".py":
        parts = _imported(file.with_suffix("").parts)
        return {".".join(parts[:-1] if parts[-1] == "__init__" else parts)}
    package = next((folder for folder in file.parents if (ROOT / folder / "__init__.py").is_file()), None)
    if package is None:
        return set()
    name = ".".join(_imported(package.parts))
    return {module for module in _graph().modules if module == name or module.startswith(f"{name}.")}


def _imported(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The names by which a file or folder is imported."""
    return ("ldpflow_flows", *parts[1:]) if parts[0] == "flows" else parts


@cache
def _graph() -> grimp.ImportGraph:
    return grimp.build_graph("dpcore", "ldpflow_flows", cache_dir=None)


@cache
def _tests() -> list[Path]:
    return sorted(path.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py"))


@cache
def _text(path: Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--since", default="HEAD", help="the commit to compare with; default: the last one")
    parser.add_argument("--all", action="store_true", help="also tests of what rests on a changed module")
    options = parser.parse_args()
    try:
        changed = changed_files(options.since)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    tests = asked_for(changed, everything=options.all)
    print(
        f"{len(changed)} files differ from {options.since}: {len(tests)} of {len(_tests())} files of tests",
        file=sys.stderr,
    )
    print("\n".join(tests))
    return 0


if __name__ == "__main__":
    sys.exit(main())
