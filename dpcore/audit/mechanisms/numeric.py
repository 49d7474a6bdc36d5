"""Numeric mechanisms in the audit: waves, windows of larger weight; and noisy coefficients, by all pairs of input cells."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from dpcore.audit.enumeration.additive_noise import approximate_epsilon, largest_loss, largest_square
from dpcore.audit.enumeration.loss import Finding, Loss
from dpcore.audit.mechanisms import base
from dpcore.audit.mechanisms.base import Pair, Ranks
from dpcore.mechanisms import CrossedWave, DyadicWave, SquareWave
from dpcore.mechanisms.numeric.wave import WaveMechanism
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.mechanisms.reports import Reports, starts_of
from dpcore.privacy.shuffling.channel import Level, attacks_of, up
from dpcore.privacy.shuffling.contrast import Contrast
from dpcore.privacy.shuffling.kinds import Kinds

_STARTS = 64  # evenly spread candidates: for the common value of all others, and for x in pairs (x, x')
_BINS = 8  # bin edges of a noisy coefficient
_LISTED = 1 << 16  # largest standard deviation for which Gaussian probabilities are summed exactly
_FAR = 12  # standard deviations beyond which the probability is negligible
_LOW, _WIDE = 16, 1 << 12  # number of values of the low bits, and the least noise scale for which they are uniform
_COLUMNS = 4  # number of tested noises per report


@base.loss_of_integers.register
def _(mechanism: SquareWave) -> Finding:
    stated = mechanism.parameters()
    cells, window = stated["cells"], stated["width"]
    return base.listed_loss(
        [_weights(np.arange(cells), window, cells + window - 1, stated["weight_in"], stated["weight_out"])]
    )


@base.levels.register
def _(mechanism: SquareWave) -> tuple[Level, ...]:
    stated = mechanism.parameters()
    cells, window = stated["cells"], stated["width"]
    return (_level(cells, window, cells + window - 1, stated["weight_in"], stated["weight_out"], 1.0),)


@base.report_ranks.register
def _(mechanism: SquareWave, values: np.ndarray, reports: Reports, generator: np.random.Generator) -> Ranks:
    stated = mechanism.parameters()
    cells, window = stated["cells"], stated["width"]
    weights = np.full(cells + window - 1, stated["weight_out"])
    weights[:window] = stated["weight_in"]
    return {"the cell": base.weighted_ranks(weights[None, :], (reports.values - values) % len(weights), generator)}


@base.loss_of_integers.register
def _(mechanism: DyadicWave) -> Finding:
    """Input cells of equal phase share a row; a line has an extended range, other levels are circles."""
    stated = mechanism.parameters()
    cells, channel = stated["cells"], []
    for turns, window, heavy, light in zip(
        _turns_of(stated), stated["widths"], stated["weights_in"], stated["weights_out"], strict=True
    ):
        starts = np.arange(cells) - (window // 2 if turns else 0)
        channel.append(_weights(starts, window, cells if turns else cells + window - 1, heavy, light))
    return base.listed_loss(channel)


@base.levels.register
def _(mechanism: DyadicWave) -> tuple[Level, ...]:
    """A line has an extended range, other levels are circles; cells of equal phase share a row."""
    stated = mechanism.parameters()
    cells, lists = stated["cells"], (stated[name] for name in ("widths", "weights_in", "weights_out", "level_law"))
    return tuple(
        _level(cells, window, cells if turns else cells + window - 1, heavy, light, share / base.LEVEL_TOTAL)
        for turns, window, heavy, light, share in zip(_turns_of(stated), *lists, strict=True)
    )


@base.report_ranks.register
def _(mechanism: DyadicWave, values: np.ndarray, reports: Reports, generator: np.random.Generator) -> Ranks:
    """A line covers the range, extended by half a window on both sides; other levels are circles."""
    stated = mechanism.parameters()
    cells, widths, around = stated["cells"], stated["widths"], _turns_of(stated)
    finest, rank = max(1, *around), np.empty(len(reports))
    for level, (turns, window, heavy, light) in enumerate(
        zip(around, widths, stated["weights_in"], stated["weights_out"], strict=True)
    ):
        at = np.flatnonzero(reports.level == level)
        phase = (values[at] * max(1, turns) // finest) % cells
        start = (phase - (window - 1) // 2) % cells if turns else phase
        weights = np.full(cells if turns else cells + window - 1, light)
        weights[:window] = heavy
        rank[at] = base.weighted_ranks(weights[None, :], (reports.values[at] - start) % len(weights), generator)
    return {"the cell": rank}


@base.loss_of_integers.register
def _(mechanism: CrossedWave) -> Finding:
    """Windows: a square around the point, an interval around the product of both centred values, and one on each axis."""
    stated = mechanism.parameters()
    M, heavy, light = stated["cells"], stated["weights_in"], stated["weights_out"]
    (side, length, *alone), doubled = stated["widths"], 2 * np.arange(M) + 1 - M
    near = _weights(np.arange(M), side, M + side - 1, 1, 0)
    square = np.einsum("xi,yj->xyij", near, near).reshape(M * M, -1)
    starts = np.multiply.outer(doubled, doubled).ravel() + (M - 1) ** 2
    product = _weights(starts // 2, length, (M - 1) ** 2 + length, heavy[1], light[1])
    either = [
        _weights(phases.ravel(), width, M + width - 1, heavy[level], light[level])
        for level, (phases, width) in enumerate(zip(np.indices((M, M)), alone, strict=True), start=2)
    ]
    return base.listed_loss([np.where(square, heavy[0], light[0]), product, *either])


@base.levels.register
def _(mechanism: CrossedWave) -> tuple[Level, ...]:
    """Windows at opposite ends differ most: in the plane, in the product, and in either number."""
    stated = mechanism.parameters()
    M, (side, length, *alone) = stated["cells"], stated["widths"]
    x, y = np.divmod(np.unique(np.linspace(0, M * M - 1, _STARTS).astype(int)), M)
    x, y = np.append(x, [0, M - 1]), np.append(y, [M - 1, 0])  # the last product is the smallest
    products = ((2 * x + 1 - M) * (2 * y + 1 - M) + (M - 1) ** 2) // 2
    square = _near(x, side, M + side - 1)[:, :, None] & _near(y, side, M + side - 1)[:, None, :]
    inside = [
        square.reshape(len(x), -1),
        _near(products, length, (M - 1) ** 2 + length),
        *(_near(place, width, M + width - 1) for place, width in zip((x, y), alone, strict=True)),
    ]
    pairs = [(0, len(x) - 3), (0, len(x) - 1), (0, len(x) - 3), (0, len(x) - 3)]
    lists = (stated[name] for name in ("weights_in", "weights_out", "level_law"))
    return tuple(
        _of_windows(near, pair, heavy, light, share / base.LEVEL_TOTAL)
        for near, pair, heavy, light, share in zip(inside, pairs, *lists, strict=True)
    )


@base.hard_pairs.register
def _(mechanism: WaveMechanism, held: np.ndarray | None = None) -> tuple[Pair, ...]:
    """Return the pair with the least overlap of windows, summed over levels and weighted by the probability of a window.

    Narrow windows are disjoint at every level; at small epsilon windows are too wide for that.
    """
    law = np.array(mechanism.level_weights) / sum(mechanism.level_weights)
    others = np.arange(mechanism.inputs) if held is None else held
    firsts = others[np.unique(np.linspace(0, len(others) - 1, _STARTS).astype(np.int64))]
    separation = np.zeros((len(firsts), len(others)))
    for share, wave in zip(law, mechanism.waves, strict=True):
        apart = (wave.starts(others)[None, :] - wave.starts(firsts)[:, None]) % wave.outputs
        alone = np.minimum(np.minimum(apart, wave.outputs - apart), min(wave.window, wave.outputs - wave.window))
        separation += share * alone * wave.weight_in / wave.total  # cells of one window outside of the other
    at, other = np.unravel_index(int(np.argmax(separation)), separation.shape)
    return (Pair(int(firsts[at]), int(others[other])),)


@base.log_ratio.register
def _(mechanism: WaveMechanism, reports: Reports, pair: Pair) -> np.ndarray:
    ratios = np.zeros(len(reports))
    for level, wave in enumerate(mechanism.waves):
        at = np.flatnonzero(reports.level == level)
        starts = wave.starts(np.array([pair.first, pair.second]))
        inside = [(reports.values[at] - start) % wave.outputs < wave.window for start in starts]
        ratios[at] = base.signed_ratio(inside, wave.weight_in, wave.weight_out)
    return ratios


def _weights(starts: np.ndarray, window: int, outputs: int, heavy: int, light: int) -> np.ndarray:
    """Return weights, (phases, outputs): `heavy` in the window that begins at each start, `light` elsewhere."""
    return np.where(_near(starts, window, outputs), heavy, light)


def _level(cells: int, window: int, outputs: int, heavy: int, light: int, share: float) -> Level:
    """Two windows differ most at a shift of their width, limited by the circle's circumference or the range of the values."""
    is_circle = outputs == cells
    shift = min(window, outputs - window) if is_circle else min(window, cells - 1)
    starts = np.unique([0, shift, *np.linspace(0, cells - 1, min(cells, _STARTS)).astype(int).tolist()])
    return _of_windows(_near(starts, window, outputs), (0, int(np.searchsorted(starts, shift))), heavy, light, share)


def _near(starts: np.ndarray, window: int, outputs: int) -> np.ndarray:
    """Return which outputs are in the windows with these starts, (starts, outputs) bool."""
    return np.asarray((np.arange(outputs) - starts[:, None]) % outputs < window)


def _of_windows(inside: np.ndarray, pair: tuple[int, int], heavy: int, light: int, share: float) -> Level:
    """Return the level of windows of equal size, (starts, outputs) bool; pair: the two that differ most."""
    first, second = (inside[place] for place in pair)
    outputs, window, apart = len(first), int(first.sum()), int(np.count_nonzero(first & ~second))
    total = window * heavy + (outputs - window) * light
    return Level(
        ratio=up(Fraction(heavy, light)),
        distance=up(Fraction(apart * (heavy - light), total)),
        mass=-up(-Fraction(outputs * light, total)),  # no output is in all windows
        share=share,
        attacks=tuple(attacks_of(np.where(inside, heavy, light) / total, *pair)),
    )


def _turns_of(stated: Mapping[str, Any]) -> Sequence[int]:
    """Return the turns of each level of a dyadic wave, 0 for a line; powers of two if the scheme does not state them."""
    return stated.get("harmonics") or [2**level if level else 0 for level in range(len(stated["widths"]))]


@base.enumerated_loss.register
def _(mechanism: WaveletLaplace) -> Finding:
    """For Gaussian noise, convert the exact concentration into epsilon at the scheme's delta."""
    tables, scales = mechanism.tables, mechanism.noise_scales
    cells, is_gaussian = len(tables[0]), mechanism.is_gaussian
    single = [largest_square(table) if is_gaussian else largest_loss([table], [1]) for table in tables]
    sensitivity = tuple(int(distance) for distance, _ in single)
    how = f"all {cells * (cells - 1) // 2:,} pairs of the {cells:,} input cells in {len(tables)} coefficient tables"
    if mechanism.is_sampled or is_gaussian:
        losses = [Fraction(d, 2 * t * t if is_gaussian else t) for d, t in zip(sensitivity, scales, strict=True)]
        block = max(range(len(losses)), key=losses.__getitem__)
        loss, pair, named = losses[block], single[block][1], f"block {block}"
    else:
        (loss, pair), named = largest_loss(tables, scales), "all blocks"
    if is_gaussian:
        how += (
            f"; Gaussian noise, {float(loss):.6g}-concentrated, has this epsilon at delta = {float(mechanism.delta):g}"
        )
        loss = approximate_epsilon(loss, mechanism.delta)
    return Finding(
        loss=Loss(loss),
        how=how,
        worst=f"{named}, input cells {pair[0]} and {pair[1]}",
        sensitivity=sensitivity,
        doubts=_doubts(mechanism, sensitivity),
    )


def _doubts(mechanism: WaveletLaplace, sensitivity: tuple[int, ...]) -> tuple[str, ...]:
    """Return the scheme's statements about its tables that are not true."""
    stated = mechanism.parameters()
    doubts = []
    if tuple(stated["sensitivity"]) != sensitivity:
        doubts.append(f"the scheme states the sensitivity {list(stated['sensitivity'])}, but it is {list(sensitivity)}")
    if stated["table_sha256"] != _tables_digest(mechanism.tables):
        doubts.append("the SHA-256 of the coefficient tables differs from the one in the scheme")
    return tuple(doubts)


def _tables_digest(tables: Sequence[np.ndarray]) -> str:
    """Return the SHA-256 of coefficient tables, 64 hex digits: shape and rows of each, as little-endian 64-bit integers."""
    parts = [np.asarray(part, dtype="<i8").tobytes() for table in tables for part in (table.shape, table)]
    return hashlib.sha256(b"".join(parts)).hexdigest()


@base.levels.register
def _(mechanism: WaveletLaplace) -> tuple[Level, ...]:
    """Use the exact total loss for every block; the attack uses the block's coefficient with the largest range."""
    stated = mechanism.parameters()
    shares = stated.get("level_law") or [base.LEVEL_TOTAL]
    ratio = math.exp(up(Fraction(mechanism.certificate().kept))) * (1 + 1e-14)
    attacks = [_of_noise(table, noise) for table, noise in zip(mechanism.tables, mechanism.noise_scales, strict=True)]
    if not mechanism.is_sampled:  # one report has all blocks: attack the most informative one
        attacks = [max(attacks, key=lambda attack: attack[0].strength)]
    return tuple(
        Level(ratio=ratio, share=share / base.LEVEL_TOTAL, attacks=() if mechanism.is_gaussian else attack)
        for share, attack in zip(shares, attacks, strict=True)
    )


def _of_noise(table: np.ndarray, noise: int) -> tuple[Contrast | Kinds, ...]:
    """Return attacks on a coefficient with discrete Laplace noise: reports below its minimum, above its maximum, in bins."""
    entries = table[:, int(np.argmax(np.ptp(table, axis=0)))]
    rows = np.unique(np.linspace(0, len(entries) - 1, _STARTS).astype(int))
    values = np.concatenate([[entries.max(), entries.min()], entries[rows]])
    edges = np.unique(np.linspace(entries.min(), entries.max(), _BINS).round().astype(np.int64))
    return tuple(attacks_of(_with_noise(values, edges, noise), 0, 1))


def _with_noise(values: np.ndarray, edges: np.ndarray, noise: int) -> np.ndarray:
    """Return the bin probabilities of each value plus discrete Laplace noise: below the first edge, between edges, above."""
    to_edge = edges - values[:, None]
    tail = np.exp(-np.maximum(np.abs(to_edge), 1 - to_edge) / noise) / (1 + math.exp(-1 / noise))
    at_least = np.where(to_edge >= 1, tail, 1 - tail)  # Pr(noise >= the edge)
    whole, none = np.ones((len(values), 1)), np.zeros((len(values), 1))
    return np.asarray(np.hstack([whole, at_least]) - np.hstack([at_least, none]))


@base.hard_pairs.register
def _(mechanism: WaveletLaplace, held: np.ndarray | None = None) -> tuple[Pair, ...]:
    """Return for each block the pair that attains its sensitivity; a single pair if a report contains all blocks."""
    if not mechanism.is_sampled:
        return (Pair(*largest_loss(mechanism.tables, mechanism.noise_scales)[1]),)
    if mechanism.is_gaussian:
        ends = [largest_square(table)[1] for table in mechanism.tables]
    else:
        ends = [largest_loss([table], [1])[1] for table in mechanism.tables]
    return tuple(Pair(*pair, level) for level, pair in enumerate(ends))


@base.log_ratio.register
def _(mechanism: WaveletLaplace, reports: Reports, pair: Pair) -> np.ndarray:
    ratios, starts = np.zeros(len(reports)), starts_of(reports.level, mechanism.sizes)
    for level, size in enumerate(mechanism.sizes):
        at = np.flatnonzero(reports.level == level)
        tables = [mechanism.tables[level]] if mechanism.is_sampled else mechanism.tables
        scales = [mechanism.noise_scales[level]] if mechanism.is_sampled else mechanism.noise_scales
        first, second = (np.concatenate([table[value] for table in tables]) for value in (pair.first, pair.second))
        scale = np.repeat(np.array(scales, dtype=np.float64), [table.shape[1] for table in tables])
        differs = np.flatnonzero(first != second)  # the other integers have equal distributions under both values
        sent = reports.values[starts[at][:, None] + differs] if size else np.zeros((len(at), 0))
        if mechanism.is_gaussian:
            squares = (sent - second[differs]).astype(np.float64) ** 2 - (sent - first[differs]).astype(np.float64) ** 2
            ratios[at] = (squares / (2 * scale[differs] ** 2)).sum(axis=1)
        else:
            ratios[at] = ((np.abs(sent - second[differs]) - np.abs(sent - first[differs])) / scale[differs]).sum(axis=1)
    return ratios


@base.report_ranks.register
def _(mechanism: WaveletLaplace, values: np.ndarray, reports: Reports, generator: np.random.Generator) -> Ranks:
    """Rank up to four neighbouring noises of each report (integers minus table entries), and the low bits of its integers.

    For wide noise the low bits are uniform to within (16 / scale)^2, which is undetectable at the number of reports of an
    audit.
    """
    scales, tables = mechanism.parameters()["noise_scales"], mechanism.tables
    distribution = _gaussian if mechanism.is_gaussian else _laplace
    starts = starts_of(reports.level, mechanism.sizes)
    noise_ranks = np.empty((min(_COLUMNS, *mechanism.sizes), len(reports)))
    for level, size in enumerate(mechanism.sizes):
        at = np.flatnonzero(reports.level == level)
        blocks = [level] if mechanism.is_sampled else list(range(len(tables)))
        scale = np.repeat(np.array([scales[block] for block in blocks]), [tables[block].shape[1] for block in blocks])
        rows = np.concatenate([tables[block] for block in blocks], axis=1)
        first = generator.integers(0, size, len(at))
        for number in range(len(noise_ranks)):
            place = (first + number) % size
            noise = reports.values[starts[at] + place] - rows[values[at], place]
            for own in np.unique(scale):
                chosen = scale[place] == own
                below, mass = distribution(noise[chosen], int(own))
                noise_ranks[number, at[chosen]] = below + generator.random(len(below)) * mass
    columns = {f"noise {number + 1}": column for number, column in enumerate(noise_ranks)}
    if min(scales) < _WIDE:
        return columns
    ends = {"first": starts[:-1], "last": starts[1:] - 1}
    low = {
        f"the lowest bits of the {end} integer": base.uniform_ranks(reports.values[at] % _LOW, _LOW, generator)
        for end, at in ends.items()
    }
    return columns | low


def _laplace(noise: np.ndarray, scale: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Pr(Y < y) and Pr(Y = y) for Pr(y) proportional to exp(-|y| / scale)."""
    size = np.abs(noise).astype(np.float64)
    ratio = np.exp(-1 / scale)
    mass = -np.expm1(-1 / scale) / (1 + ratio) * np.exp(-size / scale)
    tail = np.exp(-size / scale) / (1 + ratio)  # of |y| or more, on one side
    return np.where(noise <= 0, tail - mass, 1 - tail), mass


def _gaussian(noise: np.ndarray, scale: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Pr(Y < y) and Pr(Y = y) for Pr(y) proportional to exp(-y^2 / (2 scale^2))."""
    if scale > _LISTED:  # the integral over a step has a relative error below 1e-10
        from scipy.special import ndtr  # publication does without

        below, above = (ndtr((noise + half) / scale) for half in (-0.5, 0.5))
        return below, above - below
    masses, sums = _summed(scale)
    at = np.clip(noise + _FAR * scale, 0, len(masses) - 1)
    return sums[at], masses[at]


@lru_cache(maxsize=64)
def _summed(scale: int) -> tuple[np.ndarray, np.ndarray]:
    y = np.arange(-_FAR * scale, _FAR * scale + 1, dtype=np.float64)
    masses = np.exp(-0.5 * (y / scale) ** 2)
    masses /= masses.sum()
    return masses, np.concatenate([[0.0], np.cumsum(masses)[:-1]])
