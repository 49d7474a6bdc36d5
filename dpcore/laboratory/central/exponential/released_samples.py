"""Exponential mechanisms whose candidates are samples: Kolmogorov-Smirnov distance, and distance of orthogonal series.

Source: [WassermanZhou2010], sections on the exponential mechanism.  A sample of k points on a lattice of [0, 1]^r is known by
how many points each cell holds; a vector of counts represents k! / prod counts! ordered samples, which is its measure.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import ceil, comb, factorial, sqrt
from typing import Any

import numpy as np

from dpcore.errors import SchemeError, check_positive, check_whole
from dpcore.laboratory.central.base import cells_of, check_counts, check_cube
from dpcore.laboratory.central.densities.orthogonal_series import distance_sensitivity, input_cells, table
from dpcore.laboratory.central.densities.releases import HistogramRelease, SeriesRelease, cosines
from dpcore.laboratory.central.exponential.exponential_mechanism import ExponentialMechanism, on_lattice
from dpcore.privacy.budget import Budget

_CANDIDATES = 1 << 20  # samples that are gone through
_SERIES_STEPS = 16  # whole steps to the sensitivity of a series' distance: rounding costs a sixteenth of it


class LatticeSamples:
    """All samples of k points on the midpoints of bins^dimension cubes, as counts (C, cells), in lexicographic order.

    Raises SchemeError above 2^20 of them.
    """

    def __init__(self, bins: int, size: int, dimension: int = 1, terms: int | None = None) -> None:
        check_cube(bins, dimension)
        check_whole(1, 20, size=size)
        self.bins, self.size, self.dimension, self.terms = bins, size, dimension, terms
        cells = bins**dimension
        if comb(cells + size - 1, size) > _CANDIDATES:
            raise SchemeError(
                f"{comb(cells + size - 1, size)} samples of {size} points on {cells} cells are too many to go through (2^20); "
                "take fewer cells or points, or the approximate mechanism"
            )
        self.counts = _compositions(cells, size)
        self.counts.flags.writeable = False

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, index: int) -> HistogramRelease | SeriesRelease:
        counts = self.counts[index]
        cells = np.repeat(np.arange(len(counts)), counts)
        points = (np.stack(np.unravel_index(cells, (self.bins,) * self.dimension), axis=1) + 0.5) / self.bins
        if self.terms is not None:
            return SeriesRelease(cosines(points[:, 0], self.terms).mean(axis=0), points[:, 0])
        return HistogramRelease((counts / self.size).reshape((self.bins,) * self.dimension), points)

    @property
    def multiplicities(self) -> np.ndarray:
        """k! / prod counts!, (C,), int64: number of ordered samples that each represents."""
        factorials = np.array([factorial(c) for c in range(self.size + 1)], dtype=np.int64)
        result = np.full(len(self.counts), factorial(self.size), dtype=np.int64)
        for column in self.counts.T:
            result //= factorials[column]
        return result


def kolmogorov_smirnov_mechanism(budget: Budget, *, bins: int, size: int, dimension: int = 1) -> ExponentialMechanism:
    """Return the exponential mechanism whose loss is sup |F_x - F_z| on the corners of bins^dimension cubes.

    Losses are n k sup |F_x - F_z|, whole, of sensitivity k: one record moves n F_x by at most 1 in every corner.
    Its releases are samples of k points beside their histogram.
    """
    samples = LatticeSamples(bins, size, dimension)
    of_samples = _cumulated(samples.counts, bins, dimension)

    def loss(records: Any) -> np.ndarray:
        cells = cells_of(records, bins, dimension)
        counts = check_counts(np.bincount(cells, minlength=bins**dimension), bins**dimension)[None]
        return np.abs(len(cells) * of_samples - size * _cumulated(counts, bins, dimension)).max(axis=1)

    return ExponentialMechanism(budget, loss, size, samples, samples.multiplicities)


def kolmogorov_smirnov_size(n: int, epsilon: float, log_supremum: float) -> int:
    """Return Theorem 12's k ~ (3 epsilon / B)^{2/3} n^{2/3} with the constant of its proof, B = log sup p > 0.

    At eps_n = k^{-1/2} the bound of Theorem 11 has the exponent k B - 3 epsilon n eps_n / 16, which is 0 at this k.
    """
    check_positive(n=n, epsilon=epsilon, log_supremum=log_supremum)
    return max(1, round((3 * epsilon * n / (16 * log_supremum)) ** (2 / 3)))


def orthogonal_series_mechanism(
    budget: Budget, n: int, *, bins: int, size: int, order: float = 2.0
) -> ExponentialMechanism:
    """Return the exponential mechanism whose loss is |p_x - p_z| in L2, cosine series of n^{1/(2 order + 1)} and k^{...} terms.

    n: how many records there are, public.  order: gamma, the Sobolev order, above 1/2 (Theorem 14 wants above 1).
    Its sensitivity is sup_{u,v} |psi(u) - psi(v)|_2 / n, at most 2 sqrt(2 m) / n by the reverse triangle inequality; the source
    (Lemma 13) has 4 m / n, and drops the 2 of exp(-epsilon xi / (2 Delta)).
    Its releases are samples of k points beside their series.
    """
    check_whole(1, 1 << 40, n=n)
    terms, sample_terms = series_terms(n, order), series_terms(size, order)
    samples = LatticeSamples(bins, size, 1, sample_terms)
    midpoints = cosines((np.arange(bins) + 0.5) / bins, sample_terms)
    of_samples = np.pad(samples.counts @ midpoints / size, [(0, 0), (0, max(0, terms - sample_terms))])
    sensitivity = distance_sensitivity(terms) / n

    def loss(records: Any) -> np.ndarray:
        cells = input_cells(records)
        if len(cells) != n:
            raise SchemeError(f"this mechanism was made for {n} records, got {len(cells)}; make one for as many")
        mean = np.zeros(of_samples.shape[1])
        mean[:terms] = table(terms)[cells].sum(axis=0) / (n * (1 << 16))
        return on_lattice(np.sqrt(((of_samples - mean) ** 2).sum(axis=1)), sensitivity, _SERIES_STEPS)

    return ExponentialMechanism(budget, loss, _SERIES_STEPS, samples, samples.multiplicities)


def orthogonal_series_size(n: int) -> int:
    """Return Theorem 14's k ~ sqrt(n)."""
    return ceil(sqrt(n))


def series_terms(n: int, order: float) -> int:
    """Return n^{1/(2 gamma + 1)}, rounded up: the terms of a series on n points of Sobolev order gamma > 1/2 (15)."""
    if not order > 0.5:
        raise SchemeError(f"the Sobolev order must exceed 1/2, got {order}")
    return max(1, ceil(n ** (1 / (2 * order + 1)) - 1e-9))


@lru_cache(maxsize=4)
def _compositions(cells: int, size: int) -> np.ndarray:
    bars = np.array(list(combinations(range(cells + size - 1), cells - 1)), dtype=np.int64).reshape(-1, cells - 1)
    ends = np.concatenate([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), cells + size - 1)], axis=1)
    return np.diff(ends, axis=1) - 1


def _cumulated(counts: np.ndarray, bins: int, dimension: int) -> np.ndarray:
    """Counts up to each corner, (C, cells)."""
    total = counts.reshape((len(counts),) + (bins,) * dimension)
    for axis in range(1, dimension + 1):
        total = total.cumsum(axis=axis)
    return total.reshape(len(counts), -1)
