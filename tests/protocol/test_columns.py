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


X = dp.Scheme.from_toml('name = "x"\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 8\nepsilon = 1\ncells = 64\n')


@pytest.mark.parametrize("column", [["clerk", "nurse"], np.array(["clerk", 2], dtype=object), [7, 2]])
def test_what_stands_below_a_mask_is_not_read(column: Any) -> None:
    masked = np.ma.array(column, mask=[True, False])
    assert _job(masked, 'missing = "category"').tolist() == [4, 1]
    with pytest.raises(InvalidRecord, match="has no value at record 1"):
        _job(masked)


@pytest.mark.parametrize("kind", [np.int32, np.float64])
def test_what_stands_below_a_mask_of_numbers_is_not_read(kind: type[np.number]) -> None:
    assert X.encode({"x": np.ma.array([1, 2], kind)})["x"].tolist() == X.encode({"x": [1, 2]})["x"].tolist()
    with pytest.raises(InvalidRecord, match="has no value at record 2"):
        X.encode({"x": np.ma.array([1, 2], kind, mask=[False, True])})


@pytest.mark.parametrize("column", [pa.array([[1], [2]]), pa.array([True, False]), [{"clerk"}, "clerk"]])
def test_what_is_neither_text_nor_number_is_refused(column: Any) -> None:
    with pytest.raises(InvalidRecord, match="must hold texts or numbers"):
        _job(column)


def test_codes_that_are_numbers_are_read_from_arrow_as_from_lists() -> None:
    assert _job(pa.array([2, 2])).tolist() == _job([2, 2]).tolist() == [1, 1]


CODED = (
    'name = "coded"\n[attributes.job]\ntype = "categorical"\ncategories = ["a", "b", "c"]\nepsilon = 1\n'
    'codes = { "-3" = "a", "250" = "b", "7" = "c" }\n'
)


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int64, np.uint8, np.uint64])
def test_numpys_codes_are_those_of_a_list(kind: type[np.integer]) -> None:
    scheme = dp.Scheme.from_toml(CODED)
    codes = [7, 7, -3, 7] if np.iinfo(kind).min < 0 else [7, 250, 250, 7]
    for column in (np.array(codes * 200, dtype=kind), pd.Series(codes * 200, dtype=kind), np.array(codes, dtype=kind)):
        listed = scheme.encode({"job": column.tolist()})["job"]
        assert scheme.encode({"job": column})["job"].tolist() == listed.tolist()


@pytest.mark.parametrize("code", [8, 100, -128, 127])
def test_a_code_that_nobody_listed_is_refused_by_its_position(code: int) -> None:
    with pytest.raises(InvalidRecord, match="not one of the scheme's categories at record 601"):
        dp.Scheme.from_toml(CODED).encode({"job": np.array([7] * 600 + [code], dtype=np.int8)})


def test_codes_beyond_what_an_index_counts_are_looked_up_one_by_one() -> None:
    with pytest.raises(InvalidRecord, match="not one of the scheme's categories at record 1"):
        dp.Scheme.from_toml(CODED).encode({"job": np.array([2**64 - 1, 2**64 - 2], dtype=np.uint64)})
