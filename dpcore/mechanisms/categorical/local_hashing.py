"""Optimized local hashing (OLH): hash the category into g bins by a public random line, then report the bin, or another.

Source: [Wang2017].  Their hash function is any universal one; ours is a line a x + b over GF(P), a not 0, cut into g bins.
Two categories fall on a uniform pair of distinct residues, so that the estimator is exactly unbiased, and with P close to k
a little better than with independent hash values.  A line also makes aggregation fast: the categories that a report
supports are those whose residue a x lies on an arc, so that reports with the same slope become one sum of arcs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpcore._random import Source
from dpcore.errors import CalibrationError, check_whole
from dpcore.mechanisms import _kernels
from dpcore.mechanisms.base import integer_weights
from dpcore.mechanisms.categorical.frequency_oracle import FrequencyOracle, WeightedOracle
from dpcore.mechanisms.declaration import mechanism
from dpcore.mechanisms.observation_model import ScoreSums
from dpcore.mechanisms.report_sums import by_ranges
from dpcore.mechanisms.reports import Reports, chunks, one_of_level_zero
from dpcore.privacy.budget import Budget

_CELLS = 1 << 22  # up to so many (slope, residue) cells are summed at once; above, reports are sorted by slope
_CHUNK = 1 << 17  # and then so many at a time, which stay in a core's cache
_REPORTS = 1 << 20  # how many clients are simulated at once


@mechanism(
    "local_hashing",
    attributes={"categorical"},
    estimators=("frequency",),
    words="a hash function drawn at random, and the category's hash, replaced at random with a known probability",
)
@dataclass(frozen=True)
class LocalHashing(WeightedOracle):
    """Report [a, b, v]: the hash h(x) = floor(((a x + b) mod P) g / P), drawn by the client and public, and a bin v.

    categories: k, 2..10,000.  prime: P >= k, below 2^16.  bins: g, 2..P, of floor(P/g) or ceil(P/g) residues.  v = h(x) with
    weight `weight_in`, each other bin with weight `weight_out`; T = weight_in + (g - 1) weight_out <= 2^32.

    Privacy.  Claim: Pr(a, b, v | x) <= e^epsilon Pr(a, b, v | x') for all x, x', a, b, v.
        1. a is uniform on 1..P-1 and b on 0..P-1, drawn without looking at x: each pair has probability 1/(P (P - 1)).
        2. Given them, r is uniform on 0..T-1, T the same for all x; weight_in values of r lead to v = h(x),
           weight_out to each other bin.
        3. So Pr(a, b, v | x) is weight_in / (P (P - 1) T) or weight_out / (P (P - 1) T), whatever x.
        4. Every ratio is at most weight_in / weight_out, an exact fraction.
        5. The constructor refuses weight_in / weight_out > E, a rational lower bound of e^epsilon.

    Raises CalibrationError where the weights break the claim.
    """

    prime: int
    bins: int
    weight_in: int
    weight_out: int

    def __post_init__(self) -> None:
        FrequencyOracle.__post_init__(self)
        check_whole(self.categories, (1 << 16) - 1, prime=self.prime)
        check_whole(2, self.prime, bins=self.bins)
        if not _is_prime(self.prime):
            raise CalibrationError(f"local_hashing needs a prime modulus, got {self.prime}; leave it out")
        super().__post_init__()

    @classmethod
    def design(cls, budget: Budget, *, categories: int, bins: int | None = None) -> LocalHashing:
        """Return the mechanism that keeps `budget`; without `bins` the g of least variance at f = 0, near e^epsilon + 1."""
        check_whole(2, 10_000, categories=categories)
        prime = categories
        while not _is_prime(prime):
            prime += 1
        return cls._weighted(budget, categories, prime, bins or _best_bins(prime, float(budget.ratio_floor)))

    @classmethod
    def _weighted(cls, budget: Budget, categories: int, prime: int, bins: int) -> LocalHashing:
        check_whole(2, prime, bins=bins)
        return cls(budget, categories, prime, bins, *integer_weights(budget, 1, bins - 1))

    @property
    def sizes(self) -> tuple[int, ...]:
        return (3,)

    @property
    def total(self) -> int:
        """T, the number of equally likely draws of the bin."""
        return self.weight_in + (self.bins - 1) * self.weight_out

    @property
    def edges(self) -> np.ndarray:
        """The residues at which bins begin, and P, shape (g + 1,): bin v is edges[v] <= r < edges[v + 1]."""
        return -(-np.arange(self.bins + 1) * self.prime // self.bins)

    @property
    def truth_probability(self) -> Fraction:
        """p, the probability that a report supports the true category: that v = h(x)."""
        return Fraction(self.weight_in, self.total)

    @property
    def other_probability(self) -> Fraction:
        """q, the probability that a report supports any one other category y: that v = h(y)."""
        same = self.collision
        return same * self.truth_probability + (1 - same) * Fraction(self.weight_out, self.total)

    @property
    def collision(self) -> Fraction:
        """The probability that two categories, on distinct residues, fall into one bin."""
        pairs = sum(int(width) * (int(width) - 1) for width in np.diff(self.edges))
        return Fraction(pairs, self.prime * (self.prime - 1))

    def channel(self) -> tuple[np.ndarray, ...] | None:
        """Return the integer weights, (k, (P - 1) P g), a = 1, 2, .. slowest and v fastest, or None above 2^22 entries."""
        p, g = self.prime, self.bins
        if self.categories * p * (p - 1) * g > 1 << 22:
            return None
        slope, shift, v = (part.ravel() for part in np.indices((p - 1, p, g)))
        hashed = self.hash(slope + 1, shift, np.arange(self.categories)[:, None])
        return (np.where(hashed == v, self.weight_in, self.weight_out),)

    def hash(self, slope: np.ndarray, shift: np.ndarray, category: np.ndarray) -> np.ndarray:
        """Return h(x), integers 0..g-1, of the shape the three broadcast to."""
        return (slope * category + shift) % self.prime * self.bins // self.prime

    def privatize(self, values: np.ndarray, random: Source, levels: np.ndarray | None = None) -> Reports:
        values = self.input_cells(values)
        n = len(values)
        slope, shift = random.residues(self.prime - 1, n), random.residues(self.prime, n)
        drawn = random.residues(self.total, n)
        rows = np.empty((n, 3), dtype=np.int64)
        loop = _kernels.chosen(_kernels.local_hashing, n)
        if loop is not None:
            loop(slope, shift, drawn, values, self.prime, self.bins, self.weight_in, self.weight_out, rows)
            return Reports(np.zeros(n, dtype=np.uint8), rows.reshape(-1))
        for part in chunks(n):
            rows[part, 0] = slope[part] + np.uint32(1)
            rows[part, 1] = shift[part]
            rows[part, 2] = self._bins(slope[part], shift[part], drawn[part], values[part])
        return Reports(np.zeros(n, dtype=np.uint8), rows.reshape(-1))

    def _bins(self, slope: np.ndarray, shift: np.ndarray, drawn: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Bins that a few clients report, uint32; slope: less one.  P is below 2^16, so that 32 bits hold a x + b and r g."""
        prime = np.uint32(self.prime)
        residue = (slope + np.uint32(1)) * values.astype(np.uint32)
        residue += shift
        residue -= residue // prime * prime
        residue *= np.uint32(self.bins)
        residue //= prime
        other = np.maximum(drawn, np.uint32(self.weight_in))
        other -= np.uint32(self.weight_in)
        other //= np.uint32(self.weight_out)  # 0..g-2, the other bins in order
        other += other >= residue  # skip the true bin
        return np.where(drawn < self.weight_in, residue, other)

    def ranges(self, level: int) -> tuple[np.ndarray, np.ndarray]:
        return np.array([1, 0, 0]), np.array([self.prime - 1, self.prime - 1, self.bins - 1])

    def furthest(self, weights: np.ndarray, clients: int) -> Reports:
        """Return the report [a, b, v] of the heaviest arc; all slopes are looked at, in O(P^2)."""
        prime, edges = self.prime, self.edges
        widths, categories = np.diff(edges), np.arange(self.categories)
        best, report = -np.inf, (1, 0, 0)
        most = max(1, _CHUNK // prime)
        for first in range(1, prime, most):
            slopes = np.arange(first, min(first + most, prime))
            circle = np.zeros((len(slopes), prime))
            circle[np.arange(len(slopes))[:, None], slopes[:, None] * categories % prime] = weights
            ends = np.cumsum(np.hstack([np.zeros((len(slopes), 1)), circle, circle]), axis=1)
            for width in np.unique(widths).tolist():
                arcs = ends[:, width : width + prime] - ends[:, :prime]
                row, begin = np.unravel_index(int(np.argmax(arcs)), arcs.shape)
                if arcs[row, begin] > best:
                    v = int(np.argmax(widths == width))
                    best, report = float(arcs[row, begin]), (int(slopes[row]), int((edges[v] - begin) % prime), v)
        return one_of_level_zero(np.array(report))

    def statistics(self, reports: Reports) -> np.ndarray:
        return self._supports(reports.values.reshape(-1, 3))

    def scores(self, reports: Reports) -> np.ndarray:
        slope, shift, v = reports.values.reshape(-1, 3).astype(np.uint32).T[:, :, None]
        residues = slope * np.arange(self.categories, dtype=np.uint32)  # of 32 bits, as P is below 2^16
        residues += shift
        residues -= residues // np.uint32(self.prime) * np.uint32(self.prime)
        residues -= self.edges.astype(np.uint32)[v]  # below the bin's first residue it wraps around, beyond its last
        return np.asarray(residues < np.diff(self.edges).astype(np.uint32)[v]).view(np.int8)

    @property
    def group_cost(self) -> int:
        return max(super().group_cost, 4 * self.prime**2)  # arcs are counted for every slope

    def _supports(self, rows: np.ndarray) -> np.ndarray:
        """How many reports support each category, (k,), from reports (n, 3).

        Report [a, b, v] supports x where a x mod P lies on the arc edges[v] - b .. edges[v + 1] - b of the circle.  For each
        slope the arcs' ends are counted, summed along the circle, and read off at a x mod P: O(n + P (P + k)).
        """
        supports = np.zeros(self.categories, dtype=np.int64)
        if not len(rows):
            return supports
        loop = _kernels.chosen(_kernels.hashed_supports, len(rows)) if self.prime**2 <= _CELLS else None
        if loop is not None:
            turns = np.zeros((self.prime, self.prime), dtype=np.int32)
            if not loop(rows, self.edges, self.prime, turns, supports):
                raise ValueError(
                    "at least one report could not have been sent by any client; pass accepted reports only"
                )
            return supports
        categories, narrow = np.arange(self.categories), self.prime // self.bins
        for slopes, arcs in self._arcs(rows):
            turns = arcs.sum(axis=1, dtype=np.int64)  # what begins at a residue, less what ends there
            for width, begins in ((narrow, arcs[:, 0]), (narrow + 1, arcs[:, 1])):
                turns[:, width:] -= begins[:, : self.prime - width]
                turns[:, :width] -= begins[:, self.prime - width :]
                turns[:, 0] += begins[:, self.prime - width :].sum(axis=1)  # these arcs cross residue 0
            covered = np.cumsum(turns, axis=1)
            residues = slopes[:, None] * categories % self.prime
            supports += np.take_along_axis(covered, residues, axis=1).sum(axis=0)
        return supports

    def _arcs(self, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Slopes (m,), a few at a time, and how many narrow and wide arcs begin where, (m, 2, P)."""
        prime, edges = self.prime, self.edges
        wide = np.diff(edges) - prime // self.bins
        present = np.flatnonzero(np.bincount(rows[:, 0], minlength=prime))
        rank = np.zeros(prime, dtype=np.int64)
        rank[present] = 2 * prime * np.arange(len(present))
        place = np.empty(len(rows), dtype=np.int64)
        for part in chunks(len(rows)):
            slope, shift, v = rows[part].T
            begin = edges[v] - shift
            begin += prime * (begin < 0)
            begin += prime * wide[v]
            place[part] = begin + rank[slope]
        if len(present) * prime <= _CELLS:
            yield present, np.bincount(place, minlength=2 * prime * len(present)).reshape(-1, 2, prime)
            return
        place.sort()
        most = max(1, _CHUNK // prime)
        for first in range(0, len(present), most):
            slopes = present[first : first + most]
            begins, cells = 2 * prime * first, 2 * prime * len(slopes)
            few = place[np.searchsorted(place, begins) : np.searchsorted(place, begins + cells)]
            yield slopes, np.bincount(few - begins, minlength=cells).reshape(-1, 2, prime)

    def marginal_laws(self) -> tuple[np.ndarray, ...]:
        """Return the distributions of slope and shift, which are uniform: of up to 256 ranges of each."""
        slopes, shifts = np.ones(self.prime), np.ones(self.prime)
        slopes[0] = 0
        return by_ranges(slopes / (self.prime - 1)), by_ranges(shifts / self.prime)

    def marginals(self, reports: Reports) -> np.ndarray:
        slopes, shifts, _ = reports.values.reshape(-1, 3).T
        counts = [by_ranges(np.bincount(drawn, minlength=self.prime)) for drawn in (slopes, shifts)]
        return np.concatenate(counts).astype(np.int64, copy=False)

    def simulate(self, counts: np.ndarray, random: Source) -> np.ndarray:
        """Return statistics of reports drawn by a numpy generator, a million clients at a time."""
        generator = random.generator()
        ends = np.cumsum(np.asarray(counts, dtype=np.int64))
        supports = np.zeros(self.categories, dtype=np.int64)
        for first in range(0, int(ends[-1]), _REPORTS):
            clients = np.arange(first, min(first + _REPORTS, int(ends[-1])))
            values = np.searchsorted(ends, clients, side="right")
            slope = generator.integers(1, self.prime, len(values))
            shift = generator.integers(0, self.prime, len(values))
            step = np.where(
                generator.random(len(values)) < float(self.truth_probability),
                0,
                generator.integers(1, self.bins, len(values)),
            )
            v = (self.hash(slope, shift, values) + step) % self.bins  # another bin: g - 1 equally likely steps
            supports += self._supports(np.stack([slope, shift, v], axis=1))
        return supports

    def model(self) -> ScoreSums:
        """Return the distribution of the supports.

        Means, squares and `true_cross` need pairs of residues, which are uniform: they are exact.  `other_cross` needs
        triples, which on a line are uniform on average over the categories only (exactly so where k = P).  At frequency 0, with
        g = e^epsilon + 1 bins and P large, one report's variance is 4 e^epsilon / (e^epsilon - 1)^2.
        """
        p, q, size = self.truth_probability, self.other_probability, self.prime
        wrong = Fraction(self.weight_out, self.total)  # the probability of one wrong bin
        both = Fraction(0)
        for width in map(int, np.diff(self.edges)):
            both += width * (width - 1) * ((width - 2) * p + (size - width) * wrong)
        both /= size * (size - 1) * max(size - 2, 1)  # P = 2 has no triples
        return ScoreSums(self.categories, p, q, p, q, self.collision * p, both)


def _best_bins(prime: int, ratio: float) -> int:
    """The g of least q (1 - q) / (p - q)^2, smallest first where equal."""
    bins = np.arange(2, prime + 1)
    width, wider = prime // bins, prime % bins  # `wider` of the bins hold width + 1 residues
    same = (wider * (width + 1) * width + (bins - wider) * width * (width - 1)) / (prime * (prime - 1))
    p, wrong = ratio / (ratio + bins - 1), 1 / (ratio + bins - 1)
    q = same * p + (1 - same) * wrong
    return int(bins[np.argmin(q * (1 - q) / (p - q) ** 2)])


def _is_prime(number: int) -> bool:
    return number >= 2 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))
