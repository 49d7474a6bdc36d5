"""Fixtures of the laboratory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.helpers.kept_open import kept_open


@pytest.fixture(autouse=True)
def light_warehouses(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let the warehouse of a quick test stay open, unpublished: studies open it once for each piece that they measure."""
    if not {"fresh", "created"} & set(request.fixturenames) or request.node.get_closest_marker("slow"):
        yield
        return
    with kept_open():
        yield
