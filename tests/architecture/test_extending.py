"""dpcore/extending: each diff applies to a copy of the repository, touches as few files as promised, and works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from dpcore.results.warehouse.schema_migration import shipped_migrations

ROOT = Path(__file__).parents[2]
MOST_FILES = {
    "mechanism": 3,
    "type": 5,
    "functional": 2,
    "estimator": 2,
    "column": 2,
    "picture": 2,
    "flow": 2,
    "option": 2,
    "study": 2,
}


OWN_MODULES = {  # of a type of attribute
    "set": ("mechanisms.categorical.set_selection", "mechanisms.categorical.option_sets", "protocol.domain.option_sets")
    + ("estimation.frequency.option_shares", "audit.mechanisms.option_sets"),
    "text": ("mechanisms.categorical.text_hashing", "protocol.domain.texts", "protocol.records.texts")
    + ("estimation.frequency.frequent_texts", "estimation.frequency.text_estimate", "audit.mechanisms.texts"),
}
LISTS = ("dpcore/mechanisms/registry.py", "dpcore/protocol/syntax/attribute_table.py")
OTHERS = {  # that import a module of sets
    "dpcore/protocol/syntax/canonical.py": "checks the columns of yes and no, which other types may have",
    "dpcore/rounds/planning/planner.py": "plans joint shares, for which reports need two items",
}


class Extension(NamedTuple):
    diff: str
    commands: str


def read() -> dict[str, Extension]:
    """What the pages show, in the order in which EXTENDING.md leads to them."""
    index = (ROOT / "dpcore/EXTENDING.md").read_text(encoding="utf-8")
    pages = re.findall(r"\(extending/(\w+)\.md\)", index)
    texts = {page: (ROOT / f"dpcore/extending/{page}.md").read_text(encoding="utf-8") for page in pages}
    return {page: Extension(*(_block(text, kind) for kind in ("diff", "sh"))) for page, text in texts.items()}


def _block(text: str, kind: str) -> str:
    (block,) = re.findall(rf"^```{kind}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return str(block)


EXTENSIONS = read()
FIRST, REST = list(EXTENSIONS)[:2], list(EXTENSIONS)[2:]


def test_the_pages_show_all_there_is_to_add() -> None:
    assert list(EXTENSIONS) == list(MOST_FILES)
    assert {page.stem for page in (ROOT / "dpcore/extending").iterdir()} == set(MOST_FILES)


def test_each_touches_as_few_files_as_promised_and_still_applies() -> None:
    there = len(shipped_migrations())
    check = ["git", "apply", "--check", "--recount", "-"]
    for page, (diff, _) in EXTENSIONS.items():
        assert 0 < len(re.findall(r"^\+\+\+ b/", diff, re.MULTILINE)) <= MOST_FILES[page], page
        numbered = [int(number) for number in re.findall(r"^\+\+\+ b/\S+/migrations/(\d+)_", diff, re.MULTILINE)]
        assert numbered in ([], [there + 1]), f"dpcore/extending/{page}.md: the next migration is {there + 1}"
        applied = subprocess.run(check, cwd=ROOT, input=diff, capture_output=True, text=True)
        assert applied.returncode == 0, f"dpcore/extending/{page}.md: write the diff anew.\n{applied.stderr}"


@pytest.mark.parametrize("name", OWN_MODULES)
def test_a_type_is_known_to_its_own_files_and_two_lists(name: str) -> None:
    own = [f"dpcore/{module.replace('.', '/')}.py" for module in OWN_MODULES[name]]
    imported = re.compile(
        "|".join(rf"dpcore\.{re.sub(r'[.](?=[^.]*$)', '(?:[.]| import .*)', module)}\b" for module in OWN_MODULES[name])
    )
    files = [
        path
        for folder in ("dpcore", "flows")
        for path in (ROOT / folder).rglob("*.py")
        if "laboratory" not in path.parts
    ]
    importing = {
        path.relative_to(ROOT).as_posix() for path in files if imported.search(path.read_text(encoding="utf-8"))
    }
    assert importing - {*own} <= {*LISTS, *OTHERS}, "a type is told apart elsewhere; let its own files answer"


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [*FIRST, *(pytest.param(each, marks=pytest.mark.nightly("every case")) for each in REST)]
)
def test_its_commands_work_in_a_copy(page: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    (copy / "it.diff").write_text(EXTENSIONS[page].diff, encoding="utf-8")
    subprocess.run(["git", "apply", "--recount", "it.diff"], cwd=copy, check=True)
    environment = os.environ | {"PYTHONPATH": str(copy), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    ran = subprocess.run(
        ["bash", "-e", "-c", EXTENSIONS[page].commands.replace("ldpflow ", f"{sys.executable} -m dpcore.cli ")],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
