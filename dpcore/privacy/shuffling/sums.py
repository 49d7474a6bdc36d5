"""How far a sum of many alike whole numbers is above a line on average, by a Fourier transform, and how far that may be off.

The law of one is tilted so that the sum's mean is on the line: errors are then small beside what is asked for, however small
that is.  What the transform folds back into its window is bounded after Chernoff.  The time it takes does not depend on how
many they are.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

_WHOLE = 1 << 15  # so long a transform is made at least, where sums may be as far apart
_FALLS = 90.0  # of a logarithm, below which sums are not looked at
_NOTHING = 600.0  # of a logarithm, below which a factor is 0
_WIDTH = 9.0  # standard deviations of the tilted law to either side


def excess(grid: np.ndarray, law: np.ndarray, many: int, window: int, line: float = 0.0) -> tuple[float, float]:
    """Return about E max(X - line, 0), X a sum of `many` whole numbers, and a number that folding changes it by at most.

    grid: whole numbers, the largest above line / many, which is at least their mean.  law: their probabilities.  window: how
    long the transform is at least.
    """
    mean = line / many
    tilt = _tilt(grid - mean, law)
    weights, total = _tilted(grid - mean, law, tilt), float(law @ np.exp(tilt * (grid - mean)))
    every = 2 * many * math.ceil(float(np.abs(grid - mean).max())) + 2  # nothing is folded
    length = 1 << (max(window, min(every, _WHOLE)) - 1).bit_length()
    placed = np.zeros(length)
    np.add.at(placed, grid.astype(np.int64) % length, weights)
    waves, powers = _powers(np.fft.rfft(placed), many)
    first = math.ceil(line)
    reach = length // 2 if tilt <= 0 else min(length // 2, math.ceil(_FALLS / tilt) + 1)
    most = min(many * float(grid.max() - mean), 1 / (math.e * tilt) if tilt > 0 else math.inf)  # of x e^(-tilt x)
    scale = math.exp(many * math.log(total))
    beside = _beyond(grid - mean, weights, many, length // 2 - 1) * most
    if reach < length // 2:
        last = reach - 1 + first - line
        beside += last * math.exp(-tilt * last)  # the most of what was not looked at
    ahead = powers * _roots(length)[waves * (first % length) % length]
    mean_excess = float((ahead * _transform(waves, length, reach, first - line, tilt)).real.sum()) / length
    return scale * max(0.0, mean_excess), scale * beside


def _powers(base: np.ndarray, many: int) -> tuple[np.ndarray, np.ndarray]:
    """Return where base^many is not nothing, 0 first, which is few places, and the powers there, by squares.

    That is a tenth of the time that complex powers take; as far off, many times a rounding.
    """
    live = np.flatnonzero(base.real**2 + base.imag**2 >= math.exp(-2 * _NOTHING / many))
    square = base[live]
    power = np.ones_like(square)
    while many:
        if many & 1:
            power *= square
        many >>= 1
        if many:
            square = square * square
    return live, power


def _transform(waves: np.ndarray, length: int, reach: int, start: float, tilt: float) -> np.ndarray:
    """Return the sum over i < reach of x e^(-tilt x) e^(2 pi i wave / length), x = start + i, for each wave.

    It is a geometric sum; waves but the first, 0, and the last, length / 2, count twice, as half of them are not stored.
    """
    roots = _roots(length)
    falls, turn = math.exp(-tilt), np.pi / length * waves[1:]
    ratio, last = falls * roots[waves[1:]], math.exp(-tilt * reach) * roots[waves[1:] * reach % length]
    left = falls * (2 * np.sin(turn) ** 2 - 1j * np.sin(2 * turn)) - math.expm1(
        -tilt
    )  # 1 - ratio, where that is near 0, too
    values = np.empty(len(waves), dtype=complex)
    values[1:] = ((1 - last) * (start + ratio / left) - reach * last) / left
    steps = np.arange(reach)
    values[0] = (start + steps) @ np.exp(-tilt * steps)
    return math.exp(-tilt * start) * np.where(waves % (length // 2), 2, 1) * values


@lru_cache(maxsize=2)
def _roots(length: int) -> np.ndarray:
    """The roots of one, so many."""
    return np.asarray(np.exp(2j * np.pi / length * np.arange(length)))


def reach_of(values: np.ndarray, masses: np.ndarray, many: int) -> float:
    """Return how far from 0 a sum of so many, tilted to mean 0, nearly always is."""
    weights = _tilted(values, masses, _tilt(values, masses))
    return _WIDTH * math.sqrt(float(weights @ values**2) * many) + 30 * float(values.max())


def _tilt(values: np.ndarray, law: np.ndarray) -> float:
    """About the t at which the law times e^(t x) has mean 0; any is right."""
    low, high = 0.0, 40.0 / float(values.max())
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if float(law * np.exp(middle * values) @ values) < 0 else (low, middle)
    return low


def _tilted(values: np.ndarray, law: np.ndarray, tilt: float) -> np.ndarray:
    weights = law * np.exp(tilt * values)
    return weights / weights.sum()


def _beyond(grid: np.ndarray, weights: np.ndarray, many: int, window: int) -> float:
    """At most the mass of sums at least so far from 0 (Chernoff)."""
    if window > many * float(np.abs(grid).max()):
        return 0.0
    variance = float(weights @ grid.astype(float) ** 2) * many
    bounds = []
    for sign in (1, -1):
        steps = (min(window / variance * scale, 300 / float(np.abs(grid).max())) for scale in (0.3, 0.6, 0.8, 1.0))
        exponents = [many * math.log(float(weights @ np.exp(t * sign * grid))) - t * window for t in steps]
        bounds.append(math.exp(min(0.0, *exponents)))
    return sum(bounds)
