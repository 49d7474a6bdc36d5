"""The least error that any mechanism can have for a mean, of the worst law, and two ways to release data.

Two laws that the reports cannot tell apart force an error of half their distance (Le Cam).  The total variation of what is
released measures how well they can be distinguished, and bounded by the way of release: the records themselves, or each
client's own epsilon-private report.  Bounds for two points are those of [BarberDuchi2014] and [Duchi2018].

Local.  m1 - m2 = int q(z | x) (p1 - p2)(x) dx, whose size is at most (sup_x q - inf_x q) TV <= q0 (e^epsilon - 1) TV, q0 =
inf_x q(z | x) <= m1, m2.  So KL(M1 || M2) + KL(M2 || M1) = int (m1 - m2) log(m1 / m2) <= int (m1 - m2)^2 / min(m1, m2) <=
(e^epsilon - 1)^2 TV^2: `contraction`, without the factor min(4, e^{2 epsilon}) that [Duchi2018] prints.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

HEIGHTS = np.geomspace(1e-6, 1.0, 140)  # shares of the largest distance that two laws may have


class Release(Protocol):
    """A way to release data about n people."""

    def variation(self, tv: float, chi: float) -> float:
        """Return a bound, at most 1, of the total variation of the releases under two laws.

        tv: total variation of the laws of one record.  chi: a bound of their symmetrised Kullback-Leibler divergence.
        """


@dataclass(frozen=True)
class Direct:
    """n records, as they are: TV^2 <= n chi / 4 (Pinsker), and 1 - TV >= e^{-n chi / 2} / 2 (Bretagnolle and Huber)."""

    n: float

    def variation(self, tv: float, chi: float) -> float:
        return min(math.sqrt(self.n * chi / 4), 1 - math.exp(-self.n * chi / 2) / 2, self.n * tv, 1.0)


@dataclass(frozen=True)
class Local:
    """n reports, each epsilon-private and made without knowing the others."""

    n: float
    epsilon: float

    def variation(self, tv: float, chi: float) -> float:
        return min(math.sqrt(self.n * contraction(self.epsilon, tv) / 4), Direct(self.n).variation(tv, chi))


def contraction(epsilon: float, tv: float) -> float:
    """Return the most that KL(M1 || M2) + KL(M2 || M1) of an epsilon-private report can be, (e^epsilon - 1)^2 tv^2."""
    return math.expm1(epsilon) ** 2 * tv * tv


def two_points(separation: float, variation: float, power: int = 1) -> float:
    """Return (separation / 2)^power (1 - variation) / 2, below the larger of the two risks E |error|^power.

    An estimate nearer to the wrong one of two values is at least half their separation off the right one.
    """
    return (separation / 2) ** power * (1 - min(variation, 1.0)) / 2


@dataclass(frozen=True)
class HardCoins:
    """Coins of probability (1 +- separation) / 2 that force the bound of a mean."""

    bound: float
    separation: float


def mean_pair(release: Release, power: int = 2) -> HardCoins:
    """Return a bound of the risk E |error|^power of the mean of laws on [0, 1], and the coins that force it."""
    best = HardCoins(0.0, 1.0)
    for t in HEIGHTS[:-1]:
        chi = 2 * t * np.log((1 + t) / (1 - t))
        bound = two_points(float(t), release.variation(float(t), float(chi)), power)
        if bound > best.bound:
            best = HardCoins(float(bound), float(t))
    return best
