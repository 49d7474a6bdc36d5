"""A copy of the checkout's files to run commands in, what these find around them, and how what they print is compared."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
PORTS = ("8080", "4200")  # the collector's and Prefect's, as pages name them
_KEPT = ("HOME", "LANG", "TMPDIR", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@contextmanager
def scratch() -> Iterator[Path]:
    """A copy of the checkout's files, without what runs made."""
    with tempfile.TemporaryDirectory(prefix="ldpflow-") as name:
        folder = Path(name) / "ldpflow"
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        for each in filter(None, subprocess.check_output(listed, cwd=ROOT, text=True).split("\0")):
            if (ROOT / each).is_file():
                (folder / each).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / each, folder / each)
        yield folder


def environment(ports: Mapping[str, str]) -> dict[str, str]:
    """What commands find: this environment's programs, a width for tables, and ports of their own in place of PORTS."""
    own = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
    own |= {"PREFECT_SERVER_API_PORT": ports["4200"], "COLLECTOR_PORT": ports["8080"], "PYTHONWARNINGS": "ignore"}
    return {name: os.environ[name] for name in _KEPT if name in os.environ} | {"DO_NOT_TRACK": "1"} | own


def exchanged(text: str, ports: Mapping[str, str]) -> str:
    """The text with some ports in place of others."""
    for one, other in ports.items():
        text = re.sub(rf"(?<![\w.]){one}(?!\w)", other, text)
    return text


def shape(text: str) -> str:
    """A text without what chance, the day and the width of columns change: digits, names of runs, rules, blanks, verdicts."""
    text = re.sub(r"(<!-- rows vary -->\s+```text\n.*\n)[^`]*", r"\1", text)
    text = re.sub(
        r"\b(?=[0-9]*[a-f])[0-9a-f]{8,}\b|[A-Za-z0-9_-]{20,}(?=[\"'])|(?<=\":\")A[A-Za-z0-9_-]+(?=\")", "#", text
    )
    text = re.sub(r"[-+−]?[0-9][0-9.,:]*(e-[0-9]+)?", "#", text)
    text = re.sub(r"\b(yes|no|perhaps|True|False)\b(?= *$)", "?", text, flags=re.MULTILINE)
    return re.sub(r"[─\s]+", " ", text).strip()
