"""Categories of a column's values, for every type of column.

Types that list their distinct values are looked up once per distinct value: Arrow dictionaries, pandas categories and texts,
and whole numbers in a small range.  numpy texts are compared as code points (`fixed_width_text`).  All others are looked up
value by value.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np

from dpcore.errors import InvalidRecord
from dpcore.protocol.records.arrow_columns import as_numpy, is_arrow, whole
from dpcore.protocol.records.fixed_width_text import Texts

UNKNOWN, ABSENT = -1, -2  # in place of a category: another value, or no value
_WHOLE = re.compile(r"-?[0-9]{1,40}")  # a code that also matches a number
_WHOLE_WITH_POINT = re.compile(r"(-?[0-9]{1,40})\.0+")  # as spreadsheets and pandas write whole numbers
BLANKS = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)  # as in JavaScript's trim()
_NO_VALUE = ("", "na", "n/a", "nan", "null", "none")  # spellings of no value in files, in lower case
_UNSURE = 1 << 53  # from this value on a double represents several whole numbers
_CLOSE = 1 << 16  # largest range of whole numbers that are looked up once each
_BYTE = 256


class Names:
    """Every accepted spelling of the categories of one attribute.

    column: its name in messages.  codes: further spellings -> category.
    """

    def __init__(self, column: str, categories: Sequence[str], codes: Mapping[str, str]) -> None:
        self._column = column
        place = {label: position for position, label in enumerate(categories)}
        self._texts: dict[str, int] = place | {code: place[label] for code, label in codes.items()}
        self._all: dict[Any, int] = dict(self._texts)  # and codes read as numbers
        for spelling, position in self._texts.items():
            if _WHOLE.fullmatch(spelling):
                self._all.setdefault(int(spelling), position)

    @property
    def spellings(self) -> tuple[str, ...]:
        """The accepted texts, categories first."""
        return tuple(self._texts)

    def cells(self, column: Any) -> np.ndarray:
        """Return the category of every value of a column, (n,) int64; UNKNOWN or ABSENT for values without one.

        Raises InvalidRecord if a value is neither a text nor a number.
        """
        held = getattr(column, "array", column)  # the array of a pandas Series
        if hasattr(held, "categories"):  # a Categorical
            return self._placed(held.categories.tolist(), np.asarray(held.codes))
        if getattr(getattr(held, "dtype", None), "type", None) is str and hasattr(held, "factorize"):  # pandas texts
            places, values = held.factorize()
            return self._placed(values.tolist(), places)
        if is_arrow(column):
            return self._of_arrow(column)
        if isinstance(column, np.ndarray) and column.dtype.kind == "U" and column.ndim == 1:
            return self._of_texts(column)
        if (close := _close_together(column)) is not None:
            return self._placed(*close)
        return self._looked_up(np.asarray(column) if _is_of_objects(column) else column)

    def _placed(self, values: list[Any], places: np.ndarray) -> np.ndarray:
        """The category of the value at every position, ABSENT for position -1."""
        return np.append(self._by_value(values), ABSENT)[places]

    def _of_arrow(self, column: Any) -> np.ndarray:
        try:
            coded = whole(column).dictionary_encode()
        except NotImplementedError:  # lists and the like
            return self._by_value(column.to_pylist())
        places = coded.indices
        if places.null_count:
            places = places.cast("int64").fill_null(-1)
        return self._placed(coded.dictionary.to_pylist(), as_numpy(places))

    def _of_texts(self, column: np.ndarray) -> np.ndarray:
        places = self._rows.places(column)
        strange = np.flatnonzero(places < 0)
        cells = self._spelled[places]
        if strange.size:
            cells[strange] = self._by_value(column[strange].tolist())
        return cells

    def _looked_up(self, column: Any) -> np.ndarray:
        """The same as `_by_value`, in half the time if all values are texts that name a category."""
        try:
            if len(self._spelled) <= _BYTE:  # the fastest conversion of texts to an array
                places = np.frombuffer(bytearray(map(self._short.__getitem__, column)), dtype=np.uint8)
                return self._spelled[places]
            return np.fromiter(map(self._texts.__getitem__, column), dtype=np.int64)
        except (KeyError, TypeError):
            return self._by_value(column.tolist() if hasattr(column, "tolist") else list(column))

    def _by_value(self, values: list[Any]) -> np.ndarray:
        """The category of each value; a double from 2^53 on does not identify a code."""
        try:
            if not {bool, np.bool_}.isdisjoint(map(type, values)):
                values = [
                    ("false", "true")[int(value)] if isinstance(value, (bool, np.bool_)) else value for value in values
                ]
            cells = np.fromiter(map(self._all.get, values, repeat(UNKNOWN)), dtype=np.int64, count=len(values))
        except TypeError:  # a list or another unhashable value
            raise InvalidRecord(
                f"column {self._column!r} must hold texts or numbers, and at least one value is neither; fix the file"
            ) from None
        if self._has_long_codes:
            cells[[isinstance(value, float) and abs(value) >= _UNSURE for value in values]] = UNKNOWN
        for place in np.flatnonzero(cells == UNKNOWN).tolist():
            cells[place] = self._respelled(values[place])
        return cells

    def _respelled(self, value: Any) -> int:
        """The category of a value with another spelling: with blanks around it, as 1.0, or decomposed."""
        if is_missing(value):
            return ABSENT
        if not isinstance(value, str):
            return UNKNOWN
        place = self._plain.get(without_point(value), UNKNOWN)
        return ABSENT if place == UNKNOWN and says_nothing(value) else place

    @cached_property
    def _plain(self) -> dict[str, int]:
        """The category of each accepted text, composed and without blanks around it; UNKNOWN for ambiguous ones."""
        places: dict[str, int] = {}
        for text, place in self._texts.items():
            places[plain(text)] = place if places.get(plain(text), place) == place else UNKNOWN
        return places

    @cached_property
    def _spelled(self) -> np.ndarray:
        """The category of each accepted text, in order."""
        return np.fromiter(self._texts.values(), dtype=np.int64)

    @cached_property
    def _short(self) -> dict[str, int]:
        """The position of each accepted text."""
        return {text: place for place, text in enumerate(self._texts)}

    @cached_property
    def _rows(self) -> Texts:
        return Texts(list(self._texts))

    @cached_property
    def _has_long_codes(self) -> bool:
        return any(isinstance(code, int) and abs(code) >= _UNSURE for code in self._all)


def plain(text: str) -> str:
    """Return a text in Unicode's composed form (NFC) without blanks around it."""
    return unicodedata.normalize("NFC", text).strip(BLANKS)


def without_point(text: str) -> str:
    """Return a text as `plain` does, and a whole number without a decimal point: 1 for 1.0."""
    whole = _WHOLE_WITH_POINT.fullmatch(plain(text))
    return whole[1] if whole else plain(text)


def says_nothing(text: str) -> bool:
    """Return whether a text is a common spelling of no value."""
    return text.strip(BLANKS).lower() in _NO_VALUE


def is_missing(value: Any) -> bool:
    """Return whether a value of a column is missing: None, NaN, NA, NaT or an empty text."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return value == "" or (isinstance(value, float) and math.isnan(value))


def is_known_whole(value: float) -> bool:
    """Return whether a double is a whole number and represents no other one."""
    return abs(value) < _UNSURE and value == int(value)


def _is_of_objects(column: Any) -> bool:
    return getattr(column, "dtype", None) == np.dtype(object)


def _close_together(column: Any) -> tuple[list[int], np.ndarray] | None:
    """For integers of numpy or pandas in a small range: all integers of the range, and each value's position."""
    dtype = getattr(column, "dtype", None)
    if not isinstance(dtype, np.dtype) or dtype.kind not in "iu" or not len(column):
        return None
    codes = np.asarray(column)
    least, most = int(codes.min()), int(codes.max())
    if most - least >= min(len(codes), _CLOSE) or most > np.iinfo(np.int64).max:
        return None
    return list(range(least, most + 1)), codes.astype(np.int64) - least
