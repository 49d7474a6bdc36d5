"""The queries of `queries.sql`, each after a line `-- name: NAME`; its first line describes a row of the result."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

Ask = Callable[[str], "pd.DataFrame"]


@dataclass(frozen=True)
class Query:
    """SQL as it is run, and a description of a row of its result."""

    a_row: str
    sql: str


def read_query(name: str, **values: str) -> Query:
    """Return a query with its $names replaced by literals, so that a page shows the SQL that was run."""
    first, sql = queries()[name].split("\n", 1)
    literals = {key: "'" + value.replace("'", "''") + "'" for key, value in values.items()}
    sql = re.sub(r"\$([a-z_]+)", lambda match: literals[match[1]], sql).strip()
    return Query(first.removeprefix("-- "), sql)


@cache
def queries() -> dict[str, str]:
    """Return the texts of the queries by name."""
    from dpcore.results.warehouse.views import named_statements  # with DuckDB, which a watch loads when it asks

    return named_statements(files(__package__) / "queries.sql")
