"""Sampling from a smoothed histogram: k draws of (1 - delta) f_hat + delta, f_hat the histogram of cubes [WassermanZhou2010].

What is released is the sample itself, so that k is bounded by the budget: k log((1 - delta) m / (n delta) + 1) <= epsilon
(Theorem 5).  A larger synthetic sample is drawn from the histogram of what was released, at no further cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf, log1p
from typing import Any, ClassVar

import numpy as np

from dpcore._random import WORD, Source
from dpcore.errors import CalibrationError, InvalidRecord, check_whole
from dpcore.laboratory.central.base import CuratorMechanism, cells_of, check_cube
from dpcore.laboratory.central.densities.releases import HistogramRelease
from dpcore.laboratory.central.exponential import integer_weights
from dpcore.mechanisms.base import Certificate
from dpcore.privacy.budget import Budget


def privacy_loss(n: int, cells: int, size: int, delta: Fraction | float) -> float:
    """Return the loss of k = size draws over m = cells, k log((1 - delta) m / (n delta) + 1): infinite at delta = 0."""
    return inf if delta == 0 else size * log1p(float((1 - delta) * cells / (n * delta)))


@dataclass(frozen=True)
class SmoothedHistogram(CuratorMechanism):
    """k independent draws from the smoothed histogram of n records on m = bins^dimension cubes.

    n: how many records there are, public.  size: k >= 1.  delta: in (0, 1), an exact fraction.

    Privacy.  Claim: Pr(Z = z | x) <= e^epsilon Pr(Z = z | y) for all neighbours x, y and all z (Theorem 5).
        1. A draw falls into cube j with probability (1 - delta) C_j / n + delta / m, then uniformly: it reveals the cube only.
        2. A neighbour has C_j + 1 or C_j - 1 in at most two cubes, so the ratio of two probabilities of cube j is at most
           ((1 - delta) (c + 1) / n + delta / m) / ((1 - delta) c / n + delta / m).
        3. That decreases in c: it is largest at c = 0, where it is (1 - delta) m / (n delta) + 1.
        4. Draws are independent, so k of them have at most its k-th power, reached where all fall into an emptied cube.
        5. The constructor compares that fraction with a rational lower bound of e^epsilon; delta = 0 divides by zero: refused.

    Raises CalibrationError where the parameters break the claim.
    """

    name: ClassVar[str] = "smoothed_histogram"

    budget: Budget
    n: int
    bins: int
    size: int
    delta: Fraction
    dimension: int = 1

    def __post_init__(self) -> None:
        check_cube(self.bins, self.dimension)
        check_whole(1, 1 << 40, n=self.n)
        check_whole(1, 1 << 24, size=self.size)
        if not 0 < self.delta < 1:
            raise CalibrationError(
                f"delta must lie strictly between 0 and 1, got {self.delta}; at 0 a cube that one person alone is in "
                "betrays them (infinite loss), at 1 nothing is released; take more records or fewer cells and draws"
            )
        if not isinstance(self.delta, Fraction):
            raise CalibrationError(f"delta must be an exact fraction, such as Fraction(1, 4), got {self.delta!r}")
        self._refuse_unless_kept(
            "that is k log((1 - delta) m / (n delta) + 1): raise delta or n, or lower size or bins"
        )

    @classmethod
    def for_kolmogorov_smirnov(
        cls, budget: Budget, n: int, dimension: int = 1, constant: float = 1.0
    ) -> SmoothedHistogram:
        """Return Theorem 6's choice: m ~ n^{r/(6+r)}, k ~ m^{4/r}, delta = m k / (n epsilon)."""
        check_whole(1, 1 << 40, n=n)
        bins = max(1, round(constant * n ** (1 / (6 + dimension))))
        return cls._with_delta(budget, n, bins, max(1, bins**4), dimension)

    @classmethod
    def for_squared_l2(cls, budget: Budget, n: int, dimension: int = 1, constant: float = 1.0) -> SmoothedHistogram:
        """Return Theorem 7's choice: m ~ n^{r/(2r+3)}, k ~ n^{(r+2)/(2r+3)}, delta = m k / (n epsilon) ~ n^{-1/(2r+3)}.

        The source prints delta ~ n^{-1/(r+3)}, which vanishes too fast to keep any epsilon.
        """
        check_whole(1, 1 << 40, n=n)
        r = dimension
        bins = max(1, round(constant * n ** (1 / (2 * r + 3))))
        size = max(1, round(constant * n ** ((r + 2) / (2 * r + 3))))
        return cls._with_delta(budget, n, bins, size, r)

    @classmethod
    def _with_delta(cls, budget: Budget, n: int, bins: int, size: int, dimension: int) -> SmoothedHistogram:
        return cls(budget, n, bins, size, Fraction(bins**dimension * size, n) / budget.floor, dimension)

    @property
    def cells(self) -> int:
        """m = bins^dimension."""
        return int(self.bins**self.dimension)

    def certificate(self) -> Certificate:
        one = (1 - self.delta) * self.cells / (self.n * self.delta) + 1
        return Certificate("ratio", integer_weights.power_above(one, self.size), self.budget)

    def weights(self, records: Any) -> list[int]:
        """Return the integers that the cubes are drawn with, m of them: a draw's law is these over their sum."""
        cells = cells_of(records, self.bins, self.dimension)
        if len(cells) != self.n:
            raise InvalidRecord(f"this mechanism was made for {self.n} records, got {len(cells)}; make one for as many")
        counts = np.bincount(cells, minlength=self.cells)
        part, whole = self.delta.numerator, self.delta.denominator
        return [(whole - part) * self.cells * int(count) + part * self.n for count in counts]

    def release(self, records: Any, random: Source) -> HistogramRelease:
        """Return the sample with its histogram; records: (n,) or (n, r) in [0, 1]^r, exactly n of them."""
        drawn = integer_weights.draw(self.weights(records), self.size, random)
        corner = np.stack(np.unravel_index(drawn, (self.bins,) * self.dimension), axis=1)
        inside = random.below(WORD, self.size * self.dimension).reshape(self.size, self.dimension)
        points = (corner + (inside + 0.5) / WORD) / self.bins
        counts = np.bincount(drawn, minlength=self.cells).reshape((self.bins,) * self.dimension)
        return HistogramRelease(counts / self.size, points)
