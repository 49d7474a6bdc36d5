"""Arrow's columns of numbers are read as numpy's are, whole or in chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpcore as dp
from dpcore.errors import InvalidRecord

X = dp.Scheme.from_toml(
    'name = "x"\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = 1\ncells = 64\n'
).attributes["x"]
REPEATED = [0.25, 0.5, 2.0, -1.0, 0.75]
COLUMNS: dict[str, Any] = {
    "whole": pa.array(REPEATED),
    "slice": pa.array([9.0, *REPEATED])[1:],
    "chunk": pa.chunked_array([pa.array([9.0, *REPEATED])]).slice(1),
    "chunks": pa.chunked_array([REPEATED[:2], REPEATED[2:]]),
    "empty chunks": pa.chunked_array([[], REPEATED, []], pa.float64()),
    "single": pa.array(REPEATED, pa.float32()),
    "texts": pa.array(list(map(str, REPEATED))),
}


def test_cells_are_those_of_a_list(subtests: pytest.Subtests) -> None:
    for kind in COLUMNS:
        with subtests.test(kind=kind):
            assert X.encode(COLUMNS[kind]).tolist() == X.encode(np.array(REPEATED)).tolist()
            assert COLUMNS[kind].to_pylist() in (REPEATED, list(map(str, REPEATED)))  # as they were


def test_no_value_is_told_by_its_place(subtests: pytest.Subtests) -> None:
    for column in [pa.array([0.5, None]), pa.chunked_array([[0.5], [None]]), pa.array([0.5, np.nan])]:
        with subtests.test(column=column), pytest.raises(InvalidRecord, match="column 'x' has no value at record 2"):
            X.encode(column)


def test_nobody(subtests: pytest.Subtests) -> None:
    for column in [pa.chunked_array([], pa.float64()), pa.array([], pa.float64())]:
        with subtests.test(column=column):
            assert X.encode(column).tolist() == []
