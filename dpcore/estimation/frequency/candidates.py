"""Prefixes and their extensions by every symbol, with their buckets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpcore.mechanisms.categorical.text_hashing import END, PRIME, Stage, TextHashing, polynomials


@dataclass(frozen=True, eq=False)
class Extensions:
    """All extensions of some prefixes to one length.

    A prefix that has ended is extended by END only.  Candidates are numbered: those of open prefixes first, prefix by prefix,
    then one for each ended prefix.

    prefixes: (p, old length) symbols.  length: of the extensions.  symbols: of the alphabet.
    """

    prefixes: np.ndarray
    length: int
    symbols: int

    @cached_property
    def endings(self) -> np.ndarray:
        """Every ending of an open prefix, (e, added symbols): no symbol follows END."""
        added = self.length - self.prefixes.shape[1]
        rows = np.indices((self.symbols + 1,) * added).reshape(added, -1).T
        return rows[~((rows[:, :-1] == END) & (rows[:, 1:] != END)).any(axis=1)]

    @cached_property
    def _open(self) -> np.ndarray:
        """The numbers of prefixes that have not ended."""
        return np.flatnonzero((self.prefixes[:, -1:] != END).all(axis=1))

    @cached_property
    def _ended(self) -> np.ndarray:
        return np.setdiff1d(np.arange(len(self.prefixes)), self._open)

    @cached_property
    def parents(self) -> np.ndarray:
        """The number of each candidate's prefix, (n,)."""
        return np.concatenate([np.repeat(self._open, len(self.endings)), self._ended])

    @cached_property
    def siblings(self) -> np.ndarray:
        """How many candidates share each candidate's prefix, itself included, (n,)."""
        return np.where(np.arange(len(self)) < len(self) - len(self._ended), len(self.endings), 1)

    def __len__(self) -> int:
        return len(self._open) * len(self.endings) + len(self._ended)

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """Return the symbols of some candidates, (m, length)."""
        endings = np.zeros((len(numbers), self.length - self.prefixes.shape[1]), dtype=np.int64)
        is_open = numbers < len(self) - len(self._ended)
        endings[is_open] = self.endings[numbers[is_open] % len(self.endings)]
        return np.hstack([self.prefixes[self.parents[numbers]], endings])

    def buckets(self, mechanism: TextHashing, stage: Stage) -> np.ndarray:
        """Return the bucket of each candidate in each row of a stage, (rows, n), int16.

        A hash value of prefix and ending is the prefix's times base^added, plus the ending's.
        """
        added = self.length - self.prefixes.shape[1]
        table = np.empty((len(stage.bases), len(self)), dtype=np.int16)
        for row, base in zip(table, stage.bases, strict=True):
            begun = polynomials(self.prefixes, base) * pow(base, added, PRIME) % PRIME
            values = begun[self._open, None] + polynomials(self.endings, base)
            values -= PRIME * (values >= PRIME)
            ended = (begun[self._ended] + polynomials(np.full((1, added), END), base)) % PRIME
            row[:] = mechanism.bucket_of(np.concatenate([values.ravel(), ended]))
        return table
