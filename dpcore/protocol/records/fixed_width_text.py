"""Matching of numpy's fixed-width texts, rows of code points, with a list of known texts.

A few code points distinguish the known texts: tables of these code points yield one candidate for a row, and the whole row is
compared with it.  No hashes are computed, and no Python strings are created.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

_ROWS = 8192  # compared at a time; they fit a core's cache
_LARGEST = 1 << 22  # integers of a table; larger ones are not built
_NO_POINT = 0xFFFFFFFF


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
