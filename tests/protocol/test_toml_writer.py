"""The spelling of canonical schemes: read back by the standard library as what was written."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.protocol.syntax import canonical

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXTS, lambda inner: st.lists(inner, max_size=3), max_leaves=8
)
TABLES = st.recursive(
    st.dictionaries(TEXTS, VALUES, max_size=3),
    lambda inner: st.dictionaries(TEXTS, VALUES | inner, max_size=3),
    max_leaves=5,
)


@given(TABLES)
def test_what_is_written_reads_back(table: dict[str, object]) -> None:
    text = canonical.dumps(table)
    assert tomllib.loads(text) == table
    assert canonical.dumps(tomllib.loads(text)) == text


def test_a_list_has_a_line_for_each_entry_and_tables_come_last() -> None:
    table = {"a": {"b": {"c": []}}, "d": [[1], ["\t\x01"]], "e f": True, "g": {}}
    assert canonical.dumps(table) == (
        'd = [\n    [\n        1,\n    ],\n    [\n        "\t\\u0001",\n    ],\n]\n"e f" = true\n\n[a.b]\nc = []\n\n[g]\n'
    )


def test_a_float_has_no_one_spelling_and_is_refused() -> None:
    with pytest.raises(TypeError, match="float"):
        canonical.dumps({"epsilon": 0.1})
