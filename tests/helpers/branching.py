"""The exact law of what a client draws: each way in which its draws can fall, with its probability, in fractions.

A draw that is only compared with a bound is two branches, not one for each of its values, so that scales of 2^32 are as easy
as those of 2.  What is drawn by rejection has no end; the likeliest branches are followed first, until little is left.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpcore._random import WORD, Source


class Branching(Source):
    """Follows one path, then the first branch of every fork; `forks` are those that it left, each with its probability."""

    def __init__(self, path: Sequence[int] = ()) -> None:
        self._path, self._taken = path, list[int]()
        self.probability, self.forks = Fraction(1), list[tuple[Fraction, list[int]]]()

    def residues(self, bound: int, count: int) -> Any:
        assert 1 <= bound <= WORD
        return _Drawn(self, bound, count)

    below = residues

    def choose(self, shares: Sequence[Fraction]) -> int:
        """Return the branch that is followed: on the path its own, beyond it the first that has a share."""
        possible = [branch for branch, share in enumerate(shares) if share]
        at = len(self._taken)
        if len(possible) > 1 and at >= len(self._path):
            self.forks += [(self.probability * shares[other], [*self._taken, other]) for other in possible[1:]]
        chosen = self._path[at] if at < len(self._path) else possible[0]
        self._taken.append(chosen)
        self.probability *= shares[chosen]
        return chosen

    def words(self, count: int) -> np.ndarray:
        raise AssertionError("whole words have too many values to be followed")

    def generator(self) -> np.random.Generator:
        raise AssertionError("a client must not ask for a numpy generator")

    def spawn(self, *key: int) -> Source:
        return self


class _Drawn:
    """Uniform integers of 0..bound-1 that nobody has looked at: compared once, or taken for what they are."""

    __array_ufunc__ = None  # an array that is compared with it leaves the comparison to it

    def __init__(self, source: Branching, bound: int, count: int) -> None:
        self._source, self._bound, self._count = source, bound, count
        self._is_compared, self._values = False, None

    def _are(self, values: Any, among: Callable[[int], int]) -> np.ndarray:
        """Whether each lies among those of `among(value)` many of the bound's integers."""
        assert not self._is_compared
        self._is_compared = True
        shares = [
            Fraction(min(max(among(int(v)), 0), self._bound), self._bound) for v in np.broadcast_to(values, self._count)
        ]
        return np.array([self._source.choose([1 - share, share]) for share in shares], dtype=bool)

    def __lt__(self, values: Any) -> np.ndarray:
        return self._are(values, lambda value: value)

    def __le__(self, values: Any) -> np.ndarray:
        return self._are(values, lambda value: value + 1)

    def __ge__(self, values: Any) -> np.ndarray:
        return ~(self < values)

    def __gt__(self, values: Any) -> np.ndarray:
        return ~(self <= values)

    def __eq__(self, values: Any) -> Any:
        return self._are(values, lambda value: 0 <= value < self._bound)

    def __ne__(self, values: Any) -> Any:
        return ~(self == values)

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        if self._values is None:
            assert not self._is_compared
            shares = [Fraction(1, self._bound)] * self._bound
            self._values = np.array([self._source.choose(shares) for _ in range(self._count)], dtype=np.uint32)
        return self._values.astype(dtype or np.uint32)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, which: Any) -> np.ndarray:
        return np.asarray(self)[which]

    def astype(self, dtype: Any) -> np.ndarray:
        return np.asarray(self, dtype=dtype)


def law_of(run: Callable[[Branching], Hashable], left: float = 1e-12) -> tuple[dict[Any, Fraction], Fraction]:
    """Return the probability of each outcome of a run, and how much probability was not followed, at most `left`.

    An outcome's true probability is what is returned, or up to so much more.
    """
    law: dict[Any, Fraction] = {}
    waiting, order, unknown = [(-Fraction(1), 0, list[int]())], 0, Fraction(1)
    while waiting and unknown > left:
        source = Branching(heapq.heappop(waiting)[2])
        outcome = run(source)
        law[outcome] = law.get(outcome, Fraction(0)) + source.probability
        unknown -= source.probability
        for probability, path in source.forks:
            order += 1
            heapq.heappush(waiting, (-probability, order, path))
    return law, unknown
