"""The peers' packages, measured in an environment of their own by `peers/script.py`, which this module asks."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dpcore.errors import SchemeError
from dpcore.laboratory.studies import peers as _folder

VECTOR = "discrete_laplace"  # one call of many noise coordinates
SCRIPT = Path(str(_folder.__file__)).with_name("script.py")


@dataclass(frozen=True, eq=False)
class Peers:
    """A process that has the peers imported; faults: peer -> why it was not, '' where it was."""

    faults: Mapping[str, str]
    _questions: IO[str]
    _answers: IO[str]

    def rates(self, operation: str, size: int) -> dict[str, float]:
        """Return peer -> how many a second of processor time, of those that have it; size: categories, or noise in a call."""
        print(operation, size, file=self._questions, flush=True)
        return {str(name): float(rate) for name, rate in _line(self._answers).items()}


@contextmanager
def start(folder: Path) -> Iterator[Peers | None]:
    """Start the peers of an environment, and end them afterwards; None where there is no environment.

    folder: a virtual environment.  Raises SchemeError where its interpreter does not answer.
    """
    python = folder / "bin" / "python"
    if not folder.exists():
        yield None
        return
    if not python.exists():
        raise SchemeError(
            f"{folder} is no virtual environment: it has no bin/python; make peers makes one in .venv-peers"
        )
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [str(python), str(SCRIPT)], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise SchemeError("the peers' interpreter has no pipes")
        try:
            yield Peers(_line(process.stdout), process.stdin, process.stdout)
        finally:
            process.stdin.close()
            process.kill()


def _line(answers: IO[str]) -> dict[str, str]:
    line = answers.readline()
    if not line:
        raise SchemeError("the peers' interpreter ended without an answer; make its environment anew: make peers")
    answer: dict[str, str] = json.loads(line)
    return answer
