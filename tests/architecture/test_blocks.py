"""Every fenced block of every tracked page does what the page says: Python, SQL and TOML at each commit, commands at night.

What a page may say, and what it is run in, is in tests/programs/blocks.py.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dpcore.errors import WarehouseError
from tests.helpers.kept_open import kept_open
from tests.helpers.scratch import ROOT, scratch
from tests.programs.blocks import QUICK, RUN, blocks, lay, run, same

ELSEWHERE = {  # pages and folders of pages that are run by another test, or by none, and why
    "CHANGELOG.md": "a list",
    "data/guide/tutorial/": "tests/architecture/test_tutorial.py",
    "data/project/README.md": "tests/architecture/test_project_page.py",
    "data/project/RUNNING.md": "tests/architecture/test_running.py",
    "dpcore/EXTENDING.md": "tests/architecture/test_extending.py",
    "dpcore/extending/": "tests/architecture/test_extending.py",
    "dpcore/results/pages/templates/": "templates of pages that runs make",
}


STAYS = "it stays until Ctrl-C; the tutorial starts it"
NOT_RUN = {  # blocks of pages that people meet first, which bear no comment: page -> how a block begins -> why
    "README.md": {"make run": "tests/architecture/test_contract.py has it, and these are the tests"},
    "data/samples/README.md": {
        "import numpy as np, pyarrow": "it needs statsmodels, and made the file once",
        "import pandas as pd, pyarrow": "it needs the file of a package, or of a newspaper, and made the sample once",
    },
    "dpcore/collector/README.md": {"ldpflow serve": STAYS},
    "dpcore/laboratory/open_answers/README.md": {
        "ldpflow benchmark": "a study of a minute; tests/laboratory has smaller ones"
    },
    "dpcore/laboratory/README.md": {"ldpflow benchmark": "a study of minutes; tests/laboratory has smaller ones"},
    "flows/README.md": {
        "ldpflow init": STAYS,
        "make up": STAYS,
        "LDPFLOW_": STAYS,
        "prefect deployment run": "it needs a server; the tutorial has one",
    },
}
BEFORE = {  # what a page takes to be there
    "dpcore/collector/README.md": """
        sed 's/name = .*/name = "commute"/' data/project/survey.toml > commute.toml
        printf 'mode,distance\\ncar,3\\n' > me.csv
        printf 'badge,mode,distance\\n1,car,3\\n2,foot,1\\n' > staff.csv
    """,
}


def _pages() -> list[str]:
    listed = subprocess.check_output(["git", "ls-files", "*.md"], cwd=ROOT, text=True).split()
    return [name for name in listed if not name.startswith(tuple(ELSEWHERE))]


def _text(name: str) -> str:
    text = (ROOT / name).read_text(encoding="utf-8")
    for begins, why in NOT_RUN.get(name, {}).items():
        text = re.sub(rf"^(?=```\w+\n{re.escape(begins)})", f"<!-- not run: {why} -->\n", text, flags=re.MULTILINE)
    return text


def _with(kinds: tuple[str, ...]) -> list[str]:
    return [name for name in _pages() if any(block.kind in kinds for block in blocks(_text(name)))]


@pytest.fixture
def folder(landed: Path) -> Iterator[Path]:
    with scratch() as copy:
        lay(landed.parent, copy)
        yield copy


@pytest.mark.parametrize("warehouse", ["outlined", pytest.param("landed", marks=pytest.mark.slow)])
def test_blocks_that_need_no_command_run(request: pytest.FixtureRequest, warehouse: str) -> None:
    """Pages share one copy of the checkout; what a page wrote is removed before the next.

    warehouse: the fixture of what has landed.
    """
    landed = request.getfixturevalue(warehouse).parent
    with scratch() as copy:
        lay(landed, copy)
        _run_pages(copy, landed)


def _run_pages(folder: Path, landed: Path) -> None:
    original = _files(folder)
    for name in _with(QUICK):
        try:
            with kept_open():
                ran = list(run(_text(name), folder, QUICK))
        except Exception as error:
            error.add_note(f"page: {name}")
            raise
        assert ran or all("not run" in each.why for each in blocks(_text(name))), name
        changed = {path for path, state in _files(folder).items() if original.get(path) != state}
        for path in changed:
            path.unlink()
        lost = {path.relative_to(folder) for path in changed & original.keys()}
        assert {path.parent.as_posix() for path in lost} <= {"data/var"}, f"{name} changes files of the checkout"
        if lost:
            lay(landed, folder)
            original = _files(folder)


def _files(folder: Path) -> dict[Path, tuple[int, int]]:
    """The files of a folder with their sizes and times of modification."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path: ((state := path.stat()).st_size, state.st_mtime_ns) for path in found}


@pytest.mark.nightly("every case")
@pytest.mark.parametrize("name", _with(("sh", "console")))
def test_every_block_runs_and_prints_what_the_page_says(name: str, folder: Path) -> None:
    subprocess.run(["bash", "-ec", BEFORE.get(name, "")], cwd=folder, check=True)
    for block, made in run(_text(name), folder):
        assert same(block, made), f"{name}, line {block.line}: run python -m tests.programs.blocks {name}\n{made}"


def test_fences_have_a_kind_that_is_known() -> None:
    known = {*RUN, "", "text", "json", "diff", "ini", "yaml", "js", "javascript", "html"}
    kinds = {name: {block.kind for block in blocks(_text(name))} for name in _pages()}
    assert [(name, found - known) for name, found in kinds.items() if found - known] == []


PAGE = """\
```toml
name = "tiny"
[attributes.a]
type = "categorical"
categories = ["x", "y"]
epsilon = 1
```

```python
left = 2
```

<!-- not run: it would fail -->
```python
raise SystemExit
```

```python
assert left == 2
print("shown nowhere")
```

```console
$ ls tiny.toml
tiny.toml
```
"""


def test_a_page_is_run_from_its_top_to_its_end(tmp_path: Path) -> None:
    found = list(run(PAGE, tmp_path))
    assert [block.kind for block, _ in found] == ["toml", "python", "python", "console"]
    assert all(same(block, made) for block, made in found)
    assert [block.line for block, _ in found] == [1, 9, 18, 23]


def test_a_block_that_fails_is_seen(created: Path, tmp_path: Path) -> None:
    lay(created.parent, tmp_path)
    for wrong, error in (
        ("```python\n1 / 0\n```\n", ZeroDivisionError),
        ("```sh\nfalse\ntrue\n```\n", AssertionError),
        ("```sql\nselect gone from latest_runs\n```\n", WarehouseError),
        ("```toml\na = \n```\n", ValueError),
    ):
        with pytest.raises(error):
            list(run(wrong, tmp_path))


def test_another_answer_is_seen(tmp_path: Path) -> None:
    for said, is_same in (("3 clients", True), ("4 clients", False), ("three clients", False)):
        [(block, made)] = run(f"```console\n$ echo 3 clients\n{said}\n```\n", tmp_path)
        assert same(block, made) is is_same, said


def test_digits_vary_where_the_page_says_why(tmp_path: Path) -> None:
    why: Callable[[str], str] = "<!-- digits vary: it is a test -->\n```console\n$ echo 3 clients\n{}\n```\n".format
    [(block, made)] = run(why("4 clients"), tmp_path)
    assert same(block, made)
    [(block, made)] = run(why("4 people"), tmp_path)
    assert not same(block, made)
