"""What is released of a density on [0, 1]^r: a histogram of cubes, or a cosine series brought to be a density.

A release has already been paid for: its density, its distribution function and samples of any size are post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from dpcore._random import Source
from dpcore.errors import InvalidRecord
from dpcore.laboratory.central.base import cells_of, check_counts, unit_cube

_STEPS = 1 << 12  # of [0, 1], on which a series is made positive and integrated


@dataclass(frozen=True, eq=False)
class HistogramRelease:
    """A density that is constant on the cubes of [0, 1]^r with sides 1 / m.

    probabilities: (m,) * r, nonnegative, summing to one.
    points: (k, r), the released sample where the mechanism released one; None where it released the histogram.
    remark: what to know before using it; '' where there is nothing.
    """

    probabilities: np.ndarray
    points: np.ndarray | None = None
    remark: str = ""

    def __repr__(self) -> str:
        return f"<HistogramRelease of {self.bins} bins a side in dimension {self.dimension}>"

    @property
    def dimension(self) -> int:
        """r."""
        return self.probabilities.ndim

    @property
    def bins(self) -> int:
        """m, the bins of a side."""
        return self.probabilities.shape[0]

    def pdf(self, x: Any) -> np.ndarray:
        """Return the density at x, (n, r) or (n,) in one dimension; shape (n,)."""
        x = unit_cube(x, self.dimension)
        at = np.minimum((x * self.bins).astype(np.int64), self.bins - 1)
        return np.asarray(self.probabilities[tuple(at.T)] * float(self.bins**self.dimension))

    def cdf(self, x: Any) -> np.ndarray:
        """Return the mass of [0, x], x (n, r) or (n,) in one dimension; shape (n,)."""
        return np.asarray(self._cumulated(unit_cube(x, self.dimension)))

    def sample(self, size: int, random: Source) -> np.ndarray:
        """Return independent draws of the density, (size,) in one dimension, else (size, r)."""
        generator = random.generator()
        drawn = generator.choice(self.probabilities.size, size=size, p=self.probabilities.ravel())
        corner = np.stack(np.unravel_index(drawn, self.probabilities.shape), axis=1)
        points = (corner + generator.random((size, self.dimension))) / self.bins
        return points[:, 0] if self.dimension == 1 else points

    @cached_property
    def _cumulated(self) -> scipy.interpolate.RegularGridInterpolator:
        total = np.pad(self.probabilities, [(1, 0)] * self.dimension)
        for axis in range(self.dimension):
            total = total.cumsum(axis=axis)
        edge = np.arange(self.bins + 1) / self.bins
        return scipy.interpolate.RegularGridInterpolator((edge,) * self.dimension, total)


def histogram(points: Any, bins: int, dimension: int = 1) -> HistogramRelease:
    """Return the plain histogram of points of [0, 1]^r, at least one: nothing private about it."""
    cells = cells_of(points, bins, dimension)
    counts = check_counts(np.bincount(cells, minlength=bins**dimension), bins**dimension).reshape((bins,) * dimension)
    return HistogramRelease(counts / counts.sum())


def cosines(x: Any, terms: int) -> np.ndarray:
    """Return psi_j(x) = sqrt(2) cos(pi j x), j = 1..terms, shape (n, terms): orthonormal on [0, 1], at most sqrt(2)."""
    return np.sqrt(2) * np.cos(np.pi * np.multiply.outer(np.asarray(x, dtype=np.float64), np.arange(1, terms + 1)))


@dataclass(frozen=True, eq=False)
class SeriesRelease:
    """1 + sum_j beta_j psi_j on [0, 1], its negative parts set to zero and the rest brought to mass one [HallMurison1993].

    coefficients: (m,) beta_1..beta_m of the cosine basis.
    points: (k,) the released sample where the mechanism released one.
    """

    coefficients: np.ndarray
    points: np.ndarray | None = None

    def __repr__(self) -> str:
        return f"<SeriesRelease of {len(self.coefficients)} terms>"

    @property
    def dimension(self) -> int:
        """1."""
        return 1

    def series(self, x: Any) -> np.ndarray:
        """Return the series at x (n,), before the repair: it may be negative."""
        return np.asarray(1 + cosines(x, len(self.coefficients)) @ self.coefficients)

    @property
    def is_repaired(self) -> bool:
        """Whether the series was negative somewhere."""
        return bool(self.series(self._grid).min() < 0)

    def pdf(self, x: Any) -> np.ndarray:
        """Return the density at x (n,) in [0, 1]."""
        return np.maximum(self.series(unit_cube(x, 1)[:, 0]), 0.0) / self._masses[-1]

    def cdf(self, x: Any) -> np.ndarray:
        """Return the mass of [0, x], x (n,) in [0, 1]."""
        return np.asarray(np.interp(unit_cube(x, 1)[:, 0], self._grid, self._masses / self._masses[-1]))

    def sample(self, size: int, random: Source) -> np.ndarray:
        """Return independent draws of the density, (size,)."""
        return np.asarray(np.interp(random.generator().random(size), self._masses / self._masses[-1], self._grid))

    @cached_property
    def _grid(self) -> np.ndarray:
        return np.arange(_STEPS + 1) / _STEPS

    @cached_property
    def _masses(self) -> np.ndarray:
        """The integral of the positive part up to each grid point; the repaired density's mass is the last of them."""
        positive = np.maximum(self.series(self._grid), 0.0)
        return np.concatenate([[0.0], np.cumsum((positive[1:] + positive[:-1]) / (2 * _STEPS))])


def series_estimate(points: Any, terms: int) -> SeriesRelease:
    """Return the plain series estimate of points of [0, 1], at least one: nothing private about it."""
    values = unit_cube(points, 1)[:, 0]
    if not len(values):
        raise InvalidRecord("a series needs at least one point, got none")
    return SeriesRelease(cosines(values, terms).mean(axis=0))
