"""Where screenshots of the browser's tests go."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def screenshots(tmp_path: Path) -> Path:
    """A folder for pictures of what was tested: LDPFLOW_SCREENSHOTS where it is set, which CI keeps."""
    folder = Path(os.environ.get("LDPFLOW_SCREENSHOTS", tmp_path / "screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
