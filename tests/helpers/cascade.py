"""Inner products of smooth functions with decomposition functions, to machine precision, by a way of their own.

No code of `filter_bank` is used: the filters are PyWavelets' floats, the moments of phi~ on unit cells solve the refinement
equation, a function is a polynomial on each of 2^14 cells, and one level follows from the next finer one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pywt

DEEPEST = 14
_POWERS = 7


@lru_cache(maxsize=16)
def lowpass(name: str) -> tuple[dict[int, float], dict[int, float]]:
    """c and c~ as floats, c from index 0, both symmetric about the same point."""
    wavelet = pywt.Wavelet(name)
    trimmed = [np.trim_zeros(np.array(taps)) / math.sqrt(2) for taps in (wavelet.rec_lo, wavelet.dec_lo)]
    first = (len(trimmed[0]) - len(trimmed[1])) // 2
    return dict(enumerate(trimmed[0])), dict(enumerate(trimmed[1], first))


@lru_cache(maxsize=16)
def moments(name: str) -> np.ndarray:
    """int_0^1 t^m phi~(i + t) dt, shape (unit cells, powers), by the refinement equation on half cells."""
    dual = lowpass(name)[1]
    first, length, powers = min(dual), len(dual) - 1, _POWERS + 1
    matrix = np.zeros((length, powers, length, powers))
    for i in range(length):
        for m in range(powers):
            for n, value in dual.items():
                for half in (0, 1):
                    k = 2 * (i + first) - n + half - first
                    if 0 <= k < length:
                        for q in range(m + 1):
                            matrix[i, m, k, q] += value * math.comb(m, q) * half ** (m - q) / 2**m
    system = matrix.reshape(length * powers, -1) - np.eye(length * powers)
    mass = np.zeros((length, powers))
    mass[:, 0] = 1
    right = np.append(np.zeros(len(system)), 1.0)
    return np.linalg.lstsq(np.vstack([system, mass.ravel()]), right, rcond=None)[0].reshape(length, powers)


def deepest(f: Callable[[np.ndarray], np.ndarray], name: str, level: int = DEEPEST) -> np.ndarray:
    """<f, 2^{l/2} phi~(2^l x - k)>, wrapped, for f smooth inside every cell of width 2^-l; shape (2^l,)."""
    cells = 1 << level
    t = (np.cos(np.pi * (np.arange(_POWERS + 1) + 0.5) / (_POWERS + 1)) + 1) / 2
    values = f((np.arange(cells) + t[:, None]) / cells)
    polynomials = np.linalg.solve(np.vander(t, increasing=True), values)
    first, found = min(lowpass(name)[1]), np.zeros(cells)
    for i, row in enumerate(moments(name)):
        found += row @ polynomials[:, (np.arange(cells) + first + i) % cells]
    return found * 2 ** (-level / 2)


def coarser(z: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Inner products with phi~ and psi~ one level down, shapes (len(z) / 2,)."""
    spline, dual = lowpass(name)
    even, size = 2 * np.arange(len(z) // 2), len(z)
    low = sum(math.sqrt(2) * value * z[(even + n) % size] for n, value in dual.items())
    high = sum(math.sqrt(2) * (-1) ** (1 - n) * value * z[(even + 1 - n) % size] for n, value in spline.items())
    return np.asarray(low), np.asarray(high)


def inner_products(
    f: Callable[[np.ndarray], np.ndarray], name: str, coarsest: int, finest: int, level: int = DEEPEST
) -> list[np.ndarray]:
    """Per block of FilterBank(name, coarsest, finest) the inner products of f with its functions, without noise.

    level: f is a polynomial of degree 7, or as good as one, on every cell of width 2^-level.
    """
    z, blocks = deepest(f, name, level), []
    for j in range(level - 1, coarsest - 1, -1):
        z, high = coarser(z, name)
        if j <= finest:
            blocks.append(high)
    return [z, *blocks[::-1]]
