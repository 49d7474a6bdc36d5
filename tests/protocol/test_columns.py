"""A column of categories is the same people whatever holds it: a list, numpy, pandas or Arrow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpcore as dp
from dpcore.errors import InvalidRecord

SCHEME = """
name = "columns"
[attributes.job]
type = "categorical"
categories = ["clerk", "nurse", "driver", "other"]
codes = { "2" = "nurse" }
mechanism = "randomized_response"
epsilon = 1
"""
NAMES = ["nurse", "clerk", "driver", "nurse", "2", "clerk"]
HOLDERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "objects": lambda names: np.array(names, dtype=object),
    "series": lambda names: pd.Series(names, dtype=object),
    "texts": lambda names: pd.Series(names, dtype="str"),
    "arrow texts": lambda names: pd.Series(names, dtype=pd.ArrowDtype(pa.string())),
    "categorical": lambda names: pd.Series(
        pd.Categorical(names, categories=["driver", "2", "nurse", "clerk", "pilot"])
    ),
    "arrow": pa.array,
    "arrow dictionary": lambda names: pa.array(names).dictionary_encode(),
    "arrow chunks": lambda names: pa.chunked_array(
        [pa.array(names[:2], pa.string()), pa.array(names[2:], pa.string())]
    ),
    "arrow chunks of dictionaries": lambda names: pa.chunked_array(
        [pa.array(part, pa.string()).dictionary_encode() for part in (names[:2], names[2:])]
    ),
}
FULL = {**HOLDERS, "numpy texts": np.array}  # which have no missing value


def _job(column: Any, *more: str) -> np.ndarray:
    return dp.Scheme.from_toml("\n".join((SCHEME, *more)) + "\n").encode({"job": column})["job"]


@pytest.mark.parametrize("holder", FULL)
def test_cells_are_those_of_a_list(holder: str) -> None:
    assert _job(FULL[holder](NAMES)).tolist() == [1, 0, 2, 1, 1, 0]
    assert _job(FULL[holder](["clerk"] * 3)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("holder", FULL)
def test_an_unknown_name_is_refused_by_its_position(holder: str) -> None:
    with pytest.raises(InvalidRecord, match="not one of the scheme's categories at record 4"):
        _job(FULL[holder]([*NAMES[:3], "pilot", "nurse"]))
    assert _job(FULL[holder]([*NAMES[:3], "pilot"]), 'outside = "other"').tolist() == [1, 0, 2, 3]


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_missing_value_is_refused_or_a_category(holder: str) -> None:
    with pytest.raises(InvalidRecord, match="has no value"):
        _job(HOLDERS[holder]([*NAMES, None]))
    assert _job(HOLDERS[holder]([*NAMES[:3], None, "clerk"]), 'missing = "category"').tolist() == [1, 0, 2, 4, 0]


@pytest.mark.parametrize("column", [pa.array([[1], [2]]), pa.array([True, False]), [{"clerk"}, "clerk"]])
def test_what_is_neither_text_nor_number_is_refused(column: Any) -> None:
    with pytest.raises(InvalidRecord, match="must hold texts or numbers"):
        _job(column)


def test_codes_that_are_numbers_are_read_from_arrow_as_from_lists() -> None:
    assert _job(pa.array([2, 2])).tolist() == _job([2, 2]).tolist() == [1, 1]
