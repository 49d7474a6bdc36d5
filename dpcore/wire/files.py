"""A file appears whole under its name or not at all: written beside it, then moved."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Make folders, let `write` fill a file beside `path`, and move it there; a failed write leaves nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        write(beside)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes as `write_whole` does."""
    write_whole(path, lambda beside: beside.write_bytes(content))
