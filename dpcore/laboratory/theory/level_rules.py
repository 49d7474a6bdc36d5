"""The level rules of [Szabo2024] as they are printed: constants that no theorem chose, logarithms in place of constants.

Estimates use those of `estimation.density.projection`; these can be given to `Projection` in their stead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.errors import EmptyWindow, SchemeError, check_positive, check_within
from dpcore.estimation.density.densities import Spline
from dpcore.estimation.density.projection import Fixed, LevelRule, first_accepted
from dpcore.estimation.density.resolution_levels import Ladder
from dpcore.estimation.diagnostics.evidence import LevelRow


@dataclass(frozen=True)
class PaperUndersmoothed(LevelRule):
    """The coarsest level j of the source's window for smooth functionals, its third theorem:

        (n ^ N)^{1/(2p)} <= 2^j <= [log^{-a/(m+1)}(N) N^{1/(4m+4)}] ^ [log^{-a}(n) n^{1/(4m+3)}],   N = n epsilon^2,

    where ^ is the smaller of the two and a bound with log of less than one is taken without its logarithm.  The lower end makes
    the bias vanish, the upper end the remainder.  For p = 4, a = 1.5, m = 0 it is empty until N is about 1e20: the logarithms
    replace constants that no theorem chose.  `Undersmoothed()` is what to use.

    a: > 1, of the mechanism.  p: > 0, derivatives of the density.  order: m, 0..3, of the derivatives in the remainder.
    """

    a: float
    p: float
    order: int = 0

    def __post_init__(self) -> None:
        check_positive(p=self.p)
        check_within(0, 3, order=self.order)
        if not 1 < self.a < np.inf:
            raise SchemeError(f"a must be a finite number above 1, got {self.a}")

    def window(self, n: float, epsilon: float) -> tuple[float, float]:
        """Return the two ends of 2^j for n reports of epsilon (natural-log units, > 0) each."""
        N, m = n * epsilon**2, int(self.order)
        lowest = min(n, N) ** (1 / (2 * self.p))
        noise = max(1.0, np.log(N)) ** (-self.a / (m + 1)) * N ** (1 / (4 * m + 4))
        sampling = max(1.0, np.log(n)) ** -self.a * n ** (1 / (4 * m + 3))
        return float(lowest), float(min(noise, sampling))

    def select(self, ladder: Ladder) -> tuple[int, tuple[LevelRow, ...]]:
        """Return the coarsest level within; raises EmptyWindow where the basis has none there."""
        lowest, highest = self.window(ladder.n, ladder.epsilon)
        level = max(int(np.ceil(np.log2(lowest))), ladder.basis.coarsest_level)
        if 2.0**level > highest:
            raise EmptyWindow(
                f"the source's window has no level j >= {ladder.basis.coarsest_level}: 2^j must be at least {lowest:.4g} for "
                f"the bias and at most {highest:.4g} for the noise, with {ladder.n:.4g} reports of epsilon {ladder.epsilon:g}, "
                f"a = {self.a:g}, p = {self.p:g}; use Undersmoothed()"
            )
        return Fixed(level).select(ladder)


@dataclass(frozen=True)
class PaperLepski(LevelRule):
    """The smallest j such that for every l > j and q = 0..max(0, degree - 1)

        ||(f^j - f^l)^(q)||^2 v max_t |(f^j - f^l)^(q)(t)|^2 <= tau / n 2^{2lq} (2^l + 2^{2l} l^{2a} / epsilon^2).

    Printed with q up to the unknown smoothness and a grid of n^{4/3} points; splines of degree d have d - 1 continuous
    derivatives, and piecewise polynomials show their maximum on 12 points per finest cell.

    tau: > 0; it has no universal value.  a: > 1, of the mechanism.
    """

    tau: float
    a: float = 1.5
    undersmoothing = 1

    def __post_init__(self) -> None:
        check_positive(tau=self.tau)

    def select(self, ladder: Ladder) -> tuple[int, tuple[LevelRow, ...]]:
        size, degree = len(ladder.levels), ladder.basis.degree
        grid = (np.arange(12 << ladder.levels[-1]) + 0.5) / (12 << ladder.levels[-1])
        statistic, threshold = np.zeros((size, size)), np.ones((size, size))
        for q in range(max(1, degree)):
            values = np.array(
                [Spline(0.0, 1.0, degree, j, ladder.coefficients(j)).derivative(q)(grid) for j in ladder.levels]
            )
            for j in range(size):
                for k in range(j + 1, size):
                    square = (values[k] - values[j]) ** 2  # its maximum is at least its mean, the squared L2 norm
                    l = ladder.levels[k]
                    bound = self.tau / ladder.n * 4.0 ** (l * q)
                    bound *= 2.0**l + 4.0**l * l ** (2 * self.a) / ladder.epsilon**2
                    ratio = square.max() / bound
                    if q == 0 or ratio > (statistic[j, k] / threshold[j, k]) ** 2:
                        statistic[j, k], threshold[j, k] = np.sqrt(square.max()), np.sqrt(bound)
        return first_accepted(ladder, statistic, threshold)
