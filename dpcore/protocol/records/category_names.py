"""Categories of a column's values, for every type of column.

Types that list their distinct values are looked up once per distinct value: Arrow dictionaries, pandas categories and texts,
and whole numbers in a small range.  numpy's fixed-width texts are compared as rows of code points.  All others are looked up
value by value.

A few code points distinguish the known texts: tables of these code points yield one candidate for a row, and the whole row is
compared with it.  No hashes are computed, and no Python strings are created.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from numbers import Number
from typing import Any

import numpy as np

from dpcore.errors import InvalidRecord
from dpcore.protocol.records.arrow_columns import as_numpy, is_arrow, whole

_ROWS = 8192  # compared at a time; they fit a core's cache
_LARGEST = 1 << 22  # integers of a table; larger ones are not built
_NO_POINT = 0xFFFFFFFF
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


@dataclass(frozen=True, eq=False)
class _Step:
    """One step of the search: the code point at one position.

    least: the smallest code point of a known text there.  last: offset from it for code points of no known text.
    next_nodes: node of the search, by the previous node and the code point.
    """

    place: int
    least: np.uint32
    last: np.uint32
    next_nodes: np.ndarray


class Texts:
    """A list of distinct known texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        # numpy drops trailing NULs, so a text that ends with one never matches.
        self._known = {place: text for place, text in enumerate(texts) if not text.endswith("\0")}
        self._many = len(texts)
        self._longest = max(map(len, self._known.values()), default=0)

    def places(self, column: np.ndarray) -> np.ndarray:
        """Return the position of every text of a column, (n,) of kind U, among the known texts; -1 for unknown ones.

        All are -1 if the column is very wide, or if no small table distinguishes the known texts.
        """
        n, width = len(column), column.dtype.itemsize // 4
        places = np.full(n, -1, dtype=np.intp)
        if not n or not 0 < width * (self._many + 1) <= _LARGEST or self._steps is None:
            return places
        points = np.ascontiguousarray(column, column.dtype.newbyteorder("=")).view(np.uint32).reshape(n, width)
        rows = self._rows(width)
        word = np.uint64 if width % 2 == 0 else np.uint32
        for first in range(0, n, _ROWS):
            part = points[first : first + _ROWS]
            candidates = self._candidates(part)
            same = rows.view(word).take(candidates, axis=0) == part.view(word)
            places[first : first + _ROWS] = candidates if same.all() else np.where(same.all(axis=1), candidates, -1)
        return places

    def _rows(self, width: int) -> np.ndarray:
        """The code points of every known text, (k + 1, width); _NO_POINT for longer ones and in the last row."""
        rows = np.full((self._many + 1, width), _NO_POINT, dtype=np.uint32)
        for place, text in self._known.items():
            if len(text) <= width:
                rows[place] = 0
                rows[place, : len(text)] = _points(text)
        return rows

    def _candidates(self, points: np.ndarray) -> np.ndarray:
        """The only known text that each row can be; k for none."""
        nodes = np.zeros(len(points), dtype=np.intp)
        for step in self._steps or ():
            if step.place < points.shape[1]:
                point = points[:, step.place] - step.least  # wraps around below the least
            else:
                point = np.zeros(len(points), dtype=np.uint32) - step.least
            np.minimum(point, step.last, out=point)
            nodes = step.next_nodes.take(nodes + point)
        return nodes

    @cached_property
    def _steps(self) -> list[_Step] | None:
        """The steps that distinguish all known texts, most distinctive position first; None if a table is too large."""
        rows = np.zeros((len(self._known), self._longest), dtype=np.uint32)
        for row, text in zip(rows, self._known.values(), strict=True):
            row[: len(text)] = _points(text)
        alike = [np.unique(points, return_inverse=True)[1] for points in rows.T]
        groups, many = np.zeros(len(rows), dtype=np.intp), 1
        steps = list[_Step]()
        while many < len(rows):
            place = int(np.argmax([len(np.unique(groups + many * column)) for column in alike]))
            points = rows[:, place] - rows[:, place].min()
            span = int(points.max()) + 2
            if (many + 1) * span > _LARGEST:
                return None
            pairs, after = np.unique(groups * span + points, return_inverse=True)
            table = np.full((many + 1) * span, len(pairs), dtype=np.intp)
            table[pairs] = np.arange(len(pairs))
            if steps:
                steps[-1].next_nodes[:] *= span  # the row of each group in this table
            steps.append(_Step(place, rows[:, place].min(), np.uint32(span - 1), table))
            groups, many = after, len(pairs)
        if steps:
            texts = np.full(many + 1, self._many, dtype=np.intp)
            texts[groups] = list(self._known)
            steps[-1].next_nodes[:] = texts[steps[-1].next_nodes]
        return steps


def _points(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


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
    return (isinstance(value, str) and not value) or (isinstance(value, float) and math.isnan(value))


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


_BLANK = rf"[{BLANKS}]*"  # as the client in the browser reads numbers in texts
_NUMERAL = re.compile(rf"{_BLANK}[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?{_BLANK}")


def floats(column: Any) -> np.ndarray:
    """Return numbers, and texts that spell one, as float64, (n,), NaN for no value; raises TypeError for anything else."""
    if is_arrow(column) and not column.null_count and str(column.type) == "double":
        return as_numpy(whole(column))
    values = np.asarray(column)
    if values.ndim and values.size > len(values):  # lists of equal length
        raise TypeError
    if values.dtype.kind == "U":
        values = np.asarray(column, dtype=object)  # numpy's fixed-width texts lose trailing NULs
    if values.dtype.kind in "iuf":
        return values.astype(np.float64).reshape(-1)
    if values.dtype.kind not in "OU":
        raise TypeError
    return np.array([_float(value) for value in values.reshape(-1).tolist()], dtype=np.float64)


def numeral(text: str) -> float | None:
    """Return the number that a text spells, as clients read it; None if it spells none."""
    return float(text.strip(BLANKS)) if _NUMERAL.fullmatch(text) else None


def _float(value: Any) -> float:
    if isinstance(value, str):
        if not _NUMERAL.fullmatch(value):
            raise TypeError
        value = value.strip(BLANKS)
    if isinstance(value, (str, Number)) and not isinstance(value, bool):
        return float(value)  # type: ignore[arg-type]
    if value is None or is_missing(value):
        return math.nan
    raise TypeError


def refuse(bad: np.ndarray, first: int, problem: str, expected: str, positions: np.ndarray | None = None) -> None:
    """Raise InvalidRecord with the position of the first True in `bad` and their number."""
    if bad.any():
        places = np.flatnonzero(bad) if positions is None else positions[bad]
        raise InvalidRecord(
            f"{problem} at record {first + int(places[0]) + 1} ({len(places)} such in all); expected {expected}"
        )
