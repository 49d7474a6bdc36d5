"""The odds of a mechanism's reports: the ratio in its certificate, and the largest total variation of two input cells' reports.

Exact for finite channels.  Unbounded noise has no exact fraction: both numbers are then upper bounds.  A public level is part
of the report, and is drawn independently of the value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import singledispatch
from math import isqrt

import numpy as np

from dpcore.mechanisms.base import Mechanism
from dpcore.mechanisms.calibration import level_sampling
from dpcore.mechanisms.numeric.crossed_wave import CrossedWave, Window
from dpcore.mechanisms.numeric.wave import WaveMechanism
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.mechanisms.wave_level import Wave
from dpcore.privacy.odds import Odds, exp_above

_MARGIN = (
    1e-12  # sums of at most twelve terms below one, as floats, are within; what is nearer is compared as fractions
)


def odds_of(mechanism: Mechanism) -> Odds:
    """Return the odds of one report of a mechanism, between the two input cells that it distinguishes best.

    Raises CalibrationError if neither the mechanism's type nor its channel determines them.

    >>> from dpcore.mechanisms.categorical.randomized_response import RandomizedResponse
    >>> from dpcore.privacy.budget import Budget
    >>> odds_of(RandomizedResponse(Budget.parse("ln 3"), 2, 3, 1)).average
    Fraction(3, 4)
    """
    certificate = mechanism.certificate()
    variation = total_variation(mechanism)
    if certificate.kind == "ratio":
        return Odds(certificate.kept, variation)
    ratio, delta = exp_above(Fraction(certificate.kept)), certificate.delta
    most = (ratio - 1 + 2 * delta) / (ratio + 1)  # as (epsilon, delta) has it for every set of reports
    return Odds(ratio, min(variation, most), delta, is_exact=False)


@singledispatch
def total_variation(mechanism: Mechanism) -> Fraction:
    """Return the largest total variation of the reports of two input cells; of noise without an end, a bound of it."""
    return mechanism.total_variation()


@total_variation.register
def _(mechanism: WaveMechanism) -> Fraction:
    """Per level, count the cells of one window outside the other; each adds (weight_in - weight_out) / T."""
    worth = [
        Fraction(weight, level_sampling.TOTAL) * Fraction(wave.weight_in - wave.weight_out, wave.total)
        for wave, weight in zip(mechanism.waves, _law(mechanism), strict=True)
    ]
    most = [min(wave.window, wave.outputs - wave.window) for wave in mechanism.waves]
    return _largest(worth, most, _apart(mechanism.waves, most))


@total_variation.register
def _(mechanism: CrossedWave) -> Fraction:
    """As of waves; a window in the plane has in common with another what its rows and its columns have."""
    worth = [
        Fraction(weight, level_sampling.TOTAL) * Fraction(window.weight_in - window.weight_out, window.total)
        for window, weight in zip(mechanism.windows, mechanism.level_law, strict=True)
    ]
    most = [min(window.high * window.wide, window.outputs) for window in mechanism.windows]
    return _largest(worth, most, _squares_apart(mechanism.windows))


def _squares_apart(windows: Sequence[Window]) -> Iterator[np.ndarray]:
    """As `_apart`, of windows in rows and columns that go around."""
    for cell in range(len(windows[0].tops) - 1):
        apart = []
        for window in windows:
            sides = ((window.tops, window.rows, window.high), (window.lefts, window.columns, window.wide))
            high, wide = (
                width - np.minimum(np.minimum(steps, size - steps), min(width, size - width))
                for starts, size, width in sides
                for steps in [np.abs(starts[cell + 1 :] - starts[cell])]
            )
            apart.append(window.high * window.wide - high * wide)
        yield np.array(apart)


def _largest(worth: Sequence[Fraction], most: Sequence[int], pairs: Iterator[np.ndarray]) -> Fraction:
    """The largest sum of cell worths times the number of cells apart, (levels, pairs), at most `most` of each level."""
    best, best_float, bound = Fraction(0), -1.0, _added(worth, most)
    for apart in pairs:
        sums = np.array([float(cell_worth) for cell_worth in worth]) @ apart
        best_float = max(best_float, float(sums.max()))
        near = np.unique(apart[:, sums >= best_float - _MARGIN], axis=1)
        best = max([best, *(_added(worth, cells.tolist()) for cells in near.T)])
        if best == bound:  # one pair is as far apart as can be at every level, as is usual
            break
    return best


def _added(worth: Sequence[Fraction], cells: Sequence[int]) -> Fraction:
    return sum((cell_worth * count for cell_worth, count in zip(worth, cells, strict=True)), Fraction(0))


def _law(mechanism: WaveMechanism) -> Sequence[int]:
    return mechanism.level_weights if len(mechanism.waves) > 1 else (level_sampling.TOTAL,)


def _apart(waves: Sequence[Wave], most: Sequence[int]) -> Iterator[np.ndarray]:
    """How many cells of a window are not in another, (levels, pairs): of each input cell and those above it."""
    inputs = waves[0].inputs
    starts = np.array([wave.starts(np.arange(inputs)) for wave in waves])
    sizes = np.array([[wave.outputs] for wave in waves])
    for cell in range(inputs - 1):
        steps = np.abs(starts[:, cell + 1 :] - starts[:, [cell]])
        yield np.minimum(np.minimum(steps, sizes - steps), np.array(most)[:, None])


@total_variation.register
def _(mechanism: WaveletLaplace) -> Fraction:
    """A bound, block by block: of the largest distance of each, which no one pair of cells need have."""
    distances, scales = mechanism.sensitivity, mechanism.noise_scales
    if mechanism.is_gaussian:
        return sum(
            (w * _gaussian(d, t) for w, d, t in zip(_shares(mechanism), distances, scales, strict=True)), Fraction(0)
        )
    widths = [table.shape[1] for table in mechanism.tables]
    if not mechanism.is_sampled:
        return _laplace(mechanism.loss, zip(widths, scales, strict=True))
    blocks = zip(_shares(mechanism), distances, widths, scales, strict=True)
    return sum((w * _laplace(Fraction(d, t), [(k, t)]) for w, d, k, t in blocks), Fraction(0))


def _shares(mechanism: WaveletLaplace) -> list[Fraction]:
    return [Fraction(weight, level_sampling.TOTAL) for weight in mechanism.level_law]


def _laplace(loss: Fraction, blocks: Iterator[tuple[int, int]] | Sequence[tuple[int, int]]) -> Fraction:
    """A bound of the total variation of integers with discrete Laplace noise: 1 - e^(-loss / 2) prod (1 - 1 / (8 t^2)).

    loss: the sum of distances over scales.  blocks: how many integers have which scale t.  Of one integer moved by d the total
    variation is 1 - e^(-d / 2t) where d is even, else 1 - e^(-d / 2t) / cosh(1 / 2t); independent ones couple independently, so
    that what they have in common multiplies, and 1 / cosh y >= 1 - y^2 / 2.
    """
    if not loss:
        return Fraction(0)
    odd = sum((Fraction(count, 8 * scale * scale) for count, scale in blocks), Fraction(0))
    return min(Fraction(1), 1 - (1 - odd) / exp_above(loss / 2))


def _gaussian(square: int, scale: int) -> Fraction:
    """Pinsker's bound for discrete Gaussians, at most sqrt(rho / 2), rho = D^2 / (2 s^2) [Canonne2020]; rounded up."""
    return min(Fraction(1), Fraction(_root_above(square << 64), 2 * scale << 32))


def _root_above(number: int) -> int:
    root = isqrt(number)
    return root if root * root == number else root + 1
