"""The answers of many clients to one attribute, as both halves of a mechanism hand them on: levels, and flat integers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Reports:
    """The privatized answers of n clients to one attribute.

    level: (n,) uint8, the public level of each answer (zeros where a mechanism has one level).
    values: flat int64, `mechanism.sizes[level]` integers for each client, client after client.
    """

    level: np.ndarray
    values: np.ndarray

    def __len__(self) -> int:
        return len(self.level)

    def __repr__(self) -> str:
        return f"<Reports of {len(self)} clients>"

    @classmethod
    def joined(cls, parts: Sequence[Reports]) -> Reports:
        """Return the answers of all parts, one after another."""
        return cls(np.concatenate([part.level for part in parts]), np.concatenate([part.values for part in parts]))

    def take(self, clients: np.ndarray, sizes: Sequence[int]) -> Reports:
        """Return the answers of some clients, (m,), in their order; sizes: of the mechanism's levels."""
        if set(sizes) == {1}:
            return Reports(self.level[clients], self.values[clients])
        starts = starts_of(self.level, sizes)
        lengths = np.diff(starts)[clients]
        ends = np.cumsum(lengths)
        places = np.arange(int(lengths.sum())) + np.repeat(starts[clients] - (ends - lengths), lengths)
        return Reports(self.level[clients], self.values[places])


_CHUNK = 1 << 14  # clients whose integers stay in a core's cache
PIECE = 1 << 16  # integers that do


def chunks(n: int, least: int = 0) -> Iterator[slice]:
    """Yield slices that cover n clients, so few at a time that numpy's passes over them find them in a core's cache.

    least: how many they are at least, where each costs as much as so many clients.
    """
    most = max(_CHUNK, least)
    for first in range(0, n, most):
        yield slice(first, min(first + most, n))


def sorted_by(groups: np.ndarray, many: int) -> tuple[np.ndarray, np.ndarray]:
    """Return an order in which groups, (n,), each below `many`, come one after another, and where each begins, (many + 1,)."""
    if many == 1:
        return np.arange(len(groups)), np.array([0, len(groups)])
    narrow = groups.astype(np.min_scalar_type(many))  # few bits are sorted fast
    ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(groups, minlength=many))])
    return np.argsort(narrow, kind="stable"), ends


def starts_of(level: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """Return where each client's integers begin in the flat values, and where the last one's end, (n + 1,).

    level: (n,).  sizes: how many integers a report of each level has; one of an unknown level has none.
    """
    lengths = np.array([*sizes, 0], dtype=np.int64)[np.minimum(level, len(sizes))]
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])


def pieces(level: np.ndarray, starts: np.ndarray, number: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield a few clients of a level at a time, (m,), and the positions of their integers in the flat values, (m, size).

    level: (n,).  starts: as `starts_of` returns them.  number: of the level.
    """
    members = np.flatnonzero(level == number)
    width = starts[members[0] + 1] - starts[members[0]] if len(members) else 1
    most = max(1, PIECE // width)
    for first in range(0, len(members), most):
        clients = members[first : first + most]
        yield clients, starts[clients][:, None] + np.arange(width)


def one_of_level_zero(values: np.ndarray) -> Reports:
    """Return the one report of level 0 with these integers, shape (size,)."""
    return Reports(np.zeros(1, dtype=np.uint8), np.asarray(values, dtype=np.int64))
