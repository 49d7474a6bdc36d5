"""A column of categories is the same people whatever holds it: a list, numpy, pandas or Arrow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpcore as dp
from dpcore.errors import InvalidRecord
from dpcore.protocol.records.arrow_columns import as_columns
from dpcore.protocol.records.blocks import Table

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


def test_cells_are_those_of_a_list(subtests: pytest.Subtests) -> None:
    for holder in FULL:
        with subtests.test(holder=holder):
            assert _job(FULL[holder](NAMES)).tolist() == [1, 0, 2, 1, 1, 0]
            assert _job(FULL[holder](["clerk"] * 3)).tolist() == [0, 0, 0]


def test_an_unknown_name_is_refused_by_its_position(subtests: pytest.Subtests) -> None:
    for holder in FULL:
        with subtests.test(holder=holder):
            with pytest.raises(InvalidRecord, match="not one of the scheme's categories at record 4"):
                _job(FULL[holder]([*NAMES[:3], "pilot", "nurse"]))
            assert _job(FULL[holder]([*NAMES[:3], "pilot"]), 'outside = "other"').tolist() == [1, 0, 2, 3]


def test_a_missing_value_is_refused_or_a_category(subtests: pytest.Subtests) -> None:
    for holder in HOLDERS:
        with subtests.test(holder=holder):
            with pytest.raises(InvalidRecord, match="has no value"):
                _job(HOLDERS[holder]([*NAMES, None]))
            assert _job(HOLDERS[holder]([*NAMES[:3], None, "clerk"]), 'missing = "category"').tolist() == [
                1,
                0,
                2,
                4,
                0,
            ]


X = dp.Scheme.from_toml('name = "x"\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 8\nepsilon = 1\ncells = 64\n')


def test_what_stands_below_a_mask_is_not_read(subtests: pytest.Subtests) -> None:
    for column in [["clerk", "nurse"], np.array(["clerk", 2], dtype=object), [7, 2]]:
        with subtests.test(column=column):
            masked = np.ma.array(column, mask=[True, False])
            assert _job(masked, 'missing = "category"').tolist() == [4, 1]
            with pytest.raises(InvalidRecord, match="has no value at record 1"):
                _job(masked)


def test_what_stands_below_a_mask_of_numbers_is_not_read(subtests: pytest.Subtests) -> None:
    for kind in [np.int32, np.float64]:
        with subtests.test(kind=kind):
            assert X.encode({"x": np.ma.array([1, 2], kind)})["x"].tolist() == X.encode({"x": [1, 2]})["x"].tolist()
            with pytest.raises(InvalidRecord, match="has no value at record 2"):
                X.encode({"x": np.ma.array([1, 2], kind, mask=[False, True])})


def test_tables_of_other_libraries_are_read_by_name() -> None:
    scheme = dp.Scheme.from_toml(SCHEME)
    people = pa.table({"job": ["clerk", "nurse", "2"]})
    for records in (people, people.to_reader(), duckdb.sql("from people"), people.to_pandas()):
        assert scheme.encode(records)["job"].tolist() == [0, 1, 1]
    assert len(Table(as_columns(duckdb.sql("from people")))) == 3


def test_what_is_neither_text_nor_number_is_refused(subtests: pytest.Subtests) -> None:
    for column in [pa.array([[1], [2]]), [{"clerk"}, "clerk"]]:
        with subtests.test(column=column), pytest.raises(InvalidRecord, match="must hold texts or numbers"):
            _job(column)


def test_codes_that_are_numbers_are_read_from_arrow_as_from_lists() -> None:
    assert _job(pa.array([2, 2])).tolist() == _job([2, 2]).tolist() == [1, 1]


CODED = (
    'name = "coded"\n[attributes.job]\ntype = "categorical"\ncategories = ["a", "b", "c"]\nepsilon = 1\n'
    'codes = { "-3" = "a", "250" = "b", "7" = "c" }\n'
)


def test_numpys_codes_are_those_of_a_list(subtests: pytest.Subtests) -> None:
    for kind in [np.int8, np.int16, np.int64, np.uint8, np.uint64]:
        with subtests.test(kind=kind):
            scheme = dp.Scheme.from_toml(CODED)
            codes = [7, 7, -3, 7] if np.iinfo(kind).min < 0 else [7, 250, 250, 7]
            for column in (
                np.array(codes * 200, dtype=kind),
                pd.Series(codes * 200, dtype=kind),
                np.array(codes, dtype=kind),
            ):
                listed = scheme.encode({"job": column.tolist()})["job"]
                assert scheme.encode({"job": column})["job"].tolist() == listed.tolist()


def test_a_code_that_nobody_listed_is_refused_by_its_position(subtests: pytest.Subtests) -> None:
    words = "not one of the scheme's categories at record 601"
    for code in [8, 100, -128, 127]:
        with subtests.test(code=code), pytest.raises(InvalidRecord, match=words):
            dp.Scheme.from_toml(CODED).encode({"job": np.array([7] * 600 + [code], dtype=np.int8)})


def test_codes_beyond_what_an_index_counts_are_looked_up_one_by_one() -> None:
    with pytest.raises(InvalidRecord, match="not one of the scheme's categories at record 1"):
        dp.Scheme.from_toml(CODED).encode({"job": np.array([2**64 - 1, 2**64 - 2], dtype=np.uint64)})


@pytest.mark.parametrize("rest", ["", 'missing = "category"\n', "step = 1\n"], ids=["number", "nonresponse", "points"])
@pytest.mark.parametrize("holder", [list, np.array, pa.array, pd.Series], ids=["list", "numpy", "arrow", "series"])
@pytest.mark.parametrize("lists", [[[1, 2], [3, 4]], [[1, 2], [3, 4], [5, 6]]])
def test_a_list_of_numbers_is_not_several_respondents(lists: Any, holder: Callable[[Any], Any], rest: str) -> None:
    numbers = 'name = "n"\n[attributes.a]\ntype = "numeric"\nlower = 0\nupper = 10\nepsilon = 1\n' + rest
    with pytest.raises(InvalidRecord, match="column 'a' must hold numbers"):
        dp.Scheme.from_toml(numbers).encode({"a": holder(lists)})
