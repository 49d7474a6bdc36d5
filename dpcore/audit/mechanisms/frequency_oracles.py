"""Frequency oracles in the audit: reports of equal probability under two categories are one class; all pairs are equivalent."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, prod

import numpy as np

from dpcore.audit.mechanisms import base
from dpcore.audit.mechanisms.base import Class, Pair, Ranks
from dpcore.mechanisms import HadamardResponse, LocalHashing, RandomizedResponse, SubsetSelection
from dpcore.mechanisms.categorical.frequency_oracle import FrequencyOracle
from dpcore.mechanisms.categorical.unary_encoding import BitCounts
from dpcore.mechanisms.reports import Reports
from dpcore.privacy.shuffling.channel import Level, level_of, up

_LINES = 1200  # largest prime for which all lines of local hashing are enumerated


@base.hard_pairs.register
def _(mechanism: FrequencyOracle, held: np.ndarray | None = None) -> tuple[Pair, ...]:
    """All pairs of categories are equivalent."""
    return (Pair(0, mechanism.inputs - 1),)


@base.report_classes.register
def _(mechanism: RandomizedResponse) -> tuple[list[Class], str]:
    inside, outside = mechanism.weight_in, mechanism.weight_out
    classes = [
        ("the report x", 1, inside, outside),
        ("the report x'", 1, outside, inside),
        ("a third category as report", mechanism.categories - 2, outside, outside),
    ]
    return classes, "the three kinds of reports for any two categories x and x'; all pairs of categories are equivalent"


@base.levels.register
def _(mechanism: RandomizedResponse) -> tuple[Level, ...]:
    k, inside, outside = mechanism.categories, mechanism.weight_in, mechanism.weight_out
    values = min(k, 3)
    weights = np.full((values, values), outside, dtype=np.int64) + (inside - outside) * np.eye(values, dtype=np.int64)
    more = np.full((values, int(k > values)), (k - values) * outside)  # any other category
    return (level_of(np.hstack([weights, more])),)


@base.log_ratio.register
def _(mechanism: RandomizedResponse, reports: Reports, pair: Pair) -> np.ndarray:
    reported = reports.values
    return base.signed_ratio(
        [reported == pair.first, reported == pair.second], mechanism.weight_in, mechanism.weight_out
    )


@base.report_ranks.register
def _(mechanism: RandomizedResponse, values: np.ndarray, reports: Reports, generator: np.random.Generator) -> Ranks:
    stated = mechanism.parameters()
    k = stated["categories"]
    weights = np.full(k, stated["weight_out"])
    weights[0] = stated["weight_in"]
    return {"the category": base.weighted_ranks(weights[None, :], (reports.values - values) % k, generator)}


@base.report_classes.register
def _(mechanism: BitCounts) -> tuple[list[Class], str]:
    weight = _bit_weights(mechanism)
    classes = [
        (f"bits x = {x}, x' = {y}", 1, weight[x, 1] * weight[y, 0], weight[x, 0] * weight[y, 1])
        for x in (0, 1)
        for y in (0, 1)
    ]
    return (
        classes,
        "the four values of the bits of any two categories x and x'; other bits have equal probabilities and cancel",
    )


@base.levels.register
def _(mechanism: BitCounts) -> tuple[Level, ...]:
    values, weight = min(mechanism.categories, 3), _bit_weights(mechanism)
    patterns = list(product((0, 1), repeat=values))
    rows = [[prod(weight[bit, int(y == x)] for y, bit in enumerate(bits)) for bits in patterns] for x in range(values)]
    mass = Fraction(weight[0, 1], weight[0, 0])  # likelihood ratio of some category's zero bit
    return (level_of(np.array(rows, dtype=object), mass=mass),)


@base.log_ratio.register
def _(mechanism: BitCounts, reports: Reports, pair: Pair) -> np.ndarray:
    rows = base.report_rows(mechanism, reports)
    bits = [rows[:, value // 32] >> (value % 32) & 1 for value in (pair.first, pair.second)]
    weight = _bit_weights(mechanism)
    return np.log(weight[1, 1] * weight[0, 0] / (weight[0, 1] * weight[1, 0])) * (bits[0] - bits[1])


def _bit_weights(mechanism: BitCounts) -> dict[tuple[int, int], int]:
    """Return the weight of each (bit, whether its category is the true one)."""
    total, true, other = mechanism.total, mechanism.weight_true, mechanism.weight_other
    return {(1, 1): true, (0, 1): total - true, (1, 0): other, (0, 0): total - other}


@base.report_ranks.register
def _(mechanism: BitCounts, values: np.ndarray, reports: Reports, generator: np.random.Generator) -> Ranks:
    stated = mechanism.parameters()
    k, rows = stated["categories"], reports.values.reshape(len(reports), -1)
    people, total = np.arange(len(reports)), mechanism.total
    other = (values + generator.integers(1, k, len(values))) % k

    def bit(at: np.ndarray) -> np.ndarray:
        return (rows[people, at >> 5] >> (at & 31) & 1).astype(bool)

    true, false = stated["weight_true"], stated["weight_other"]
    return {
        "the bit of the true category": base.binary_ranks(bit(values), true, total - true, generator),
        "another bit": base.binary_ranks(bit(other), false, total - false, generator),
    }


@base.report_classes.register
def _(mechanism: SubsetSelection) -> tuple[list[Class], str]:
    """As clients draw: whether the subset contains the true category, then a uniform subset of that kind."""
    k, w, total = mechanism.categories, mechanism.size, mechanism.total
    with_true = w * mechanism.weight_in  # draws of `total` whose subset contains the true category, C(k-1, w-1) subsets
    containing, lacking = comb(k - 1, w - 1), comb(k - 1, w)
    # over the common denominator total * containing * lacking
    inside, outside = with_true * lacking, (total - with_true) * containing
    classes = [
        ("subsets with x and x'", comb(k - 2, w - 2) if w > 1 else 0, inside, inside),
        ("subsets with x, without x'", comb(k - 2, w - 1), inside, outside),
        ("subsets with x', without x", comb(k - 2, w - 1), outside, inside),
        ("subsets with neither", comb(k - 2, w), outside, outside),
    ]
    return classes, "the four kinds of subsets for any two categories x and x', counted by binomial coefficients"


@base.levels.register
def _(mechanism: SubsetSelection) -> tuple[Level, ...]:
    k, w, values = mechanism.categories, mechanism.size, min(mechanism.categories, 3)
    rows: list[list[int]] = [[] for _ in range(values)]
    for members in product((0, 1), repeat=values):
        rest = w - sum(members)
        if not 0 <= rest <= k - values:
            continue
        for x, row in enumerate(rows):
            row.append(comb(k - values, rest) * (mechanism.weight_in if members[x] else mechanism.weight_out))
    mass = Fraction(k * mechanism.weight_out, mechanism.total)  # every subset lacks some category
    return (level_of(np.array(rows, dtype=object), mass=mass),)


@base.log_ratio.register
def _(mechanism: SubsetSelection, reports: Reports, pair: Pair) -> np.ndarray:
    rows = base.report_rows(mechanism, reports)
    inside = [np.any(rows == value, axis=1) for value in (pair.first, pair.second)]
    return base.signed_ratio(inside, mechanism.weight_in, mechanism.weight_out)


@base.report_ranks.register
def _(mechanism: SubsetSelection, values: np.ndarray, reports: Reports, generator: np.random.Generator) -> Ranks:
    """Rank whether the subset contains the true category, and a uniformly chosen other category of the subset."""
    stated = mechanism.parameters()
    k, size = stated["categories"], mechanism.sizes[0]
    away = (reports.values.reshape(-1, size) - values[:, None]) % k
    holds = np.any(away == 0, axis=1)
    inside = stated["weight_in"] * size
    parts = {
        "whether it contains the true category": base.binary_ranks(
            holds, inside, stated["weight_out"] * (k - size), generator
        )
    }
    if size < k:
        keys = np.where(away == 0, 2.0, generator.random(away.shape))
        other = away[np.arange(len(away)), keys.argmin(axis=1)]
        is_there = other > 0
        rank = generator.random(len(away))
        rank[is_there] = base.uniform_ranks(other[is_there] - 1, k - 1, generator)
        parts["another category of the subset"] = rank
    return parts


@base.report_classes.register
def _(mechanism: HadamardResponse) -> tuple[list[Class], str]:
    inside, outside = mechanism.weight_in, mechanism.weight_out
    classes = [
        ("the symbol of x, in a column that separates x and x'", 1, inside, outside),
        ("the symbol of x', in a column that separates x and x'", 1, outside, inside),
    ]
    how = "the two symbols of a column that separates any two categories x and x'; the column is uniform and cancels"
    return classes, how


@base.levels.register
def _(mechanism: HadamardResponse) -> tuple[Level, ...]:
    """Enumerate which values favour the same symbol of a column; all patterns of two or three rows are equally frequent."""
    values = min(mechanism.categories, 3)
    rows: list[list[int]] = [[] for _ in range(values)]
    for signs in product((0, 1), repeat=values - 1):
        for bit in (0, 1):
            for row, sign in zip(rows, (0, *signs), strict=True):
                row.append(mechanism.weight_in if sign == bit else mechanism.weight_out)
    mass = Fraction(2 * mechanism.weight_out, mechanism.weight_in + mechanism.weight_out)
    return (level_of(np.array(rows, dtype=np.int64), mass=mass),)


@base.log_ratio.register
def _(mechanism: HadamardResponse, reports: Reports, pair: Pair) -> np.ndarray:
    inside = [mechanism.supports(reports.values, value) for value in (pair.first, pair.second)]
    return base.signed_ratio(inside, mechanism.weight_in, mechanism.weight_out)


@base.report_ranks.register
def _(mechanism: HadamardResponse, values: np.ndarray, reports: Reports, generator: np.random.Generator) -> Ranks:
    stated = mechanism.parameters()
    columns = 1 << (stated["categories"] - 1).bit_length()
    column, sign = reports.values >> 1, reports.values & 1
    agrees = np.bitwise_count(column & values) % 2 == sign
    return {
        "the column": base.uniform_ranks(column, columns, generator),
        "the sign": base.binary_ranks(agrees, stated["weight_in"], stated["weight_out"], generator),
    }


@base.report_classes.register
def _(mechanism: LocalHashing) -> tuple[list[Class], str]:
    inside, outside = mechanism.weight_in, mechanism.weight_out
    classes = [
        ("the bin of x, under a line that separates x and x'", 1, inside, outside),
        ("the bin of x', under a line that separates x and x'", 1, outside, inside),
        ("a third bin", mechanism.bins - 2, outside, outside),
    ]
    how = "the bins of any two categories x and x' under a line that separates them; the line is uniform and cancels"
    return classes, how


@base.levels.register
def _(mechanism: LocalHashing) -> tuple[Level, ...]:
    stated = mechanism.parameters()
    prime, bins = stated["prime"], stated["bins"]
    inside, outside = mechanism.weight_in, mechanism.weight_out
    if prime > _LINES:
        return (level_of_pairs(prime, bins, inside, outside),)
    values = min(mechanism.categories, 3)
    slope, shift = np.arange(1, prime)[:, None], np.arange(prime)
    hashes = [(slope * x + shift) % prime * bins // prime for x in range(values)]
    first = [np.argmax([hashes[y] == hashes[x] for y in range(x + 1)], axis=0) for x in range(values)]
    code = sum(values**x * position for x, position in enumerate(first))  # which values collide
    counts = np.bincount(np.asarray(code).ravel())
    patterns = {
        tuple(int(i) // values**x % values for x in range(values)): int(counts[i]) for i in np.flatnonzero(counts)
    }
    rows: list[list[int]] = [[] for _ in range(values)]
    for kind, count in patterns.items():
        for bin_ in sorted(set(kind)):
            for x, row in enumerate(rows):
                row.append(count * (inside if kind[x] == bin_ else outside))
        if rest := bins - len(set(kind)):
            for row in rows:
                row.append(count * rest * outside)
    return (level_of(np.array(rows, dtype=object), mass=Fraction(bins * outside, inside + (bins - 1) * outside)),)


@base.log_ratio.register
def _(mechanism: LocalHashing, reports: Reports, pair: Pair) -> np.ndarray:
    slope, shift, v = base.report_rows(mechanism, reports).T
    inside = [mechanism.hash(slope, shift, np.array(value)) == v for value in (pair.first, pair.second)]
    return base.signed_ratio(inside, mechanism.weight_in, mechanism.weight_out)


@base.report_ranks.register
def _(mechanism: LocalHashing, values: np.ndarray, reports: Reports, generator: np.random.Generator) -> Ranks:
    stated = mechanism.parameters()
    prime, bins = stated["prime"], stated["bins"]
    slope, shift, reported = reports.values.reshape(-1, 3).T
    own = (slope * values + shift) % prime * bins // prime
    weights = np.full(bins, stated["weight_out"])
    weights[0] = stated["weight_in"]
    return {
        "the slope of the line": base.uniform_ranks(slope - 1, prime - 1, generator),
        "the shift of the line": base.uniform_ranks(shift, prime, generator),
        "the bin": base.weighted_ranks(weights[None, :], (reported - own) % bins, generator),
    }


def level_of_pairs(prime: int, bins: int, inside: int, outside: int) -> Level:
    """Return the level from two values only: how often a line separates them is exact."""
    widths = np.diff(-(-np.arange(bins + 1) * prime // bins)).tolist()
    apart = 1 - Fraction(sum(width * (width - 1) for width in widths), prime * (prime - 1))
    distance = apart * Fraction(inside - outside, inside + (bins - 1) * outside)
    mass = Fraction(bins * outside, inside + (bins - 1) * outside)
    return Level(ratio=up(Fraction(inside, outside)), distance=up(distance), mass=-up(-mass))
