"""Text hashing: a public hash of a prefix of the text, or of the whole text, reported by optimized local hashing.

Clients are divided at random into rows.  A row has a length and a public hash function, which maps prefixes of this length to
buckets.  Rows of increasing lengths identify frequent texts, as in PEM [Wang2021]; rows of whole texts, which the search does
not read, estimate their shares.  Statistics are sums, one table of buckets for each row, so the cost of a search does not
depend on the number of reports.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import groupby
from math import log
from typing import Any, Self

import numpy as np

from dpcore._random import Source
from dpcore.errors import InvalidRecord, SchemeError, check_whole
from dpcore.mechanisms.base import Certificate, Labels, Mechanism, agreed
from dpcore.mechanisms.categorical.local_hashing import LocalHashing
from dpcore.mechanisms.declaration import integer, integers, mechanism
from dpcore.mechanisms.observation_model import ObservationModel, ScoreSums
from dpcore.mechanisms.reports import Reports
from dpcore.privacy.budget import Budget

END = 0  # the symbol after the last; those of the alphabet are 1, 2, ..
PRIME = (1 << 31) - 1  # the modulus of hash functions; products of two residues fit 62 bits
BUCKETS = 1024  # of one row; two texts share a bucket with probability 1 / 1,024
ROWS = 64
ESTIMATION_ROWS = 16  # whole texts, a quarter of the clients; see `decisions/laboratory.md`
BEAM = 1000  # the prefixes that a search extends, as in a beam search
CANDIDATES = 1 << 21  # extensions that a search compares at once
MOST_SYMBOLS = 24  # of a text
_LEAST_ROWS = 3  # of a stage: with two rows, one of 2^20 candidates has all buckets of a given text


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


@mechanism(
    "text_hashing",
    attributes={"text"},
    estimators=("texts",),
    words="a hash of the text or of its beginning, replaced at random with a known probability",
    scheme_facts=("symbols", "length"),
)
@dataclass(frozen=True)
class TextHashing(Mechanism):
    """Report [a, b, v] at the level `row`: the row is public, and [a, b, v] is local hashing of the text's bucket in that row.

    symbols: s, of the alphabet, 1..255.  length: n, of the longest text, 1..24.  An input cell is a text: `length` bytes 0..s,
    END after the last symbol, as numpy's fixed-width bytes.  An integer is a bucket in every row, for audits.
    lengths: of each row's prefixes, (ROWS,); the last ESTIMATION_ROWS have whole texts.  bases: of each row's hash function.
    buckets, prime, bins, weight_in, weight_out: of local hashing.

    Privacy.  Claim: Pr(row, a, b, v | x) <= e^epsilon Pr(row, a, b, v | x') for all texts x, x' and all reports.
        1. The row is uniform and drawn without looking at the text: it has the same probability for x and x'.
        2. Given the row, the report depends on the text through its bucket only, a public function of the text.
        3. The oracle's report has a ratio of at most E for any two of its inputs, so for any two buckets.
        4. Its constructor refuses E above e^epsilon.
        5. Every text is padded to one length and every report has a row and three integers: no length depends on the text.
    """

    budget: Budget
    symbols: int
    length: int
    lengths: tuple[int, ...]
    bases: tuple[int, ...]
    buckets: int
    prime: int
    bins: int
    weight_in: int
    weight_out: int

    def __post_init__(self) -> None:
        check_whole(1, 255, symbols=self.symbols)
        check_whole(1, MOST_SYMBOLS, length=self.length)
        rows, bases = integers(self.lengths), integers(self.bases)
        if not (len(rows) == ROWS and rows[0] >= 1 and list(rows) == sorted(rows)) or {
            *rows[-ESTIMATION_ROWS - 1 :]
        } != {self.length}:
            raise SchemeError(f"lengths must be {ROWS} increasing lengths up to {self.length}; leave them out")
        if not len(bases) == len({*bases}) == ROWS or not all(2 <= base < PRIME for base in bases):
            raise SchemeError(f"bases must be {ROWS} different integers 2..{PRIME - 1}; leave them out")
        self.oracle  # noqa: B018  # checks its integers and their loss

    @classmethod
    def design(cls, budget: Budget, *, symbols: int, length: int, buckets: int = BUCKETS) -> Self:
        """Return the mechanism that keeps `budget`; raises SchemeError for an alphabet or a length out of range.

        The first stage has the longest prefixes that are at most CANDIDATES.  Further stages are as few as possible with at
        most CANDIDATES extensions of BEAM prefixes, and add nearly equal numbers of symbols.  Rows are in proportion to these,
        and at least _LEAST_ROWS.
        """
        check_whole(1, 255, symbols=symbols)
        check_whole(1, MOST_SYMBOLS, length=length)
        first, step = (max(1, int(log(most) / log(symbols + 1))) for most in (CANDIDATES, CANDIDATES / BEAM))
        first = min(first, length)
        further = -(-(length - first) // step)  # stages, of nearly as many symbols each
        ends = [first + (length - first) * stage // max(further, 1) for stage in range(further + 1)]
        starts = [round((ROWS - ESTIMATION_ROWS) * end / length) for end in (0, *ends)]
        rows = np.maximum(np.diff(starts), _LEAST_ROWS)
        rows[0] -= rows.sum() - (ROWS - ESTIMATION_ROWS)
        if rows[0] < _LEAST_ROWS:
            raise SchemeError(
                f"a search for texts of {length} symbols out of {symbols} has {len(ends)} stages, too many for its "
                f"{ROWS - ESTIMATION_ROWS} rows; shorten texts or leave out symbols"
            )
        lengths = (*np.repeat(ends, rows).tolist(), *[length] * ESTIMATION_ROWS)
        oracle = LocalHashing.design(budget, categories=buckets)
        return cls(budget, symbols, length, lengths, _bases(), buckets, *(getattr(oracle, key) for key in _OF_ORACLE))

    @classmethod
    def _read(cls, budget: Budget, parameters: Mapping[str, Any]) -> Self:
        named: dict[str, Any] = {
            key: (integers if key in ("lengths", "bases") else integer)(parameters[key]) for key in agreed(cls)
        }
        return cls(budget, **named)

    @cached_property
    def oracle(self) -> LocalHashing:
        """Local hashing of the buckets of one row."""
        return LocalHashing(self.budget, self.buckets, *(getattr(self, key) for key in _OF_ORACLE))

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """Of the search, lengths increasing."""
        search = range(ROWS - ESTIMATION_ROWS)
        parts = [(length, list(rows)) for length, rows in groupby(search, self.lengths.__getitem__)]
        return tuple(Stage(length, rows[0], self.bases[rows[0] : rows[-1] + 1]) for length, rows in parts)

    @property
    def estimation(self) -> Stage:
        """The rows of whole texts for estimates."""
        return Stage(self.length, ROWS - ESTIMATION_ROWS, self.bases[-ESTIMATION_ROWS:])

    @property
    def inputs(self) -> int:
        return self.buckets

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.oracle.sizes * ROWS

    def ranges(self, level: int) -> tuple[np.ndarray, np.ndarray]:
        return self.oracle.ranges(0)

    def certificate(self) -> Certificate:
        """Return the certified loss: that of the oracle, whatever the row."""
        return self.oracle.certificate()

    def total_variation(self) -> Fraction:
        """That of the oracle: two texts have different buckets in every row at most."""
        return self.oracle.total_variation()

    def input_cells(self, values: np.ndarray) -> np.ndarray:
        """Return texts, or buckets as int64; raises InvalidRecord, which shows none, unless texts are padded symbols."""
        values = np.asarray(values)
        if values.dtype.kind != "S":
            return super().input_cells(values)
        texts = self.symbols_of(values)
        is_long = values.dtype.itemsize > self.length
        if is_long or texts.max(initial=END) > self.symbols or ((texts[:, :-1] == END) & (texts[:, 1:] != END)).any():
            raise InvalidRecord(f"texts must be {self.length} bytes 0..{self.symbols} with zeros at the end only")
        return values

    def symbols_of(self, values: np.ndarray) -> np.ndarray:
        """Return the symbols of texts, (n, length), uint8."""
        return np.ascontiguousarray(values, dtype=f"S{self.length}").view(np.uint8).reshape(-1, self.length)

    def cells_of(self, texts: np.ndarray) -> np.ndarray:
        """Return the input cells of texts; texts: (n, length) symbols."""
        return np.ascontiguousarray(texts, dtype=np.uint8).view(f"S{self.length}").ravel()

    def states(self, values: np.ndarray, level: int) -> np.ndarray:
        """Return the bucket of each text in a row, (n,), int64."""
        return self._buckets(self.input_cells(values), level)

    def _buckets(self, values: np.ndarray, row: int) -> np.ndarray:
        """The bucket of each valid input cell in a row, (n,), int64."""
        return self.hashed(self.symbols_of(values), row) if values.dtype.kind == "S" else values

    def hashed(self, texts: np.ndarray, row: int) -> np.ndarray:
        """Return the buckets of texts in a row, (n,), int64; texts: (n, length) symbols."""
        return self.bucket_of(polynomials(texts[:, : self.lengths[row]], self.bases[row]))

    def bucket_of(self, residues: np.ndarray) -> np.ndarray:
        """Return the buckets of hash values 0..PRIME - 1, of their shape."""
        return residues * self.buckets // PRIME

    def draw_levels(self, n: int, random: Source) -> np.ndarray:
        return random.residues(ROWS, n).astype(np.uint8)

    def privatize(self, values: np.ndarray, random: Source, levels: np.ndarray | None = None) -> Reports:
        values = self.input_cells(values)
        rows = self.public_levels(len(values), random, levels)
        buckets = np.zeros(len(values), dtype=np.int64)
        for row in np.unique(rows).tolist():
            buckets[rows == row] = self._buckets(values[rows == row], row)
        return Reports(rows, self.oracle.privatize(buckets, random).values)

    def statistics(self, reports: Reports) -> np.ndarray:
        return self.statistics_by(reports, np.zeros(len(reports), dtype=np.int64), 1)[0]

    def statistics_by(self, reports: Reports, groups: np.ndarray, many: int) -> np.ndarray:
        rows = groups * ROWS + reports.level
        tables = self.oracle.statistics_by(_of_oracle(reports), rows, many * ROWS).reshape(many, -1)
        return np.hstack([np.bincount(rows, minlength=many * ROWS).reshape(many, ROWS), tables])

    def marginal_laws(self) -> tuple[np.ndarray, ...]:
        """Return the distributions of the hash functions of local hashing."""
        return self.oracle.marginal_laws()

    def marginals(self, reports: Reports) -> np.ndarray:
        return self.oracle.marginals(_of_oracle(reports))

    def furthest(self, weights: np.ndarray, clients: int) -> Reports:
        tables = self.model().split(np.asarray(weights))[1]
        return Reports(
            np.arange(ROWS, dtype=np.uint8),
            np.concatenate([self.oracle.furthest(table, clients).values for table in tables]),
        )

    def simulate(self, counts: np.ndarray, random: Source) -> np.ndarray:
        """Return statistics of clients; counts: of each bucket, (buckets,), or records of a `text` and its `count`."""
        has_texts = counts.dtype.names is not None
        cells = self.input_cells(counts["text"]) if has_texts else np.arange(self.buckets)
        many = counts["count"] if has_texts else counts
        by_row = random.generator().multinomial(many, np.full(ROWS, 1 / ROWS))
        tables = []
        for row, own in enumerate(by_row.T):
            held = np.bincount(self._buckets(cells, row), own, self.buckets).astype(np.int64)
            tables.append(self.oracle.simulate(held, random))
        return np.concatenate([by_row.sum(axis=0), *tables])

    def labels(self) -> Labels:
        rows, buckets = np.indices((ROWS, self.buckets)).reshape(2, -1)
        first = np.arange(ROWS)
        statistic = np.repeat(["reports", "count"], [ROWS, len(rows)])
        return Labels(statistic, np.concatenate([first, rows]), np.concatenate([np.zeros_like(first), buckets]))

    def model(self) -> HashedSums:
        return HashedSums(ROWS, self.oracle.model())


_OF_ORACLE = ("prime", "bins", "weight_in", "weight_out")


def _of_oracle(reports: Reports) -> Reports:
    """The reports without their rows."""
    return Reports(np.zeros_like(reports.level), reports.values)


def polynomials(texts: np.ndarray, base: int) -> np.ndarray:
    """Return the hash values sum_i (x_i + 1) base^(n - i + 1) mod PRIME of rows x of n symbols, by Horner's rule.

    Two different rows of symbols have the same value for at most n of the PRIME bases [CarterWegman1979].
    """
    value = np.zeros(len(texts), dtype=np.int64)
    for column in texts.T:
        value = (value + column + 1) * base % PRIME
    return value


def _bases() -> tuple[int, ...]:
    """The bases of all rows, 2..PRIME - 1: public, and the same for everybody."""
    digests = (hashlib.sha256(f"ldpflow text row {row}".encode()).digest() for row in range(ROWS))
    return tuple(2 + int.from_bytes(digest[:8], "big") % (PRIME - 2) for digest in digests)


@dataclass(frozen=True)
class HashedSums(ObservationModel):
    """The reports of each row, (rows,), then how many of them support each bucket, row after row.

    of_row: the supports of one row's buckets.
    """

    rows: int
    of_row: ScoreSums

    def split(self, statistics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the reports of each row, (rows,), and the supports, (rows, buckets)."""
        return statistics[: self.rows], statistics[self.rows :].reshape(self.rows, -1)

    def means(self, law: np.ndarray) -> np.ndarray:
        """Return the mean statistics of one report, (S,); law: of the buckets, the same in every row."""
        return np.concatenate([np.ones(self.rows), np.tile(self.of_row.means(law), self.rows)]) / self.rows

    def expected_statistics(self, law: np.ndarray, n: int) -> np.ndarray:
        return n * self.means(law)

    def level_counts(self, statistics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.split(statistics)[0], np.full(self.rows, 1 / self.rows)
