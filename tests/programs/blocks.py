"""Every fenced block of a Markdown page, run in a scratch copy of the checkout in which the shipped schemes have landed.

Rule 1.  A page is run from its top to its end, in one folder; what a block makes, the next finds.
Rule 2.  `toml` with a name is a scheme, is read as one, and stands in the folder as NAME.toml; other `toml` is read as TOML.
Rule 3.  `sql` is asked of the warehouse; `python` is run in one namespace; `sh` by bash, and stops where a command fails.
Rule 4.  `console` has commands after `$ `, and what they print after each; main writes what came out in its place.
Rule 5.  Under `<!-- not run: WHY -->` a block is not run; under `<!-- digits vary: WHY -->` its digits are not compared.
Fences of other kinds (`text`, `json`, `diff`, none) are shown, not run.
"""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dpcore as dp
from dpcore.results import warehouse
from tests.helpers.ports import free_port
from tests.helpers.scratch import ROOT, environment, exchanged, scratch, shape

RUN = ("toml", "sql", "python", "sh", "console")
QUICK = ("toml", "sql", "python")  # need no command
PATIENCE = 300  # seconds for a block
FILE = Path("data/var/warehouse.duckdb")
_FENCE = re.compile(r"^(?P<mark>(?:<!--[^>]*-->\n+)*)```(?P<kind>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_WHY = re.compile(r"<!-- (not run|digits vary): (.+?) -->")
_VARIES = re.compile(r"\b[0-9a-f]{12,}\b|\b20\d\d-\d\d-\d\d( \d\d:\d\d)?|\d+(\.\d+)? of \d+(\.\d+)? GB")


@dataclass(frozen=True)
class Block:
    """A fence: its kind, what is in it, the line it begins at, and why it is not run or its digits vary."""

    kind: str
    body: str
    line: int
    start: int
    end: int
    why: Mapping[str, str]


def blocks(text: str) -> list[Block]:
    """Return the fences of a page."""
    found = []
    for fence in _FENCE.finditer(text):
        line = text.count("\n", 0, fence.start("kind")) + 1
        why = dict(_WHY.findall(fence["mark"]))
        found.append(Block(fence["kind"], fence["body"], line, fence.start("body"), fence.end("body"), why))
    return found


class Page:
    """A page that is run in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.ports = {named: free_port() for named in ("8080", "4200")}

    def run(self, block: Block) -> str:
        """Run a block, and return what it should say: its own body, but for `console`, where it is what came out."""
        return str(getattr(self, f"_{block.kind}")(block.body) or block.body)

    def _toml(self, body: str) -> None:
        said = tomllib.loads(body)
        if "attributes" in said and "name" in said:
            dp.Scheme.from_toml(body)
            (self.folder / f"{said['name']}.toml").write_text(body, encoding="utf-8")

    def _sql(self, body: str) -> None:
        warehouse.query(self.folder / FILE, body)

    def _python(self, body: str) -> None:
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(io.StringIO()):
            exec(compile(body, "page", "exec", dont_inherit=True), self.names)

    def _sh(self, body: str) -> None:
        self._bash(body)

    def _console(self, body: str) -> str:
        made = ""
        for command in re.findall(r"^\$ (?:.*\\\n)*.*$", body, re.MULTILINE):
            said = [line.rstrip() for line in self._bash(command[2:]).rstrip().splitlines()]
            made += "\n".join([command, *said]) + "\n"
        return made

    def _bash(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-ec", exchanged(command, self.ports)],
            cwd=self.folder,
            env=environment(self.ports),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        return exchanged(done.stdout, {own: named for named, own in self.ports.items()}).replace(f"{self.folder}/", "")


def run(text: str, folder: Path, kinds: tuple[str, ...] = RUN) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page that are of these kinds and may be run; yield each with what it should say."""
    page = Page(folder)
    for block in blocks(text):
        if block.kind in kinds and "not run" not in block.why:
            yield block, page.run(block)


def same(block: Block, made: str) -> bool:
    """Whether a page says what came out, but for days, runs, and what a block says will vary."""
    if "digits vary" in block.why:
        return shape(block.body) == shape(made)
    return _VARIES.sub("#", block.body) == _VARIES.sub("#", made)


def main(names: list[str]) -> None:
    from tests.conftest import _land_shipped_schemes

    with tempfile.TemporaryDirectory() as landed:
        _land_shipped_schemes(Path(landed))
        for name in names:
            with scratch() as folder:
                lay(Path(landed), folder)
                text = (ROOT / name).read_text(encoding="utf-8")
                for block, made in reversed(list(run(text, folder))):
                    text = text[: block.start] + made + text[block.end :]
                (ROOT / name).write_text(text, encoding="utf-8")
                print(f"wrote {name}")


def lay(landed: Path, folder: Path) -> None:
    """Put what has landed in a folder of rounds where a copy of the checkout has its own."""
    (folder / FILE).parent.mkdir(parents=True, exist_ok=True)
    for each in landed.glob("warehouse.*duckdb"):
        (folder / FILE).parent.joinpath(each.name).write_bytes(each.read_bytes())


if __name__ == "__main__":
    main(sys.argv[1:])
