"""The queries of `queries.sql`, each after a line `-- name: NAME`; its first line describes a row of the result.

Also a summary of the newest landed round, for monitoring.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore.errors import WarehouseError
from dpcore.results import warehouse

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


class NothingLanded(WarehouseError):
    """The warehouse is valid but has no landed round."""

    def __init__(self) -> None:
        super().__init__("warehouse: no round has landed yet; run `ldpflow run` first")


@dataclass(frozen=True, kw_only=True)
class Newest:
    """Summary of a round.

    flow_run_id: of the flow that landed it, None for a command.  failed: names of the failed checks.
    epsilon: spent by a client who answered in every round, a simulated one where is_simulated.
    """

    run_id: str
    flow_run_id: str | None
    scheme: str
    round: str
    is_simulated: bool
    landed_at: datetime
    accepted: int
    rejected: int
    checks: int
    failed: list[str]
    epsilon: float | None
    rounds: int


def newest(path: str | Path) -> Newest:
    """Return the newest landed round; raises NothingLanded if there is none.

    It is read without a frame or a picture, because `ldpflow watch` asks for it every 30 seconds.
    """
    runs = _records(path, read_query("newest").sql)
    if not runs:
        raise NothingLanded
    (spent,) = _records(path, read_query("spent", run_id=runs[0]["run_id"]).sql)
    return Newest(**runs[0], epsilon=spent["epsilon"], rounds=spent["rounds"])


def _records(path: str | Path, sql: str) -> list[dict[str, Any]]:
    columns, rows = warehouse.rows(path, sql)
    return [dict(zip(columns, row, strict=True)) for row in rows]
