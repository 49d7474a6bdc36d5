"""Which level an estimate uses.

`Lepski` takes the coarsest level from which no finer one differs by more than its noise explains; the noise's law is known, so
the thresholds are its quantiles and nothing is tuned.  `Lepski.paper(tau)` is the source's literal rule, whose constant has no
universal value.  Source: [Szabo2024]; the calibration is ours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from dpcore.errors import EmptyWindow, NotEstimable, SchemeError, check_positive, check_within
from dpcore.estimation.densities import Spline
from dpcore.estimation.estimates import LevelRow
from dpcore.estimation.estimators.chi_square_mixture import ChiSquareMixture
from dpcore.estimation.estimators.ladder import Ladder

_ERROR = 0.05  # probability of refusing the level just below a finer one when both describe the density
_PER_LEVEL = 4.0  # how much rarer an error is made per level of distance: squared error grows fourfold per level


class LevelRule(ABC):
    """Chooses a level of a ladder.

    undersmoothing: how many levels finer bands are centred, where the data choose the level; functionals are then corrected.
    """

    undersmoothing: int = 0

    @abstractmethod
    def select(self, ladder: Ladder) -> tuple[int, tuple[LevelRow, ...]]:
        """Return the chosen level and what was compared, one row per level; raises NotEstimable where it cannot."""


@dataclass(frozen=True)
class Fixed(LevelRule):
    """The level j whatever the reports say; coarsest_level <= j <= finest_level + 1."""

    level: int

    def select(self, ladder: Ladder) -> tuple[int, tuple[LevelRow, ...]]:
        basis = ladder.basis
        if not basis.coarsest_level <= self.level <= basis.finest_level + 1:
            raise SchemeError(
                f"level must lie between {basis.coarsest_level} and {basis.finest_level + 1} for this scheme, "
                f"got {self.level}"
            )
        if self.level not in ladder.levels:
            raise NotEstimable(
                f"level {self.level} needs reports of every block up to it; levels {_listed(ladder.levels)} have them"
            )
        return self.level, tuple(LevelRow(j, None, None, j == self.level) for j in ladder.levels)


@dataclass(frozen=True)
class Undersmoothed(LevelRule):
    """A level that depends on n and epsilon alone, for smooth functionals: one finer than balances a curve with p = degree + 1.

    ceil(log2((n epsilon^2)^{1/(2p+2)})) + 1, at most floor(log2((n epsilon^2)^{1/4})), where the noise of squares takes over,
    and within the levels that have reports.  Lepski's level is too coarse for functionals whose linear bias must vanish
    before their noise does; this one overfits the curve on purpose.
    """

    @staticmethod
    def paper(a: float, p: float, order: int = 0) -> PaperUndersmoothed:
        """Return the source's literal window for smooth functionals; a > 1 is the mechanism's exponent, p the smoothness."""
        return PaperUndersmoothed(a, p, order)

    def select(self, ladder: Ladder) -> tuple[int, tuple[LevelRow, ...]]:
        size = np.log2(ladder.n * ladder.epsilon**2)
        wanted = int(np.ceil(size / (2 * (ladder.basis.degree + 1) + 2))) + 1
        level = min(max(min(wanted, int(np.floor(size / 4))), ladder.levels[0]), ladder.levels[-1])
        return level, tuple(LevelRow(j, None, None, j == level) for j in ladder.levels)


@dataclass(frozen=True)
class PaperUndersmoothed(LevelRule):
    """The coarsest level j of the source's window for smooth functionals, its third theorem:

        (n ^ N)^{1/(2p)} <= 2^j <= [log^{-a/(m+1)}(N) N^{1/(4m+4)}] ^ [log^{-a}(n) n^{1/(4m+3)}],   N = n epsilon^2,

    where ^ is the smaller of the two and a bound with log of less than one is taken without its logarithm.  The lower end makes
    the bias vanish, the upper end the remainder.  For p = 4, a = 1.5, m = 0 it is empty until N is about 1e20: the logarithms
    stand for constants that no theorem chose.  `Undersmoothed()` is what to use.

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
class Lepski(LevelRule):
    """The smallest j such that ||f^l - f^j|| <= constant * q_jl for every l > j, norms in L2.

    q_jl is the 1 - .05 * 4^{-(l - j)} quantile of the norm of the noise of f^l - f^j, a weighted sum of chi-squares with known
    weights.  A level that describes the density is refused with probability at most .05 (1/4 + 1/16 + ...) = 1/60.

    constant: > 0; 1 is calibrated.
    """

    constant: float = 1.0
    undersmoothing = 1

    def __post_init__(self) -> None:
        check_positive(constant=self.constant)

    @staticmethod
    def paper(tau: float, a: float = 1.5) -> PaperLepski:
        """Return the source's literal rule with constant tau > 0; a > 1 is the mechanism's exponent."""
        return PaperLepski(tau, a)

    def select(self, ladder: Ladder) -> tuple[int, tuple[LevelRow, ...]]:
        return _first_accepted(ladder, distances(ladder.energies), self.constant * thresholds(ladder.spectra))


@dataclass(frozen=True)
class PaperLepski(LevelRule):
    """The smallest j such that for every l > j and q = 0..max(0, degree - 1)

        ||(f^j - f^l)^(q)||^2 v max_t |(f^j - f^l)^(q)(t)|^2 <= tau / n 2^{2lq} (2^l + 2^{2l} l^{2a} / epsilon^2).

    Printed with q up to the unknown smoothness and a grid of n^{4/3} points; splines of degree d have d - 1 continuous
    derivatives, and piecewise polynomials show their maximum on 12 points per finest cell.
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
        return _first_accepted(ladder, statistic, threshold)


def distances(energies: np.ndarray) -> np.ndarray:
    """Return ||f^l - f^j||, shape (..., L, L), zero for l <= j, from ||f^{j+1} - f^j||^2, shape (..., L - 1)."""
    total = np.concatenate([np.zeros((*energies.shape[:-1], 1)), np.cumsum(energies, axis=-1)], axis=-1)
    return np.sqrt(np.maximum(total[..., None, :] - total[..., :, None], 0.0))


def thresholds(spectra: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return q_jl, shape (L, L), from the eigenvalues of each block's noise; one where l <= j."""
    size = len(spectra) + 1
    table = np.ones((size, size))
    for j in range(size):
        for l in range(j + 1, size):
            law = ChiSquareMixture(np.concatenate(spectra[j:l]))
            table[j, l] = np.sqrt(law.quantile(1 - _ERROR * _PER_LEVEL ** -(l - j)))
    return table


def accepted(statistic: np.ndarray, threshold: np.ndarray) -> np.ndarray:
    """Return the index of the first level that no finer one contradicts, shape (...), from (..., L, L) and (L, L)."""
    finer = np.triu(np.ones(threshold.shape, dtype=bool), 1)
    return np.asarray(np.argmin(np.any((statistic > threshold) & finer, axis=-1), axis=-1))


def _first_accepted(ladder: Ladder, statistic: np.ndarray, threshold: np.ndarray) -> tuple[int, tuple[LevelRow, ...]]:
    chosen = ladder.levels[int(accepted(statistic, threshold))]
    rows = []
    for index, level in enumerate(ladder.levels):
        if level == ladder.levels[-1]:
            rows.append(LevelRow(level, None, None, level == chosen))
            continue
        ratios = statistic[index, index + 1 :] / threshold[index, index + 1 :]
        worst = index + 1 + int(np.argmax(ratios))
        pair = float(statistic[index, worst]), float(threshold[index, worst])
        rows.append(LevelRow(level, *pair, level == chosen))
    return chosen, tuple(rows)


def _listed(levels: range) -> str:
    return f"{levels[0]} to {levels[-1]}" if len(levels) > 1 else str(levels[0])
