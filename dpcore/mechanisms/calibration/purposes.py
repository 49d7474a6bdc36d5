"""The levels of a wave that is designed for a purpose, chosen by epsilon alone.

Each design is the solution of a problem that `studies.wave_purposes` states, and solves anew: `both` weighs the errors of a
density and of its distribution function, with a price on the mean's variance; `curve` asks for the density almost alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import log
from types import MappingProxyType

from dpcore.errors import SchemeError
from dpcore.mechanisms.calibration.level_sampling import apportion
from dpcore.privacy.budget import Budget

CELLS = 64
Pattern = tuple[int, int]  # harmonic, 0 of a line, and half width, cells
_Row = tuple[float, tuple[tuple[int, int, int], ...]]  # epsilon; harmonic, half width, thousandths of all
_CHOSEN: Mapping[str, tuple[_Row, ...]] = MappingProxyType(
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
            (0.1, ((0, 20, 257), (0, 24, 242), (1, 14, 174), (1, 15, 197), (2, 15, 129))),
            (0.25, ((0, 15, 276), (0, 16, 178), (1, 15, 288), (2, 12, 258))),
            (0.5, ((0, 7, 200), (0, 15, 311), (1, 15, 234), (2, 11, 254))),
            (0.75, ((0, 7, 277), (0, 8, 290), (1, 5, 142), (1, 7, 203), (4, 11, 88))),
            (1.0, ((0, 5, 278), (0, 7, 298), (0, 8, 67), (1, 4, 233), (2, 6, 123))),
            (1.25, ((0, 4, 215), (0, 5, 241), (0, 6, 221), (1, 3, 223), (2, 4, 99))),
            (1.5, ((0, 2, 77), (0, 4, 283), (0, 5, 268), (1, 3, 287), (2, 3, 86))),
            (2.0, ((0, 2, 130), (0, 3, 398), (0, 4, 157), (1, 2, 222), (2, 2, 94))),
            (2.5, ((0, 1, 56), (0, 2, 486), (0, 3, 200), (1, 1, 163), (2, 1, 94))),
            (3.0, ((0, 0, 89), (0, 1, 279), (0, 2, 469), (1, 1, 60), (2, 1, 103))),
        ),
    }
)
PURPOSES = tuple(_CHOSEN)
EPSILONS = (0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0)
MOST = 5.0  # epsilon, above which structure finer than the problem's is seen, too


def choose(budget: Budget, purpose: str) -> tuple[tuple[int, ...], tuple[Pattern, ...]]:
    """Return the level law, integers that sum to 2^16, and the levels, of the nearest epsilon in the table, by its logarithm.

    Raises SchemeError above epsilon = 5.
    """
    if float(budget) > MOST:
        raise SchemeError(f"purpose is for epsilon of at most {MOST:g}, got {budget.text}; above, leave it out")
    _, levels = min(_CHOSEN[purpose], key=lambda row: abs(log(row[0] / float(budget))))
    return apportion([Fraction(share) for *_, share in levels]), tuple((k, h) for k, h, _ in levels)
