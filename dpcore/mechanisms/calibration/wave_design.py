"""The free constants of a dyadic wave, level law and windows, chosen by epsilon: in general, or for a purpose.

In general they minimise one criterion, the errors of a density, of shares, of the mean and of fine structure together;
`studies.wave_design` states it and makes the table below anew.  The criterion is flat: anchor shares from 0.7 to 0.9 differ
by about one percent of error.

The design for a purpose solves a problem defined in `studies.wave_purposes`, which recomputes it: `both` weights the errors of
a density and of its distribution function, with a penalty on the mean's variance; `curve` almost only the density.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import exp, fsum, log
from types import MappingProxyType

from dpcore.errors import SchemeError
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

Pattern = tuple[int, int]  # harmonic, 0 of a line, and half width, cells
_PurposeRow = tuple[float, tuple[tuple[int, int, int], ...]]  # epsilon; harmonic, half width, thousandths of all
_BY_PURPOSE: Mapping[str, tuple[_PurposeRow, ...]] = MappingProxyType(
    {
        "both": (
            (0.1, ((0, 14, 327), (0, 16, 164), (0, 19, 136), (0, 22, 165), (0, 23, 207))),
            (0.25, ((0, 14, 57), (0, 15, 398), (0, 16, 392), (2, 12, 88), (2, 13, 66))),
            (0.5, ((0, 14, 23), (0, 15, 717), (0, 16, 63), (2, 10, 102), (2, 13, 95))),
            (0.75, ((0, 6, 190), (0, 7, 103), (0, 9, 99), (0, 15, 471), (2, 8, 138))),
            (1.0, ((0, 5, 273), (0, 7, 218), (0, 9, 170), (0, 15, 237), (2, 7, 102))),
            (1.25, ((0, 4, 204), (0, 5, 97), (0, 7, 359), (0, 8, 283), (4, 7, 56))),
            (1.5, ((0, 3, 213), (0, 4, 181), (0, 5, 180), (0, 6, 201), (0, 8, 225))),
            (2.0, ((0, 2, 194), (0, 3, 270), (0, 4, 241), (0, 5, 160), (0, 6, 135))),
            (2.5, ((0, 1, 84), (0, 2, 307), (0, 3, 353), (0, 4, 210), (2, 1, 47))),
            (3.0, ((0, 1, 204), (0, 2, 477), (0, 3, 259), (2, 1, 60))),
        ),
        "curve": (
            (0.1, ((0, 21, 166), (0, 22, 242), (0, 23, 220), (1, 13, 325), (1, 15, 46))),
            (0.25, ((0, 15, 188), (0, 16, 321), (1, 13, 94), (1, 14, 229), (2, 13, 168))),
            (0.5, ((0, 14, 173), (0, 15, 283), (1, 14, 165), (1, 15, 135), (2, 12, 244))),
            (0.75, ((0, 8, 85), (0, 9, 305), (0, 11, 236), (1, 6, 373))),
            (1.0, ((0, 7, 276), (0, 9, 342), (1, 5, 283), (1, 6, 100))),
            (1.25, ((0, 6, 210), (0, 7, 207), (0, 8, 199), (1, 4, 215), (1, 5, 169))),
            (1.5, ((0, 5, 227), (0, 6, 232), (0, 7, 195), (1, 3, 122), (1, 4, 224))),
            (2.0, ((0, 3, 84), (0, 4, 321), (0, 5, 287), (1, 2, 119), (1, 3, 189))),
            (2.5, ((0, 2, 141), (0, 3, 423), (0, 4, 214), (1, 2, 177), (2, 1, 44))),
            (3.0, ((0, 1, 58), (0, 2, 487), (0, 3, 293), (1, 1, 105), (2, 1, 56))),
        ),
    }
)
PURPOSES = tuple(_BY_PURPOSE)
PURPOSE_EPSILONS = (0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0)
MOST_EPSILON = 5.0  # of a design for a purpose; above it structure finer than the problem's is seen, too


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


def choose_for_purpose(budget: Budget, purpose: str) -> tuple[tuple[int, ...], tuple[Pattern, ...]]:
    """Return the level law, integers that sum to 2^16, and the levels, of the nearest epsilon in the table, by its logarithm.

    Raises SchemeError above epsilon = 5.
    """
    if float(budget) > MOST_EPSILON:
        raise SchemeError(f"purpose is for epsilon of at most {MOST_EPSILON:g}, got {budget.text}; above, leave it out")
    _, levels = min(_BY_PURPOSE[purpose], key=lambda row: abs(log(row[0] / float(budget))))
    return apportion([Fraction(share) for *_, share in levels]), tuple((k, h) for k, h, _ in levels)
