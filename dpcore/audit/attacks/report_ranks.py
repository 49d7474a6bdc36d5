"""The randomized rank of a report among all reports that its client could send: uniform for a correct client.

All possible reports are put in an order that begins at the true value.  The probability of the reports before the observed one,
plus a uniform fraction of its own probability, is uniform on [0, 1) for every value, if the client draws as the scheme states
[Rosenblatt1952].  A mechanism contributes only its integers, `parameters()`, and its coefficient tables, whose digest is in the
scheme.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, singledispatch
from math import comb

import numpy as np
import scipy

from dpcore.audit.attacks.likelihood_ratio import buckets_of, padded
from dpcore.audit.enumeration.finite_channel import turns_of
from dpcore.errors import CalibrationError
from dpcore.mechanisms import (
    DyadicWave,
    HadamardResponse,
    LocalHashing,
    Mechanism,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
)
from dpcore.mechanisms.categorical.set_selection import SetSelection
from dpcore.mechanisms.categorical.text_hashing import TextHashing
from dpcore.mechanisms.categorical.unary_encoding import BitCounts
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.mechanisms.reports import Reports, starts_of

Ranks = Mapping[str, np.ndarray]  # name of the tested part -> its ranks, (n,), each in [0, 1]
LEVEL = "the level"
_LISTED = 1 << 16  # largest standard deviation for which Gaussian probabilities are summed exactly
_FAR = 12  # standard deviations beyond which the probability is negligible
_LOW, _WIDE = 16, 1 << 12  # number of values of the low bits, and the least noise scale for which they are uniform
_COLUMNS = 4  # number of tested noises per report


def ranks(mechanism: Mechanism, values: np.ndarray, reports: Reports, generator: np.random.Generator) -> Ranks:
    """Return the ranks of n reports of these input cells, (n,) each.  generator: draws the uniform fractions.

    Raises CalibrationError for a mechanism without a listed channel and without a registered order.
    """
    ranks_by_part = dict(_ranks(mechanism, values, reports, generator))
    if len(mechanism.sizes) > 1:
        weights = mechanism.parameters().get("level_law", np.ones(len(mechanism.sizes)))
        ranks_by_part[LEVEL] = _placed(np.array(weights)[None, :], reports.level.astype(np.int64), generator)
    return ranks_by_part


@singledispatch
def _ranks(mechanism: Mechanism, values: np.ndarray, reports: Reports, generator: np.random.Generator) -> Ranks:
    """Rank reports of a listed channel in the order of its columns."""
    channel = mechanism.channel()
    if channel is None or set(mechanism.sizes) != {1}:
        words = f"{mechanism.name}: the audit has no order of this mechanism's reports; register one in {__name__}"
        raise CalibrationError(words)
    rank = np.empty(len(reports))
    for level, weights in enumerate(channel):
        at, rows = np.flatnonzero(reports.level == level), weights / weights.sum(axis=1, keepdims=True)
        below, sent = np.cumsum(rows, axis=1) - rows, reports.values[at]
        rank[at] = below[values[at], sent] + generator.random(len(at)) * rows[values[at], sent]
    return {"the report": rank}


@_ranks.register
def _(mechanism: RandomizedResponse, values: np.ndarray, reports: Reports, generator: np.random.Generator) -> Ranks:
    stated = mechanism.parameters()
    k = stated["categories"]
    weights = np.full(k, stated["weight_out"])
    weights[0] = stated["weight_in"]
    return {"the category": _placed(weights[None, :], (reports.values - values) % k, generator)}


@_ranks.register
def _(mechanism: HadamardResponse, values: np.ndarray, reports: Reports, generator: np.random.Generator) -> Ranks:
    stated = mechanism.parameters()
    columns = 1 << (stated["categories"] - 1).bit_length()
    column, sign = reports.values >> 1, reports.values & 1
    agrees = np.bitwise_count(column & values) % 2 == sign
    return {
        "the column": _even(column, columns, generator),
        "the sign": _of_two(agrees, stated["weight_in"], stated["weight_out"], generator),
    }


@_ranks.register
def _(mechanism: TextHashing, values: np.ndarray, reports: Reports, generator: np.random.Generator) -> Ranks:
    buckets = buckets_of(mechanism.parameters(), values, reports.level.astype(np.int64))
    return _ranks(mechanism.oracle, buckets, reports, generator)


@_ranks.register
def _(mechanism: LocalHashing, values: np.ndarray, reports: Reports, generator: np.random.Generator) -> Ranks:
    stated = mechanism.parameters()
    prime, bins = stated["prime"], stated["bins"]
    slope, shift, reported = reports.values.reshape(-1, 3).T
    own = (slope * values + shift) % prime * bins // prime
    weights = np.full(bins, stated["weight_out"])
    weights[0] = stated["weight_in"]
    return {
        "the slope of the line": _even(slope - 1, prime - 1, generator),
        "the shift of the line": _even(shift, prime, generator),
        "the bin": _placed(weights[None, :], (reported - own) % bins, generator),
    }


@_ranks.register
def _(mechanism: SubsetSelection, values: np.ndarray, reports: Reports, generator: np.random.Generator) -> Ranks:
    """Rank whether the subset contains the true category, and a uniformly chosen other category of the subset."""
    stated = mechanism.parameters()
    k, size = stated["categories"], mechanism.sizes[0]
    away = (reports.values.reshape(-1, size) - values[:, None]) % k
    holds = np.any(away == 0, axis=1)
    inside = stated["weight_in"] * size
    parts = {
        "whether it contains the true category": _of_two(holds, inside, stated["weight_out"] * (k - size), generator)
    }
    if size < k:
        keys = np.where(away == 0, 2.0, generator.random(away.shape))
        other = away[np.arange(len(away)), keys.argmin(axis=1)]
        is_there = other > 0
        rank = generator.random(len(away))
        rank[is_there] = _even(other[is_there] - 1, k - 1, generator)
        parts["another category of the subset"] = rank
    return parts


@_ranks.register
def _(mechanism: SetSelection, values: np.ndarray, reports: Reports, generator: np.random.Generator) -> Ranks:
    """Rank how many items of the padded set the subset has, a random one of these, and a random one of the others."""
    stated = mechanism.parameters()
    k, m, size = stated["options"], stated["at_most"], stated["size"]
    own, rows = padded(stated, values), reports.values.reshape(-1, stated["size"])
    is_own = np.zeros((len(rows), k + m), dtype=bool)
    np.put_along_axis(is_own, own, True, axis=1)
    hits = np.take_along_axis(is_own, rows, axis=1)
    every, lacking = comb(k + m, size), comb(k, size)
    weights = [
        stated["weight_in"] / (every - lacking) * comb(m, hit) * comb(k, size - hit) for hit in range(min(m, size) + 1)
    ]
    weights[0] = stated["weight_out"]
    parts = {"how many true items it has": _placed(np.array([weights]), hits.sum(axis=1), generator)}
    for part, of_kind, count in (("a true item of the subset", is_own, m), ("another item of the subset", ~is_own, k)):
        kind = np.take_along_axis(of_kind, rows, axis=1)
        item = rows[np.arange(len(rows)), np.where(kind, generator.random(kind.shape), 2.0).argmin(axis=1)]
        place = np.cumsum(of_kind, axis=1)[np.arange(len(rows)), item] - 1  # among its kind
        has_one = kind.any(axis=1)
        rank = generator.random(len(rows))
        rank[has_one] = _even(place[has_one], count, generator)
        parts[part] = rank
    return parts


@_ranks.register
def _(mechanism: BitCounts, values: np.ndarray, reports: Reports, generator: np.random.Generator) -> Ranks:
    stated = mechanism.parameters()
    k, rows = stated["categories"], reports.values.reshape(len(reports), -1)
    people, total = np.arange(len(reports)), mechanism.total
    other = (values + generator.integers(1, k, len(values))) % k

    def bit(at: np.ndarray) -> np.ndarray:
        return (rows[people, at >> 5] >> (at & 31) & 1).astype(bool)

    true, false = stated["weight_true"], stated["weight_other"]
    return {
        "the bit of the true category": _of_two(bit(values), true, total - true, generator),
        "another bit": _of_two(bit(other), false, total - false, generator),
    }


@_ranks.register
def _(mechanism: SquareWave, values: np.ndarray, reports: Reports, generator: np.random.Generator) -> Ranks:
    stated = mechanism.parameters()
    cells, window = stated["cells"], stated["width"]
    weights = np.full(cells + window - 1, stated["weight_out"])
    weights[:window] = stated["weight_in"]
    return {"the cell": _placed(weights[None, :], (reports.values - values) % len(weights), generator)}


@_ranks.register
def _(mechanism: DyadicWave, values: np.ndarray, reports: Reports, generator: np.random.Generator) -> Ranks:
    """A line covers the range, extended by half a window on both sides; other levels are circles."""
    stated = mechanism.parameters()
    cells, widths, around = stated["cells"], stated["widths"], turns_of(stated)
    finest, rank = max(1, *around), np.empty(len(reports))
    for level, (turns, window, heavy, light) in enumerate(
        zip(around, widths, stated["weights_in"], stated["weights_out"], strict=True)
    ):
        at = np.flatnonzero(reports.level == level)
        phase = (values[at] * max(1, turns) // finest) % cells
        start = (phase - (window - 1) // 2) % cells if turns else phase
        weights = np.full(cells if turns else cells + window - 1, light)
        weights[:window] = heavy
        rank[at] = _placed(weights[None, :], (reports.values[at] - start) % len(weights), generator)
    return {"the cell": rank}


@_ranks.register
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
        f"the lowest bits of the {end} integer": _even(reports.values[at] % _LOW, _LOW, generator)
        for end, at in ends.items()
    }
    return columns | low


def _placed(weights: np.ndarray, at: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return ranks of outcomes `at` (n,) under weights (1, outcomes); 0 for impossible outcomes."""
    row = np.asarray(weights, dtype=np.float64)[0]
    below = np.concatenate([[0.0], np.cumsum(row)]) / row.sum()
    at = np.asarray(at, dtype=np.int64)
    is_possible = (at >= 0) & (at < len(row))
    at = np.where(is_possible, at, 0)
    return np.where(is_possible, below[at] + generator.random(len(at)) * row[at] / row.sum(), 0.0)


def _even(at: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
    return np.clip((at + generator.random(len(at))) / count, 0, np.nextafter(1, 0))


def _of_two(is_first: np.ndarray, weight: int, other: int, generator: np.random.Generator) -> np.ndarray:
    return _placed(np.array([[weight, other]]), np.where(is_first, 0, 1), generator)


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
        below, above = (scipy.special.ndtr((noise + half) / scale) for half in (-0.5, 0.5))
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
