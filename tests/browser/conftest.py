"""Where screenshots go, and the browser's helpers on the path."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # `import chromium` in any browser test


@pytest.fixture
def screenshots(tmp_path: Path) -> Path:
    """A folder for pictures of what was tested: LDPFLOW_SCREENSHOTS where it is set, which CI keeps."""
    folder = Path(os.environ.get("LDPFLOW_SCREENSHOTS", tmp_path / "screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
