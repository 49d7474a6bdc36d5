"""The free constants of a dyadic wave: cells, level law and windows, chosen by epsilon alone.

The anchor's window is the square wave's, half a width b of the interval with b the maximiser of the mutual information of a
uniform value and its report [LiSquareWave2020].  The finer levels' windows are about 1 / (e^{epsilon/2} + 1) of their circle,
narrower at large epsilon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import exp, fsum

from dpcore.calibration.level_sampling import apportion
from dpcore.privacy.budget import Budget

CELLS = 64
LEVELS = 4
_ANCHOR = Fraction(7, 10)  # of the clients answer level 0
_NARROWER = ((1.0, 1.0), (2.0, 0.85), (4.0, 0.6))  # (epsilon, factor of the finer windows): the best of those tried


@dataclass(frozen=True)
class WaveDesign:
    """cells: M, a power of two.  level_law: (L,) integers that sum to 2^16.  half_widths: (L,), of the windows, cells."""

    cells: int
    level_law: tuple[int, ...]
    half_widths: tuple[int, ...]


def choose(budget: Budget, *, cells: int | None = None, levels: int | None = None) -> WaveDesign:
    """Return the constants for a budget; cells, levels: where they are given already.

    >>> choose(Budget.parse("1"))
    WaveDesign(cells=64, level_law=(45875, 11235, 5617, 2809), half_widths=(16, 12, 12, 12))
    """
    cells = CELLS if cells is None else cells
    levels = LEVELS if levels is None else levels
    epsilon = float(budget)
    finer = min((cells - 2) // 2, max(0, round((circular_width(epsilon) * cells - 1) / 2)))
    return WaveDesign(cells, level_law(levels), (anchor_half_width(epsilon, cells), *[finer] * (levels - 1)))


def level_law(levels: int) -> tuple[int, ...]:
    """Return the law of so many levels: 0.7 for the anchor, the rest in proportion to 2^-l."""
    if levels == 1:
        return apportion([1])
    rest = [Fraction(1, 2**level) for level in range(1, levels)]
    return apportion([_ANCHOR, *((1 - _ANCHOR) * share / sum(rest) for share in rest)])


def anchor_half_width(epsilon: float, cells: int) -> int:
    """Return the half width of the anchor's window, cells: b of the interval, rounded down as the paper does."""
    return int(square_wave_width(epsilon) * cells)


def square_wave_width(epsilon: float) -> float:
    """Return b = (e epsilon - e + 1) / (2 e (e - 1 - epsilon)), e = e^epsilon: half the window, of an interval of one.

    epsilon: above 0.  From 1/2 down to 0 as epsilon grows.  Both brackets are taken as power series in epsilon, whose terms
    are positive: of differences of exponentials nothing is left below epsilon = 1e-5.

    >>> round(square_wave_width(1.0), 4)
    0.2561
    """
    term, upper, lower = 0.5, [], []  # term = epsilon^(n-2) / n!
    for n in range(2, 2 + 40 + int(8 * epsilon)):  # far past the largest term, at n = epsilon
        upper.append((n - 1) * term)
        lower.append(term)
        term *= epsilon / (n + 1)
    return fsum(upper) / fsum(lower) / (2 * exp(epsilon))


def circular_width(epsilon: float) -> float:
    """Return the width of the finer levels' windows, of a circle of one: m / (e^{epsilon/2} + 1), m falling with epsilon."""
    return _between(_NARROWER, epsilon) / (exp(epsilon / 2) + 1)


def _between(points: Sequence[tuple[float, float]], x: float) -> float:
    """The piecewise linear function through the points, constant beyond them."""
    for (left, below), (right, above) in pairwise(points):
        if x <= right:
            return below + (above - below) * max(0.0, x - left) / (right - left)
    return points[-1][1]
