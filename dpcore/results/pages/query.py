"""The SQL of pages: files of `queries`, each the SQL of one answer, whose first line says what a row is."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import pandas as pd

Ask = Callable[[str], pd.DataFrame]


@dataclass(frozen=True)
class Query:
    """SQL as it was run, and what a row of its answer is."""

    a_row: str
    sql: str


def read_query(name: str, **values: str) -> Query:
    """Return a query with its $names replaced by text literals, so that what is shown is what was run."""
    first, sql = _text(name).split("\n", 1)
    literals = {key: "'" + value.replace("'", "''") + "'" for key, value in values.items()}
    sql = re.sub(r"\$([a-z_]+)", lambda match: literals[match[1]], sql).strip()
    return Query(first.removeprefix("-- "), sql)


@cache
def _text(name: str) -> str:
    return (files(__package__) / "queries" / f"{name}.sql").read_text(encoding="utf-8")
