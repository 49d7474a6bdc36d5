"""Wave designs for a purpose, selected by epsilon alone.

Each design solves a problem defined in `studies.wave_purposes`, which recomputes it: `both` weights the errors of a density and
of its distribution function, with a penalty on the mean's variance; `curve` almost only the density.
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
