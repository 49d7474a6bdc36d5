"""Texts as numpy holds them, rows of code points of one width: which of some known texts each one is.

A few code points tell the known texts apart: tables say which of them a row can be, and the whole row is compared with that
one.  Nothing is hashed, and no text of Python's is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

_ROWS = 8192  # compared at a time: they stay in a core's cache
_LARGEST = 1 << 22  # integers of a table, beyond which nothing is found
_NO_POINT = 0xFFFFFFFF


@dataclass(frozen=True, eq=False)
class _Step:
    """What the code point at one place tells.

    least: the least code point that a known text has there; those that none can have count as `last` beyond it.  told: by what
    was known and by the code point, what is known now.
    """

    place: int
    least: np.uint32
    last: np.uint32
    told: np.ndarray


class Texts:
    """Some known texts, none of them twice."""

    def __init__(self, texts: Sequence[str]) -> None:
        # Zeros at the end of a text are none to numpy: one that has some is met nowhere.
        self._known = {place: text for place, text in enumerate(texts) if not text.endswith("\0")}
        self._many = len(texts)
        self._longest = max(map(len, self._known.values()), default=0)

    def places(self, column: np.ndarray) -> np.ndarray:
        """Return the place of every text of a column, (n,) of kind U, among the known ones, -1 where it is none.

        All are -1 where the column is very wide, or the known texts are so many that no small table tells them apart.
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
            candidates = self._told_apart(part)
            same = rows.view(word).take(candidates, axis=0) == part.view(word)
            places[first : first + _ROWS] = candidates if same.all() else np.where(same.all(axis=1), candidates, -1)
        return places

    def _rows(self, width: int) -> np.ndarray:
        """The code points of every known text, (k + 1, width); of those that are longer, and at the end, what no text is."""
        rows = np.full((self._many + 1, width), _NO_POINT, dtype=np.uint32)
        for place, text in self._known.items():
            if len(text) <= width:
                rows[place] = 0
                rows[place, : len(text)] = _points(text)
        return rows

    def _told_apart(self, points: np.ndarray) -> np.ndarray:
        """Which text each row is if it is one, k where it can be none."""
        nodes = np.zeros(len(points), dtype=np.intp)
        for step in self._steps or ():
            if step.place < points.shape[1]:
                point = points[:, step.place] - step.least  # one below the least is far above it
            else:
                point = np.zeros(len(points), dtype=np.uint32) - step.least
            np.minimum(point, step.last, out=point)
            nodes = step.told.take(nodes + point)
        return nodes

    @cached_property
    def _steps(self) -> list[_Step] | None:
        """The places that tell most first, until every known text is alone; None where a table would be too large."""
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
                steps[-1].told[:] *= span  # where this table has what belongs to each group
            steps.append(_Step(place, rows[:, place].min(), np.uint32(span - 1), table))
            groups, many = after, len(pairs)
        if steps:
            texts = np.full(many + 1, self._many, dtype=np.intp)
            texts[groups] = list(self._known)
            steps[-1].told[:] = texts[steps[-1].told]
        return steps


def _points(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
