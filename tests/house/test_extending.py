"""dpcore/EXTENDING.md: each diff applies to a copy of the repository, touches as few files as promised, and works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
MOST_FILES = {
    "A mechanism": 4,
    "A functional": 2,
    "An estimator": 2,
    "A column of a table": 3,
    "A picture": 2,
    "A flow": 2,
    "An option of a round": 2,
    "A study": 2,
}


class Extension(NamedTuple):
    diff: str
    commands: str


def read() -> dict[str, Extension]:
    """What the page shows, by its headings."""
    page = (ROOT / "dpcore/EXTENDING.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (.*)$", page, flags=re.MULTILINE)[1:]
    return {
        heading: Extension(*(_block(text, kind) for kind in ("diff", "sh")))
        for heading, text in zip(parts[::2], parts[1::2], strict=True)
    }


def _block(text: str, kind: str) -> str:
    (block,) = re.findall(rf"^```{kind}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return str(block)


EXTENSIONS = read()
FIRST, REST = list(EXTENSIONS)[:2], list(EXTENSIONS)[2:]


def test_the_page_shows_all_there_is_to_add() -> None:
    assert list(EXTENSIONS) == list(MOST_FILES)


@pytest.mark.parametrize("heading", EXTENSIONS)
def test_it_touches_as_few_files_as_promised_and_still_applies(heading: str, tmp_path: Path) -> None:
    diff = EXTENSIONS[heading].diff
    assert 0 < len(re.findall(r"^\+\+\+ b/", diff, re.MULTILINE)) <= MOST_FILES[heading]
    (tmp_path / "it.diff").write_text(diff, encoding="utf-8")
    applied = subprocess.run(
        ["git", "apply", "--check", "--recount", str(tmp_path / "it.diff")], cwd=ROOT, capture_output=True, text=True
    )
    assert applied.returncode == 0, f"dpcore/EXTENDING.md, {heading}: write the diff anew.\n{applied.stderr}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "heading", [*FIRST, *(pytest.param(each, marks=pytest.mark.nightly("every case")) for each in REST)]
)
def test_its_commands_work_in_a_copy(heading: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    (copy / "it.diff").write_text(EXTENSIONS[heading].diff, encoding="utf-8")
    subprocess.run(["git", "apply", "--recount", "it.diff"], cwd=copy, check=True)
    environment = os.environ | {"PYTHONPATH": str(copy), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    ran = subprocess.run(
        ["bash", "-e", "-c", EXTENSIONS[heading].commands.replace("ldpflow ", f"{sys.executable} -m dpcore.cli ")],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
