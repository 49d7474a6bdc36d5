"""The levels of a wave that is designed for a purpose, chosen by epsilon alone.

Each design is the solution of a problem that `studies.wave_purposes` states, and solves anew: `both` weighs the errors of a
density and of its distribution function, with a price on the mean's variance; `curve` asks for the density alone.
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
_Row = tuple[
    float, tuple[tuple[int, int, int], ...]
]  # epsilon; of each level harmonic, half width and thousandths of all
_CHOSEN: Mapping[str, tuple[_Row, ...]] = MappingProxyType(
    {
        "both": (
            (0.1, ((0, 16, 252), (0, 17, 97), (0, 18, 139), (0, 21, 252), (0, 24, 260))),
            (0.25, ((0, 12, 311), (0, 13, 112), (0, 16, 129), (0, 18, 133), (0, 19, 316))),
            (0.5, ((0, 13, 92), (0, 14, 175), (0, 15, 373), (0, 16, 231), (2, 12, 130))),
            (0.75, ((0, 8, 212), (0, 12, 136), (0, 14, 132), (0, 15, 415), (2, 10, 105))),
            (1.0, ((0, 6, 202), (0, 7, 78), (0, 8, 191), (0, 10, 249), (0, 12, 281))),
            (1.25, ((0, 5, 229), (0, 7, 213), (0, 8, 196), (0, 10, 200), (0, 11, 161))),
            (1.5, ((0, 4, 108), (0, 5, 238), (0, 7, 265), (0, 8, 138), (0, 9, 251))),
            (2.0, ((0, 3, 154), (0, 4, 189), (0, 5, 212), (0, 6, 208), (0, 7, 238))),
            (2.5, ((0, 2, 141), (0, 3, 253), (0, 4, 272), (0, 5, 241), (0, 6, 93))),
            (3.0, ((0, 1, 69), (0, 2, 296), (0, 3, 403), (0, 4, 232))),
            (4.0, ((0, 0, 134), (0, 1, 277), (0, 2, 589))),
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
            (4.0, ((0, 0, 292), (0, 1, 486), (0, 2, 221))),
        ),
    }
)
PURPOSES = tuple(_CHOSEN)
EPSILONS = (0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0)
MOST = 5.0  # epsilon, from where structure finer than the problem's is seen, too


def choose(budget: Budget, purpose: str) -> tuple[tuple[int, ...], tuple[Pattern, ...]]:
    """Return the level law, integers that sum to 2^16, and the levels, of the nearest epsilon in the table, by its logarithm.

    Raises SchemeError above epsilon = 5.
    """
    if float(budget) > MOST:
        raise SchemeError(f"purpose is for epsilon of at most {MOST:g}, got {budget.text}; above, leave it out")
    _, levels = min(_CHOSEN[purpose], key=lambda row: abs(log(row[0] / float(budget))))
    return apportion([Fraction(share) for *_, share in levels]), tuple((k, h) for k, h, _ in levels)
