"""Every table, view and macro of the warehouse, of the comments that it holds itself."""

from __future__ import annotations

from tests.programs.reference import markdown
from tests.programs.reference.catalogue import catalogue

_BEFORE = """Any client of DuckDB shows the same: `select column_name, comment from duckdb_columns() where table_name = 'runs'`.
[Thirty-five questions](questions.md) show how to query them. [What a round is](../../README.md#rounds)."""


def page() -> str:
    """Return the page."""
    return markdown.page("Tables, views and macros", _BEFORE, catalogue())
