"""What is loaded by whoever does something: the modules of processes that begin with the standard library alone.

`python -m tests.helpers.loaded` reads from standard input what to do, and writes what each has loaded.  Each is a fork of one
process, as fresh as a new one, and costs what it loads.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Loaded(NamedTuple):
    """How it ended, 0 for well; what was printed; the modules that were loaded then."""

    status: int
    said: str
    modules: list[str]


def loaded(folder: Path, first: str, entries: Mapping[str, Sequence[str]]) -> dict[str, Loaded]:
    """Do each in the folder, in order, and return what each has loaded beyond the module `first`, which all have.

    An entry is `import` and a module, `ldpflow` and a command, or `report` and the file of a canonical scheme.
    """
    asked = json.dumps({"folder": str(folder), "first": first, "entries": entries})
    command = [sys.executable, "-m", "tests.helpers.loaded"]
    done = subprocess.run(command, input=asked, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
    return {name: Loaded(*each) for name, each in json.loads(done.stdout).items()}


class _Said(StringIO):
    """Standard output that has a collector stop as soon as it says where it is."""

    def write(self, text: str, /) -> int:
        if text.startswith("collecting at"):
            import asyncio
            import signal

            asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGINT)
        return super().write(text)


def _do(kind: str, *given: str) -> None:
    if kind == "import":
        import_module(given[0])
    elif kind == "ldpflow":
        from dpcore.cli import main

        main(list(given))
    else:
        _report(Path(given[0]))


def _report(file: Path) -> None:
    from dpcore._random import secure
    from dpcore.client import Client
    from dpcore.protocol.scheme import Scheme
    from dpcore.wire import write_report

    scheme = Scheme.from_toml(file)
    record = {a.column: float(a.lower) if a.is_numeric else a.categories[0] for a in scheme.attributes.values()}
    write_report(Client(scheme, secure()).report(record), scheme)


def _forked(what: Sequence[str], before: set[str]) -> Loaded:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        said, status = _Said(), 0
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                _do(*what)
            except SystemExit as stop:
                status = int(stop.code or 0)
            except BaseException:
                status = 1
                traceback.print_exc()
        with open(write, "w") as pipe:
            json.dump((status, said.getvalue(), sorted(set(sys.modules) - before)), pipe)
        os._exit(0)
    os.close(write)
    with open(read) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return Loaded(*json.loads(answer))


def _main() -> None:
    asked = json.load(sys.stdin)
    if asked["first"]:
        import_module(asked["first"])
    before = set(sys.modules) if asked["first"] else set()
    os.chdir(asked["folder"])
    json.dump({name: _forked(what, before) for name, what in asked["entries"].items()}, sys.stdout)


if __name__ == "__main__":
    _main()
