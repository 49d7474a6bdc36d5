"""Random words that are known: drawn from a keyed stream, recorded, and where asked placed at the edges of draws."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

import numpy as np

from dpcore._random import WORD, Source
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.tokens import NAME_BYTES


class Recorded(Source):
    """A stream whose words are recorded as they are drawn; taken: all of them, in order."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.taken: list[int] = []

    def words(self, count: int) -> np.ndarray:
        drawn = self._chosen(self._source.words(count))
        self.taken += drawn.tolist()
        return drawn

    def _chosen(self, drawn: np.ndarray) -> np.ndarray:
        return drawn

    def generator(self) -> np.random.Generator:
        raise TypeError("known words are for clients, which draw words alone")

    def spawn(self, *key: int) -> Source:
        raise TypeError("known words have one stream")


class AtEdges(Recorded):
    """The same, with words at which a client's comparisons change, and words that must be rejected.

    thresholds: integers of a scheme that draws are compared with.  The words of a report's id are the stream's own.
    """

    def __init__(self, source: Source, thresholds: Iterable[int]) -> None:
        super().__init__(source)
        self._thresholds = sorted({edge for one in thresholds for edge in (one - 1, one)} | {0})
        self._bound = 0

    def residues(self, bound: int, count: int) -> np.ndarray:
        self._bound = bound
        try:
            return super().residues(bound, count)
        finally:
            self._bound = 0

    def _chosen(self, drawn: np.ndarray) -> np.ndarray:
        if len(self.taken) < NAME_BYTES // 4:
            return drawn
        return np.array([self._edge(int(word)) for word in drawn], dtype=np.uint32)

    def _edge(self, word: int) -> int:
        """A word that a random one chooses: rejected, at an edge, or itself; of raw bits none, all, or itself."""
        choice, number, bound = word % 4, word // 4, self._bound
        if bound == 0:
            return (0, WORD - 1, word, word)[choice]
        limit = WORD - WORD % bound
        if choice == 1 and limit < WORD:
            return (limit, WORD - 1)[number % 2]
        if choice < 2:
            return word
        edges = [edge for edge in (*self._thresholds, bound - 1) if 0 <= edge < bound]
        return edges[number % len(edges)] + bound * (number % (limit // bound))


def thresholds(scheme: Scheme) -> set[int]:
    """Return the integers that the draws of a scheme's clients are compared with, and sums and products of them."""
    numbers = set()
    for attribute in scheme.attributes.values():
        parameters = attribute.mechanism.parameters()
        numbers |= {value for value in parameters.values() if isinstance(value, int)}
        lists = {
            key: [one for one in value if isinstance(one, int)]
            for key, value in parameters.items()
            if isinstance(value, (list, tuple))
        }
        for values in lists.values():
            numbers |= {*values, *accumulate(values)}
        widths = lists.get("widths", [])
        numbers |= {width * weight for width, weight in zip(widths, lists.get("weights_in", widths), strict=True)}
    return numbers
