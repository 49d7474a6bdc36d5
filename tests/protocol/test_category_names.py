"""Names are read as an obvious twin reads them, one by one from a dictionary, whatever the form they come in."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpcore.errors import InvalidRecord
from dpcore.protocol.records import category_names
from dpcore.protocol.records.category_names import ABSENT, UNKNOWN, Names, Texts
from dpcore.protocol.syntax.attribute_types import CODES

NOTHING = ("", "na", "n/a", "nan", "null", "none")
TEXTS = st.text(st.sampled_from("ab\0é\ud800\U0001f600 0.n\u0301e"), max_size=4)
KNOWN = st.lists(TEXTS.filter(bool), min_size=1, max_size=8, unique=True)
CODED = {"1": "one", "02": "two", "-3": "three"}
FEW, MANY = ["one", "two", "three", "é", "\U0001f600"], [f"the name of {i}" for i in range(700)]


def obvious(known: list[str], values: list[Any], codes: dict[str, str] | None = None) -> list[int]:
    """The category of each value."""
    spellings: dict[Any, int] = {name: place for place, name in enumerate(known)}
    spellings |= {code: spellings[name] for code, name in (codes or {}).items()}
    spellings |= {int(text): place for text, place in spellings.items() if text.lstrip("-").isdigit()}
    cells = []
    for value in values:
        is_absent = value is None or value == "" or (isinstance(value, float) and math.isnan(value))
        cells.append(ABSENT if is_absent else spellings.get(value, UNKNOWN))
        if cells[-1] == UNKNOWN and isinstance(value, str):
            alike = {
                place for text, place in spellings.items() if isinstance(text, str) and trimmed(text) == trimmed(value)
            }
            (cells[-1],) = alike if len(alike) == 1 else {ABSENT if value.strip().lower() in NOTHING else UNKNOWN}
    return cells


def trimmed(text: str) -> str:
    """A text composed, without blanks around it, and of a whole number without its point."""
    composed = unicodedata.normalize("NFC", text).strip()
    return re.sub(r"^(-?\d+)\.0+$", r"\1", composed)


@given(KNOWN, st.lists(TEXTS, max_size=20), st.booleans(), st.integers(0, 3))
@example(["a", "a\0", "a\0b"], ["a", "a\0", "a\0b", "b", ""], False, 0)
@example(["ab", "a"], ["a", "b"], False, 0)
def test_numpys_texts_are_those_of_their_list(known: list[str], said: list[str], swaps: bool, wider: int) -> None:
    column = np.array([*known, *said])
    column = column.astype(f"U{column.dtype.itemsize // 4 + wider}")
    column = column.astype(column.dtype.newbyteorder("S")) if swaps else column
    for part in (column, column[::2], column[len(known) :], column[:0]):
        listed = part.tolist()  # without zeros at the ends, which numpy does not keep
        places = Texts(known).places(part)
        assert [known[place] if place >= 0 else None for place in places.tolist()] == [
            text if text in known else None for text in listed
        ]
        assert Names("x", known, {}).cells(part).tolist() == obvious(known, listed)


def test_tables_that_would_be_too_large_find_nothing_and_names_are_read_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    column = np.array([*FEW, "four", ""])
    monkeypatch.setattr(category_names, "_LARGEST", 40)
    assert Texts(FEW).places(column).tolist() == [-1] * 7
    monkeypatch.setattr(category_names, "_LARGEST", 4)
    assert Texts(FEW).places(column).tolist() == [-1] * 7
    assert Names("x", FEW, {}).cells(column).tolist() == [0, 1, 2, 3, 4, UNKNOWN, ABSENT]


@pytest.mark.parametrize("known", [FEW, MANY], ids=["few", "many"])
def test_columns_longer_than_what_is_compared_at_a_time(known: list[str]) -> None:
    places = np.random.default_rng(5).integers(0, len(known), 3 * category_names._ROWS + 7)
    column = np.array(known)[places]
    assert Texts(known).places(column).tolist() == places.tolist()
    column[category_names._ROWS + 1] = known[0][:-1] + "!"
    assert np.flatnonzero(Texts(known).places(column) < 0).tolist() == [category_names._ROWS + 1]


FORMS: dict[str, Any] = {
    "list": list,
    "tuple": tuple,
    "objects": lambda values: np.array(values, dtype=object),
    "series": lambda values: pd.Series(values, dtype=object),
}
TYPED: dict[str, Any] = {
    "numpy texts": np.array,
    "pandas texts": lambda values: pd.Series(values, dtype="str"),
    "categorical": lambda values: pd.Series(values, dtype="category"),
    "arrow": lambda values: pa.array(values, pa.string()),
    "arrow chunks": lambda values: pa.chunked_array([pa.array(values[:3], pa.string()), pa.array(values[3:])]),
    "arrow bytes as places": lambda values: pa.DictionaryArray.from_arrays(
        pa.array(
            [None if value is None else sorted({*filter(None, values)}).index(value) for value in values], pa.uint8()
        ),
        pa.array(sorted({*filter(None, values)})),
    ),
}


def test_texts_codes_and_what_is_none_in_every_form(subtests: pytest.Subtests) -> None:
    for form in [*FORMS, *TYPED]:
        for known in [FEW, [*FEW, *MANY]]:
            with subtests.test(form=form, known=known):
                said = ["one", "é", "1", "02", "three", "\U0001f600"]
                for values in (said, said * 50, [*said, "four"], [*said, "2"], [*said, ""], [*said, None]):
                    if (form == "numpy texts" and None in values) or (form == "arrow bytes as places" and "" in values):
                        continue
                    cells = Names("x", known, CODED).cells((FORMS | TYPED)[form](values))
                    assert cells.dtype == np.int64
                    assert cells.tolist() == obvious(known, values, CODED)


def test_numbers_among_texts(subtests: pytest.Subtests) -> None:
    for form in FORMS:
        with subtests.test(form=form):
            values = ["one", 1, 1.0, -3, np.int8(2), np.str_("two"), 2, None, math.nan, 5, 1.5]
            assert Names("x", FEW, CODED).cells(FORMS[form](values)).tolist() == obvious(FEW, values, CODED)


def test_booleans_are_the_texts_true_and_false(subtests: pytest.Subtests) -> None:
    for form in FORMS:
        with subtests.test(form=form):
            values = [True, "true", np.False_, None, "one"]
            assert Names("x", ["false", "true"], CODES).cells(FORMS[form](values)).tolist() == [
                1,
                1,
                0,
                ABSENT,
                UNKNOWN,
            ]
            assert Names("x", FEW, {}).cells(FORMS[form](values)).tolist() == [UNKNOWN] * 3 + [ABSENT, 0]


def test_spellings_of_files_are_the_category(subtests: pytest.Subtests) -> None:
    known = Names("x", ["café", "1", "-20", "None"], {"7": "café"})
    spelled = {
        "cafe\u0301": 0,
        " café\xa0": 0,
        "7.0": 0,
        " 1 ": 1,
        "1.00": 1,
        "-20.0": 2,
        "None": 3,
        "none": ABSENT,
        " NA": ABSENT,
    }
    for value, place in (spelled | {"1.5": UNKNOWN, "Café": UNKNOWN, "+1": UNKNOWN, "01": UNKNOWN}).items():
        with subtests.test(value=value):
            assert known.cells([value]).tolist() == [place]


def test_what_is_neither_text_nor_number_is_refused_among_names(subtests: pytest.Subtests) -> None:
    for form in FORMS:
        for odd in [["one"], {"one"}]:
            with subtests.test(form=form, odd=odd):
                values = np.empty(3, dtype=object)
                values[:] = ["one", "two", None]
                values[2] = odd
                with pytest.raises(InvalidRecord, match="column 'x' must hold texts or numbers"):
                    Names("x", FEW, CODED | {"0": "two"}).cells(
                        FORMS[form](list(values)) if form != "objects" else values
                    )
