"""With an extra its commands work; what another extra brings is named in one line, and nothing is written."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from dpcore.errors import EXTRAS

LACKING = """
import sys
from importlib.machinery import PathFinder

class Found(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.split(".")[0] in LACKS else PathFinder.find_spec(name, path, target)

LACKS = set(sys.argv[1].split(","))
sys.meta_path = [Found if finder is PathFinder else finder for finder in sys.meta_path]
from dpcore.__main__ import main
main(sys.argv[2:])
"""
SCHEME = 'name = "pets"\n[attributes.pet]\ntype = "categorical"\ncategories = ["cat", "dog"]\nepsilon = 1\n'
ESTIMATE = [
    "scheme pets.toml",
    "check pets.toml pets.csv",
    "privatize pets.toml pets.csv sent",
    "plan pets.toml --aim pet:frequency(cat)",
]
ESTIMATE += ["dry-run pets.toml --clients 100 --rounds 1", "init own", "vectors cases"]
QUERY = "query select(1)"
COMMANDS = {  # extra -> what works with it, and what names another: command -> extra
    "": ([], {"scheme pets.toml": "estimate", "run pets.toml --clients 100": "estimate", "--help": "estimate"}),
    "estimate": (
        ESTIMATE,
        {"run pets.toml --clients 100": "warehouse", QUERY: "warehouse", "serve pets.toml --into taken": "collector"}
        | {"dry-run pets.toml --clients 100 --rounds 1 --chart a.png": "charts", "deploy": "flows", "up": "flows"},
    ),
    "warehouse": (
        [*ESTIMATE, "run pets.toml --clients 100", "show", QUERY],
        {"publish a.html": "charts", "serve pets.toml --into taken": "collector", "status": "flows"},
    ),
    "charts": ([*ESTIMATE, "dry-run pets.toml --clients 100 --rounds 1 --chart a.png"], {QUERY: "warehouse"}),
    "collector": ([*ESTIMATE, "key clinic --keys keys.toml", "serve --help"], {QUERY: "warehouse", "up": "flows"}),
}


def brought(extra: str, extras: dict[str, list[str]]) -> set[str]:
    """The extras that come with one, itself among them."""
    others = {name for line in extras.get(extra, []) if line.startswith("ldpflow[") for name in line[8:-1].split(",")}
    return {extra}.union(*(brought(name, extras) for name in others))


@pytest.mark.slow
@pytest.mark.parametrize("extra", COMMANDS)
def test_commands_work_or_name_what_they_need(root: Path, tmp_path: Path, extra: str) -> None:
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    lacks = ",".join(module for module, needed in EXTRAS.items() if needed not in brought(extra, extras))
    (tmp_path / "pets.toml").write_text(SCHEME)
    (tmp_path / "pets.csv").write_text("pet\ncat\n")
    works, needs = COMMANDS[extra]
    for command in [*works, *needs]:
        words = [word.replace("select(1)", "select 1") for word in command.split()]
        done = subprocess.run(
            [sys.executable, "-c", LACKING, lacks, *words], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        if command in works:
            assert done.returncode == 0, f"{command}: {done.stderr}"
        else:
            assert re.fullmatch(
                rf"ldpflow: \w+ is not installed; run `pip install 'ldpflow\[{needs[command]}\]'`.*\n", done.stderr
            ), done.stderr
            assert done.returncode == 1


def test_each_module_is_brought_by_the_extra_that_is_named(root: Path) -> None:
    """Of distributions whose module has another name, and of what they bring themselves."""
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {extra: {re.split(r"[<>=;\[]", line)[0] for line in lines} for extra, lines in extras.items()}
    modules = {"pywt": "pywavelets", "upath": "universal-pathlib", "prometheus_client": "prometheus-client"}
    others = {
        "fsspec",
        "PIL",
        "markupsafe",
        "pydantic",
        "starlette",
        "anyio",
    }  # of upath, matplotlib, jinja2, typer, fastapi, httpx
    for module, extra in EXTRAS.items():
        assert module in others or modules.get(module, module) in named[extra], module


def test_python_names_the_extra_as_well() -> None:
    code = "import sys; sys.modules['scipy'] = None; import dpcore; dpcore.estimate"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'ldpflow[estimate]'" in done.stderr.splitlines()[-1]
