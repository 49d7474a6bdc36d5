"""Fixtures of the laboratory."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def light_quick_warehouses(request: pytest.FixtureRequest) -> None:
    """Let the warehouse of a quick test stay open, unpublished: studies open it once for each piece that they measure."""
    if {"fresh", "created"} & set(request.fixturenames) and not request.node.get_closest_marker("slow"):
        request.getfixturevalue("light_warehouses")
