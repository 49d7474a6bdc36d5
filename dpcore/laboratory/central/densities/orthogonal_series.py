"""The perturbed orthogonal series: cosine coefficients with Laplace noise, made a density [WassermanZhou2010].

The source prints Lap(c0 m / (n epsilon)), c0 = sqrt(2) the bound of the basis.  The sensitivity of the m means under a changed
record is up to 2 c0 m / n, so that what it prints loses between 1.23 and 2 epsilon.  The scale here is that of the exact
sensitivity sup_{u,v} sum_j |psi_j(u) - psi_j(v)| / n, by enumeration of the integers that are summed: 1.23 to 2 times the
printed one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from dpcore._random import WORD, Source
from dpcore.errors import SchemeError, check_whole, check_within
from dpcore.laboratory.central.base import CuratorMechanism, check_counts, laplace_scale, unit_cube
from dpcore.laboratory.central.densities.releases import SeriesRelease, cosines
from dpcore.mechanisms.base import Certificate
from dpcore.mechanisms.noise import discrete_laplace
from dpcore.privacy.budget import Budget

CELLS = 1 << 10  # of [0, 1], to which records are rounded first
LATTICE = 1 << 16  # steps to 1 of a basis function
BOUND = sqrt(2)  # c0


@dataclass(frozen=True)
class PerturbedSeries(CuratorMechanism):
    """beta_j + noise, j = 1..terms; scale: of the noise, in steps of 1 / (2^16 n).

    Privacy.  Claim: Pr(S = s | x) <= e^epsilon Pr(S = s | y) for the noisy sums S, all neighbours x, y and all s.
        1. A record is rounded to one of 1024 cells and adds that cell's row of an integer table to the sums.
        2. A changed record moves the sums by T[a] - T[b], in the l1 norm at most D, the maximum over all pairs of cells.
        3. Each sum gets independent discrete Laplace noise of scale t: the ratio is at most exp(D / t).
        4. Dividing by n, the positivity repair and samples of any size read the noisy sums only: post-processing.
        5. The constructor enumerates D and refuses D / t > a rational lower bound of epsilon.

    Raises CalibrationError where the scale breaks the claim, as the printed one does.
    """

    name: ClassVar[str] = "perturbed_orthogonal_series"

    budget: Budget
    terms: int
    scale: int

    def __post_init__(self) -> None:
        check_whole(1, 256, terms=self.terms)
        check_whole(1, WORD, scale=self.scale)
        self._refuse_unless_kept("the source's printed scale does; take the noise's scale from `design`")

    @classmethod
    def design(cls, budget: Budget, terms: int) -> PerturbedSeries:
        """Return the mechanism with the least noise that keeps `budget`."""
        check_whole(1, 256, terms=terms)
        return cls(budget, terms, laplace_scale(sensitivity(terms), budget))

    @classmethod
    def for_rate(cls, budget: Budget, n: int, order: float = 2.0) -> PerturbedSeries:
        """Return Theorem 15's choice, Sobolev order gamma > 1: m = n^{1/(2 gamma + 1)}; k >= n draws lose nothing to k."""
        check_within(1, 1 << 40, n=n)
        if not order > 1:
            raise SchemeError(f"Theorem 15 wants a Sobolev order above 1, got {order}")
        return cls.design(budget, max(1, round(n ** (1 / (2 * order + 1)))))

    def certificate(self) -> Certificate:
        most = sensitivity(self.terms)
        return Certificate("loss", Fraction(most, self.scale), self.budget, (most,))

    def release(self, records: Any, random: Source) -> SeriesRelease:
        """Return the perturbed series as a density; records: (n,) in [0, 1]."""
        return self.release_counts(np.bincount(input_cells(records), minlength=CELLS), random)

    def release_counts(self, counts: np.ndarray, random: Source) -> SeriesRelease:
        """Return the perturbed series of people counted by cell already, (1024,)."""
        counts = check_counts(counts, CELLS)
        n = int(counts.sum())
        sums = counts @ table(self.terms) + discrete_laplace.sample(self.scale, self.terms, random)
        return SeriesRelease(sums / (LATTICE * n))


def printed_scale(terms: int, budget: Budget) -> int:
    """Return the source's c0 m / epsilon for sums, in lattice steps: what `PerturbedSeries` refuses."""
    return int(BOUND * terms * LATTICE / float(budget))


def printed_loss(terms: int) -> float:
    """Return the privacy loss of the printed scale over epsilon, by enumeration: 2 for one term, 1.23 for fifty."""
    return sensitivity(terms) / (BOUND * terms * LATTICE)


def input_cells(records: Any) -> np.ndarray:
    """Return the cell 0..1023 of each record of [0, 1], (n,)."""
    return np.minimum((unit_cube(records, 1)[:, 0] * CELLS).astype(np.int64), CELLS - 1)


@lru_cache(maxsize=64)
def table(terms: int) -> np.ndarray:
    """Return the integers rint(2^16 psi_j(midpoint)) of each cell, (1024, terms), int64, read-only."""
    integers = np.rint(LATTICE * cosines((np.arange(CELLS) + 0.5) / CELLS, terms)).astype(np.int64)
    integers.flags.writeable = False
    return integers


@lru_cache(maxsize=256)
def sensitivity(terms: int) -> int:
    """Return max over pairs of cells of |T[a] - T[b]|_1, in lattice steps; exact."""
    integers = table(terms)
    return max(int(np.abs(integers - row).sum(axis=1).max()) for row in integers)


@lru_cache(maxsize=256)
def distance_sensitivity(terms: int) -> float:
    """Return max over pairs of cells of |psi(u) - psi(v)|_2, at most 2 sqrt(2 m)."""
    integers = table(terms)
    return max(sqrt(int(((integers - row) ** 2).sum(axis=1).max())) for row in integers) / LATTICE
