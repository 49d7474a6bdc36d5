"""The free constants of a dyadic wave: level law and windows, chosen by epsilon alone.

They minimise one criterion, the errors of a density, of shares, of the mean and of fine structure together;
`studies.wave_design` states it and makes the table below anew.  The criterion is flat: anchor shares from 0.7 to 0.9 differ
by about one percent of error.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp, fsum, log

from dpcore.mechanisms.calibration.level_sampling import apportion
from dpcore.privacy.budget import Budget

CELLS = 64
LEVELS = 4
# epsilon, half widths of the anchor's and of the finer windows in cells of 64, the levels' shares in thousandths
_CHOSEN: tuple[tuple[float, int, int, tuple[int, ...]], ...] = (
    (0.1, 17, 16, (865, 95, 20, 20)),
    (0.25, 16, 12, (840, 120, 20, 20)),
    (0.5, 15, 11, (835, 125, 20, 20)),
    (0.75, 15, 13, (828, 114, 35, 22)),
    (1.0, 16, 7, (806, 142, 31, 22)),
    (1.25, 8, 6, (871, 20, 89, 20)),
    (1.5, 7, 6, (867, 20, 93, 20)),
    (2.0, 7, 4, (835, 20, 125, 20)),
    (2.5, 5, 3, (843, 53, 83, 20)),
    (3.0, 3, 3, (873, 20, 87, 20)),
    (4.0, 1, 1, (940, 20, 20, 20)),
    (5.0, 1, 1, (940, 20, 20, 20)),
    (6.0, 0, 0, (940, 20, 20, 20)),
    (8.0, 0, 0, (940, 20, 20, 20)),
)
EPSILONS = tuple(row[0] for row in _CHOSEN)


@dataclass(frozen=True)
class WaveDesign:
    """cells: M, a power of two.  level_law: (L,) integers that sum to 2^16.  half_widths: (L,), of the windows, cells."""

    cells: int
    level_law: tuple[int, ...]
    half_widths: tuple[int, ...]


def choose(budget: Budget, *, cells: int | None = None, levels: int | None = None) -> WaveDesign:
    """Return the constants for a budget: those of the nearest epsilon in the table, on a logarithmic scale.

    cells, levels: where they are given already; windows keep their share of the interval, further levels get the last one's
    share of the clients.

    >>> choose(Budget.parse("1"))
    WaveDesign(cells=64, level_law=(52769, 9297, 2030, 1440), half_widths=(16, 7, 7, 7))
    """
    cells = CELLS if cells is None else cells
    levels = LEVELS if levels is None else levels
    epsilon = float(budget)
    _, anchor, finer, shares = min(_CHOSEN, key=lambda row: abs(log(row[0] / epsilon)))
    shares = (*shares, *[shares[-1]] * (levels - len(shares)))[:levels]
    narrow, wide = ((2 * half_width + 1) * cells / CELLS for half_width in (finer, anchor))
    half_widths = (half_width_within(wide, cells), *[half_width_within(narrow, cells)] * (levels - 1))
    return WaveDesign(cells, apportion([Fraction(share) for share in shares]), half_widths)


def half_width_within(window: float, cells: int) -> int:
    """Return the half width of the odd window nearest to so many cells that leaves some out of a circle of `cells`."""
    return max(0, min((cells - 2) // 2, round((window - 1) / 2)))


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
