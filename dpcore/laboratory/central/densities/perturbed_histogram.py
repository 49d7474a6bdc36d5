"""The perturbed histogram: counts with Laplace noise, negative ones set to zero, brought to mass one [WassermanZhou2010].

The noisy counts are the release; the density and samples of any size are made of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dpcore._random import WORD, Source
from dpcore.errors import check_positive, check_whole, check_within
from dpcore.laboratory.central.base import CuratorMechanism, cells_of, check_counts, check_cube, laplace_scale
from dpcore.laboratory.central.densities.releases import HistogramRelease
from dpcore.laboratory.central.queries import PARTS
from dpcore.mechanisms.base import Certificate
from dpcore.mechanisms.noise import discrete_laplace
from dpcore.privacy.budget import Budget


@dataclass(frozen=True)
class PerturbedHistogram(CuratorMechanism):
    """Counts of m = bins^dimension cubes plus Lap(2 / epsilon), whatever m; scale: of the noise, 2^-16 of a count.

    Privacy.  Claim: Pr(D = d | x) <= e^epsilon Pr(D = d | y) for the noisy counts D, all neighbours x, y and all d.
        1. A changed record leaves one cube and enters another: the counts move by at most 2 in the l1 norm, 2 2^16 steps.
        2. Each count gets independent discrete Laplace noise of scale t steps: Pr(D = d | x) = prod_j c exp(-|d_j - C_j| / t).
        3. By the triangle inequality the ratio for x and y is at most exp(2 2^16 / t).
        4. Clipping at zero, normalising and sampling read D only: post-processing.
        5. The constructor refuses 2 2^16 / t > a rational lower bound of epsilon.

    Raises CalibrationError where the scale breaks the claim.
    """

    name: ClassVar[str] = "perturbed_histogram"

    budget: Budget
    bins: int
    scale: int
    dimension: int = 1

    def __post_init__(self) -> None:
        check_cube(self.bins, self.dimension)
        check_whole(1, WORD, scale=self.scale)
        self._refuse_unless_kept("take the noise's scale from `design`")

    @classmethod
    def design(cls, budget: Budget, bins: int, dimension: int = 1) -> PerturbedHistogram:
        """Return the mechanism with the least noise that keeps `budget`: Lap(2 / epsilon) on each count."""
        return cls(budget, bins, laplace_scale(2 * PARTS, budget), dimension)

    @classmethod
    def for_rate(cls, budget: Budget, n: int, dimension: int = 1, constant: float = 1.0) -> PerturbedHistogram:
        """Return Theorem 8's choice for both distances, m ~ n^{r/(2+r)}; samples of k >= n lose nothing to k."""
        check_within(1, 1 << 40, n=n)
        check_positive(constant=constant)
        return cls.design(budget, max(1, round(constant * n ** (1 / (2 + dimension)))), dimension)

    def certificate(self) -> Certificate:
        return Certificate("loss", Fraction(2 * PARTS, self.scale), self.budget, (2 * PARTS,))

    def release(self, records: Any, random: Source) -> HistogramRelease:
        """Return the perturbed histogram; records: (n,) or (n, r) in [0, 1]^r."""
        cells = cells_of(records, self.bins, self.dimension)
        return self.release_counts(np.bincount(cells, minlength=self.bins**self.dimension), random)

    def release_counts(self, counts: np.ndarray, random: Source) -> HistogramRelease:
        """Return the perturbed histogram of people counted by cube already, (bins^dimension,), cubes row by row.

        Its remark states whether n epsilon <= 1: the uniform density then is nearer the truth than most releases.
        """
        counts = check_counts(counts, self.bins**self.dimension)
        n = int(counts.sum())
        noisy = PARTS * counts + discrete_laplace.sample(self.scale, len(counts), random)
        clipped = np.maximum(noisy, 0)
        total = int(clipped.sum())
        shares = clipped / total if total else np.full(len(clipped), 1 / len(clipped))
        return HistogramRelease(shares.reshape((self.bins,) * self.dimension), remark=self.remark(n))

    def remark(self, n: int) -> str:
        """Return why not to use a release from n records, '' where n epsilon > 1."""
        if n * self.budget.floor > 1:
            return ""
        return (
            f"n epsilon = {float(n * self.budget.floor):.3g} is at most 1: the noise drowns the counts, and the uniform "
            "density is likely nearer; collect more records or raise epsilon"
        )
