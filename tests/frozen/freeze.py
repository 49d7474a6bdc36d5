"""Freeze what ldpflow does: python tests/frozen/freeze.py [NAME]..., when it is to do something else from now on.

Never run it to make a test pass: a test that fails says that a change of the inside is a change of what people get.  Where
that was wanted, run it, read what `git diff` shows line by line, and say in the commit what has changed and why.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.frozen import asked, behaviour
from tests.frozen.awkward import awkward


def main(names: list[str]) -> None:
    for name, find in (behaviour.FAST | {"flows": asked.flows}).items():
        if not names or name in names:
            behaviour.keep(name, find())
    for name, find_in in (behaviour.ROUNDS | {"awkward": awkward}).items():
        if not names or name in names:
            with tempfile.TemporaryDirectory() as folder:
                behaviour.keep(name, find_in(Path(folder)))


if __name__ == "__main__":
    main(sys.argv[1:])
