"""Text hashing: a public hash of a prefix of the text, or of the whole text, reported by optimized local hashing.

Clients are divided at random into rows.  A row has a length and a public hash function, which maps prefixes of this length to
buckets.  Rows of increasing lengths identify frequent texts, as in PEM [Wang2021]; rows of whole texts, which the search does
not read, estimate their shares.  Statistics are sums, one table of buckets for each row, so the cost of a search does not
depend on the number of reports.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Self

import numpy as np

from dpcore._random import Source
from dpcore.errors import InvalidRecord, SchemeError, check_whole
from dpcore.laboratory.open_answers.texts import END
from dpcore.mechanisms import Reports
from dpcore.mechanisms.base import Certificate
from dpcore.mechanisms.categorical.local_hashing import LocalHashing
from dpcore.privacy.budget import Budget

PRIME = (1 << 31) - 1  # the modulus of hash functions; products of two residues fit 62 bits
BUCKETS = 1024  # of one row; two texts share a bucket with probability 1 / 1,024
ROWS = 64
ESTIMATION_ROWS = 16  # whole texts, a quarter of the clients; see `decisions/laboratory.md`
BEAM = 1000  # the prefixes that a search extends, as in a beam search
_LEAST_ROWS = 3  # of a stage: with two rows, one of 2^20 candidates has all buckets of a given text
CANDIDATES = 1 << 21  # extensions that a search compares at once


@dataclass(frozen=True)
class Stage:
    """The rows of one length.  length: symbols of a prefix.  first: number of the first row.  bases: of the hash functions."""

    length: int
    first: int
    bases: tuple[int, ...]

    @property
    def rows(self) -> slice:
        """Its rows in tables of all rows."""
        return slice(self.first, self.first + len(self.bases))


@dataclass(frozen=True)
class TextHashing:
    """Report [row; a, b, v]: the row is public, and [a, b, v] is local hashing of the text's bucket in that row.

    symbols: s, of the alphabet, 1..255; texts are rows of 0..s, 0 after the last symbol.  length: of the longest text.
    stages: of the search, lengths increasing.  estimation: the stage of whole texts for estimates.
    oracle: local hashing of the buckets of one row.

    Privacy.  Claim: Pr(row, a, b, v | x) <= e^epsilon Pr(row, a, b, v | x') for all texts x, x' and all reports.
        1. The row is uniform and drawn without looking at the text: it has the same probability for x and x'.
        2. Given the row, the report depends on the text through its bucket only, a public function of the text.
        3. The oracle's report has a ratio of at most E for any two of its inputs, so for any two buckets.
        4. Its constructor refuses E above e^epsilon.
        5. Every text is padded to one length and every report has a row and three integers: no length depends on the text.
    """

    symbols: int
    length: int
    stages: tuple[Stage, ...]
    estimation: Stage
    oracle: LocalHashing

    @classmethod
    def design(cls, budget: Budget, *, symbols: int, length: int, buckets: int = BUCKETS) -> Self:
        """Return the mechanism that keeps `budget`; raises SchemeError for an alphabet or a length out of range.

        The first stage has the longest prefixes that are at most CANDIDATES.  Each further stage adds the most
        symbols with which BEAM prefixes have at most CANDIDATES extensions.  Rows are in proportion to added symbols.
        """
        check_whole(1, 255, symbols=symbols)
        check_whole(1, 24, length=length)
        first, step = (max(1, int(log(most) / log(symbols + 1))) for most in (CANDIDATES, CANDIDATES / BEAM))
        lengths = [*range(min(first, length), length, step), length]
        ends = [round((ROWS - ESTIMATION_ROWS) * end / length) for end in (0, *lengths)]
        stages = tuple(
            Stage(end, start, _bases(start, stop))
            for end, start, stop in zip(lengths, ends[:-1], ends[1:], strict=True)
        )
        if min(len(stage.bases) for stage in stages) < _LEAST_ROWS:
            raise SchemeError(
                f"length = {length} with {symbols} symbols needs {len(stages)} stages, and "
                f"{(ROWS - ESTIMATION_ROWS) // _LEAST_ROWS} are possible; shorten texts or leave out symbols"
            )
        estimation = Stage(length, ends[-1], _bases(ends[-1], ROWS))
        return cls(symbols, length, stages, estimation, LocalHashing.design(budget, categories=buckets))

    @property
    def budget(self) -> Budget:
        """The epsilon of one report."""
        return self.oracle.budget

    def certificate(self) -> Certificate:
        """Return the certified loss: that of the oracle, whatever the row."""
        return self.oracle.certificate()

    def buckets(self, texts: np.ndarray, row: int) -> np.ndarray:
        """Return the buckets of texts in a row, (n,), int64; texts: (n, length) symbols."""
        length, base = self._hash_functions[row]
        return self.bucket_of(hashed(texts[:, :length], base))

    @cached_property
    def _hash_functions(self) -> list[tuple[int, int]]:
        """The length and base of each row."""
        return [(stage.length, base) for stage in (*self.stages, self.estimation) for base in stage.bases]

    def bucket_of(self, residues: np.ndarray) -> np.ndarray:
        """Return the buckets of hash values 0..PRIME - 1, of their shape."""
        return residues * self.oracle.categories // PRIME

    def privatize(self, texts: np.ndarray, random: Source) -> Reports:
        """Return one report per client, with its row as the level; texts: (n, length) symbols."""
        texts = self._checked(texts)
        rows = random.residues(ROWS, len(texts)).astype(np.uint8)
        cells = np.zeros(len(texts), dtype=np.int64)
        for row in range(ROWS):
            cells[rows == row] = self.buckets(texts[rows == row], row)
        return Reports(rows, self.oracle.privatize(cells, random).values)

    def _checked(self, texts: np.ndarray) -> np.ndarray:
        """The texts as int64; raises InvalidRecord, which shows none of them, unless they are padded rows of symbols."""
        texts = np.asarray(texts)
        is_valid = texts.dtype.kind in "iu" and texts.ndim == 2 and texts.shape[1] == self.length
        if is_valid and texts.size:
            is_valid = bool(texts.min() >= 0 and texts.max() <= self.symbols)
            is_valid &= not bool(((texts[:, :-1] == END) & (texts[:, 1:] != END)).any())
        if not is_valid:
            raise InvalidRecord(
                f"texts must be rows of {self.length} integers 0..{self.symbols} with zeros at the end only; use symbols_of"
            )
        return texts.astype(np.int64)

    def statistics(self, reports: Reports) -> tuple[np.ndarray, np.ndarray]:
        """Return how many reports support each bucket of each row, (ROWS, buckets), and the reports of each row, (ROWS,)."""
        rows = reports.level.astype(np.int64)
        own = Reports(np.zeros(len(rows), dtype=np.uint8), reports.values)
        return self.oracle.statistics_by(own, rows, ROWS), np.bincount(rows, minlength=ROWS)

    def simulate(
        self, texts: np.ndarray, shares: np.ndarray, clients: int, random: Source
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return `statistics` of clients whose texts have these shares, from their exact distribution.

        texts: (N, length) symbols.  shares: (N,), of sum one.
        """
        generator = random.generator()
        sizes = generator.multinomial(clients, np.full(ROWS, 1 / ROWS))
        counted = (
            np.bincount(self.buckets(texts, row), generator.multinomial(size, shares), self.oracle.categories)
            for row, size in enumerate(sizes.tolist())
        )
        tables = [
            self.oracle.simulate(counts.astype(np.int64), random.spawn(row)) for row, counts in enumerate(counted)
        ]
        return np.array(tables), sizes


def hashed(texts: np.ndarray, base: int) -> np.ndarray:
    """Return the polynomials sum_i (x_i + 1) base^(n - i + 1) mod PRIME of rows x of n symbols, by Horner's rule.

    Two different rows of symbols have the same value for at most n of the PRIME bases [CarterWegman1979].
    """
    value = np.zeros(len(texts), dtype=np.int64)
    for column in texts.T:
        value = (value + column + 1) * base % PRIME
    return value


def _bases(start: int, stop: int) -> tuple[int, ...]:
    """The bases of some rows, 2..PRIME - 1: public, and the same for everybody."""
    digests = (hashlib.sha256(f"ldpflow text row {row}".encode()).digest() for row in range(start, stop))
    return tuple(2 + int.from_bytes(digest[:8], "big") % (PRIME - 2) for digest in digests)
