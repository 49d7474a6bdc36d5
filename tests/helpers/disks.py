"""A disk that is soon full: a file system of so many megabytes in memory."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(place: Path, megabytes: int) -> Iterator[Path]:
    """Mount it, and take it away at the end; a test is skipped where nothing may be mounted."""
    place.mkdir()
    made = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "ldpflow-test", str(place)]
    if os.getuid() or subprocess.run(made, capture_output=True, check=False).returncode:
        pytest.skip("needs to mount a small disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def enlarge(place: Path, megabytes: int) -> None:
    """Give it more room."""
    subprocess.run(["mount", "-o", f"remount,size={megabytes}m", str(place)], check=True)
