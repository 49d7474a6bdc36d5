"""Fixtures of results."""

from __future__ import annotations

import pytest

ABOUT_FILES = {
    "test_warehouse_connection.py",
    "test_warehouse_migrations.py",
    "test_warehouse_published.py",
    "test_warehouse_queries.py",
    "test_an_outsider_can_read_the_file",
    "test_the_shell_cannot_change_the_copy",
}  # how warehouses are opened, for whom, migrated and published


@pytest.fixture(autouse=True)
def light_where_files_do_not_matter(request: pytest.FixtureRequest) -> None:
    """Let the warehouses of a test stay open, unpublished, where the test is not about that."""
    if not ({request.path.name, request.node.name} & ABOUT_FILES or request.node.get_closest_marker("slow")):
        request.getfixturevalue("light_warehouses")
