"""Fixtures of rounds."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import pytest


@pytest.fixture(scope="module")
def unpublished() -> Iterator[None]:
    """Let warehouses have no published copy, a fifth of a small round's time; `tests/results` has what it is for."""
    published = import_module("dpcore.results.warehouse.published")  # the package has a function of that name
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(published, "_publish", lambda *_: None)
        yield
