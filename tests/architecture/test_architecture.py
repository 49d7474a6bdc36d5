"""dpcore/ARCHITECTURE.md agrees with the tree and the import linter, and each package lists its modules."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "dpcore/ARCHITECTURE.md").read_text(encoding="utf-8")
MAX_LINES = 120  # one page
MAX_MODULES = 16  # of a folder, its __init__ included
PACKAGES = sorted(path.parent for top in ("dpcore", "flows") for path in (ROOT / top).rglob("__init__.py"))
ROWS = re.findall(r"^\| `((?:dpcore|ldpflow_flows)[\w.]*)` \| .* \| (.*)\|$", PAGE, re.MULTILINE)


def modules(package: Path) -> set[str]:
    return {path.stem for path in package.glob("*.py")} - {"__init__"}


def subpackages(package: Path) -> set[str]:
    return {path.parent.name for path in package.glob("*/__init__.py")}


def folder_of(package: str) -> Path:
    return ROOT / re.sub("^ldpflow_flows", "flows", package).replace(".", "/")


def test_the_page_is_one_page() -> None:
    assert len(PAGE.splitlines()) <= MAX_LINES


def test_the_page_names_every_package() -> None:
    top = {f"dpcore.{name}" for name in subpackages(ROOT / "dpcore")} | {"ldpflow_flows"}
    assert sorted(name for name, _ in ROWS) == sorted(top)


@pytest.mark.parametrize(("package", "inside"), ROWS, ids=[name for name, _ in ROWS])
def test_a_row_names_every_package_inside(package: str, inside: str) -> None:
    folder = folder_of(package)
    there = subpackages(folder)
    if package != "dpcore.laboratory":
        there |= {name for one in there for name in subpackages(folder / one)}
    named = re.findall(r"`([\w]+)`", inside)
    assert sorted(set(named)) == sorted(there)
    assert len(named) == len(set(named)), "a package is named twice"


def test_the_layers_are_those_of_the_import_linter() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [layers] = [one["layers"] for one in project["tool"]["importlinter"]["contracts"] if one["type"] == "layers"]
    section = PAGE.partition("## The import rule")[2]
    block = re.search(r"```\n(.*?)```", section, re.DOTALL)
    assert block is not None
    assert block[1].splitlines() == layers


def test_modules_outside_packages_are_named() -> None:
    [line] = re.findall(r"^Modules outside packages: (.*)$", PAGE, re.MULTILINE)
    named = {Path(name).stem for name in re.findall(r"`dpcore/(\w+\.py)`", line)}
    assert named == modules(ROOT / "dpcore")


def test_every_path_of_the_page_exists() -> None:
    paths = re.findall(r"`((?:dpcore|flows|tests)/[\w./]*)`", PAGE)
    assert len(paths) > 30
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_folders_are_small() -> None:
    sizes = {package.relative_to(ROOT).as_posix(): len(modules(package)) + 1 for package in PACKAGES}
    assert {folder: size for folder, size in sizes.items() if size > MAX_MODULES} == {}


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {path.parent for top in ("dpcore", "flows") for path in (ROOT / top).rglob("*.py")}
    assert sorted(folders - set(PACKAGES)) == []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_package_lists_its_modules(package: Path) -> None:
    docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    listed = re.findall(r"^    (\w+/?): \S", docstring.partition("\n\nModules:\n")[2], re.MULTILINE)
    there = modules(package) | {f"{name}/" for name in subpackages(package)}
    assert sorted(listed) == sorted(there)
