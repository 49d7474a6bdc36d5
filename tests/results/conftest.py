"""Fixtures of results."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.helpers.kept_open import kept_open

ABOUT_FILES = {
    "test_warehouse_connection.py",
    "test_warehouse_migrations.py",
    "test_warehouse_published.py",
    "test_warehouse_queries.py",
    "test_an_outsider_can_read_the_file",
    "test_the_shell_cannot_change_the_copy",
}  # how warehouses are opened, for whom, migrated and published


@pytest.fixture(autouse=True)
def light_warehouses(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let the warehouses of a test stay open, unpublished, where the test is not about that."""
    if {request.path.name, request.node.name} & ABOUT_FILES or request.node.get_closest_marker("slow"):
        yield
        return
    with kept_open():
        yield
