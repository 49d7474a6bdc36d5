"""The exact log-likelihood ratio of two values given a report, for every mechanism, and the pairs of values to attack.

This statistic is optimal for an attacker who knows everything but the value.  It is computed from the integers in the scheme.
A faulty client may draw from another distribution; the statistic is then not optimal, but the bound is still valid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from dpcore.audit.enumeration.additive_noise import largest_loss, largest_square
from dpcore.audit.enumeration.finite_channel import largest_ratio
from dpcore.errors import CalibrationError
from dpcore.mechanisms import (
    HadamardResponse,
    LocalHashing,
    Mechanism,
    RandomizedResponse,
    SubsetSelection,
)
from dpcore.mechanisms.categorical.frequency_oracle import FrequencyOracle
from dpcore.mechanisms.categorical.option_sets import OptionSets
from dpcore.mechanisms.categorical.set_selection import SetSelection
from dpcore.mechanisms.categorical.text_hashing import ROWS, TextHashing
from dpcore.mechanisms.categorical.unary_encoding import BitCounts
from dpcore.mechanisms.numeric.wave import WaveMechanism
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.mechanisms.reports import Reports, starts_of

_PRIME = (1 << 31) - 1  # of the hash functions of texts
_STARTS = 64  # evenly spread cells x that are tried in pairs (x, x'), with every x'


@dataclass(frozen=True)
class Pair:
    """Two input cells to distinguish, integers or texts, from reports of one level, or of a random level if it is None."""

    first: Any
    second: Any
    level: int | None = None

    @property
    def turned(self) -> Pair:
        """The pair in reverse order."""
        return Pair(self.second, self.first, self.level)

    @property
    def words(self) -> str:
        """Description, such as "cells 3 and 17, level 2"."""
        return f"cells {self.first} and {self.second}" + ("" if self.level is None else f", level {self.level}")


@singledispatch
def hard_pairs(mechanism: Mechanism, held: np.ndarray | None = None) -> tuple[Pair, ...]:
    """Return the pairs of values that reports distinguish best, the best first; here the largest ratio of a listed channel.

    held: input cells that have values; pairs of waves are chosen among them.  Other mechanisms use all cells.
    """
    worst = [largest_ratio(weights) for weights in _channel(mechanism)]
    level = max(range(len(worst)), key=lambda i: (worst[i].ratio is None, worst[i].ratio or 0))
    return (Pair(worst[level].likely, worst[level].unlikely, level if len(worst) > 1 else None),)


@hard_pairs.register
def _(mechanism: FrequencyOracle, held: np.ndarray | None = None) -> tuple[Pair, ...]:
    """All pairs of categories are equivalent."""
    return (Pair(0, mechanism.inputs - 1),)


@hard_pairs.register
def _(mechanism: SetSelection, held: np.ndarray | None = None) -> tuple[Pair, ...]:
    """The empty set and a full one have no item in common."""
    return (Pair(0, mechanism.inputs - 1),)


@hard_pairs.register
def _(mechanism: TextHashing, held: np.ndarray | None = None) -> tuple[Pair, ...]:
    """Any two texts, which have different buckets in nearly every row, or buckets."""
    first, *_, last = range(mechanism.inputs) if held is None else held
    return (Pair(first, last),)


@hard_pairs.register
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


@hard_pairs.register
def _(mechanism: WaveletLaplace, held: np.ndarray | None = None) -> tuple[Pair, ...]:
    """Return for each block the pair that attains its sensitivity; a single pair if a report contains all blocks."""
    if not mechanism.is_sampled:
        return (Pair(*largest_loss(mechanism.tables, mechanism.noise_scales)[1]),)
    if mechanism.is_gaussian:
        ends = [largest_square(table)[1] for table in mechanism.tables]
    else:
        ends = [largest_loss([table], [1])[1] for table in mechanism.tables]
    return tuple(Pair(*pair, level) for level, pair in enumerate(ends))


@singledispatch
def log_ratio(mechanism: Mechanism, reports: Reports, pair: Pair) -> np.ndarray:
    """Return log Pr(report | first) - log Pr(report | second) for each report, shape (n,), natural-log units.

    This default handles reports of one integer with a listed channel, and raises CalibrationError for others.
    """
    ratios = np.zeros(len(reports))
    for level, weights in enumerate(_channel(mechanism)):
        at = np.flatnonzero(reports.level == level)
        first, second = (weights[value] / weights[value].sum() for value in (pair.first, pair.second))
        ratios[at] = np.log(first[reports.values[at]]) - np.log(second[reports.values[at]])
    return ratios


def _channel(mechanism: Mechanism) -> Sequence[np.ndarray]:
    channel = mechanism.channel()
    if channel is None or set(mechanism.sizes) != {1}:
        raise CalibrationError(
            f"{mechanism.name}: the audit has no likelihood for this mechanism; register one in {__name__}"
        )
    return channel


def _rows(mechanism: Mechanism, reports: Reports) -> np.ndarray:
    """Return the integers of reports of equal size, (n, size)."""
    return reports.values.reshape(len(reports), -1)


def _spoken(inside: Sequence[np.ndarray], weight_in: int, weight_out: int) -> np.ndarray:
    """Return the log ratio, given whether a report has the larger weight under each of the two values."""
    return np.log(weight_in / weight_out) * (inside[0].astype(np.int8) - inside[1].astype(np.int8))


@log_ratio.register
def _(mechanism: RandomizedResponse, reports: Reports, pair: Pair) -> np.ndarray:
    reported = reports.values
    return _spoken([reported == pair.first, reported == pair.second], mechanism.weight_in, mechanism.weight_out)


@log_ratio.register
def _(mechanism: HadamardResponse, reports: Reports, pair: Pair) -> np.ndarray:
    inside = [mechanism.supports(reports.values, value) for value in (pair.first, pair.second)]
    return _spoken(inside, mechanism.weight_in, mechanism.weight_out)


@log_ratio.register
def _(mechanism: LocalHashing, reports: Reports, pair: Pair) -> np.ndarray:
    slope, shift, v = _rows(mechanism, reports).T
    inside = [mechanism.hash(slope, shift, np.array(value)) == v for value in (pair.first, pair.second)]
    return _spoken(inside, mechanism.weight_in, mechanism.weight_out)


@log_ratio.register
def _(mechanism: TextHashing, reports: Reports, pair: Pair) -> np.ndarray:
    stated, slope, shift, v = mechanism.parameters(), *_rows(mechanism, reports).T
    buckets = (buckets_of(stated, np.array([cell]), np.arange(ROWS)) for cell in (pair.first, pair.second))
    inside = [mechanism.oracle.hash(slope, shift, own[reports.level]) == v for own in buckets]
    return _spoken(inside, mechanism.weight_in, mechanism.weight_out)


def buckets_of(stated: Mapping[str, Any], cells: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the buckets in these rows, (n,), of texts, (n,) or (1,), from the integers of a scheme; integers are buckets."""
    if cells.dtype.kind != "S":
        return np.broadcast_to(cells, rows.shape)
    texts = cells.astype(f"S{stated['length']}").view(np.uint8).reshape(len(cells), -1).astype(np.int64)
    texts = np.broadcast_to(texts, (len(rows), texts.shape[1]))
    values = np.zeros(len(rows), dtype=np.int64)
    for row in np.unique(rows).tolist():
        length, base = stated["lengths"][row], stated["bases"][row]
        powers = np.array([pow(base, length - place, _PRIME) for place in range(length)])
        values[rows == row] = ((texts[rows == row, :length] + 1) * powers % _PRIME).sum(axis=1) % _PRIME
    return values * stated["buckets"] // _PRIME


@log_ratio.register
def _(mechanism: SubsetSelection, reports: Reports, pair: Pair) -> np.ndarray:
    rows = _rows(mechanism, reports)
    inside = [np.any(rows == value, axis=1) for value in (pair.first, pair.second)]
    return _spoken(inside, mechanism.weight_in, mechanism.weight_out)


def padded(stated: Mapping[str, Any], values: np.ndarray) -> np.ndarray:
    """Return the items of the padded sets, (n, at_most), of a set mechanism's integers: options first, then dummies."""
    k, m = stated["options"], stated["at_most"]
    members = OptionSets(k, m).members(values)
    dummies = np.arange(m) < m - members.sum(axis=1, keepdims=True)
    return np.nonzero(np.hstack([members, dummies]))[1].reshape(-1, m)


@log_ratio.register
def _(mechanism: SetSelection, reports: Reports, pair: Pair) -> np.ndarray:
    stated, rows = mechanism.parameters(), _rows(mechanism, reports)
    inside = [
        np.asarray(np.isin(rows, items).any(axis=1)) for items in padded(stated, np.array([pair.first, pair.second]))
    ]
    return _spoken(inside, mechanism.weight_in * mechanism.lacking, mechanism.weight_out * mechanism.holding)


@log_ratio.register
def _(mechanism: BitCounts, reports: Reports, pair: Pair) -> np.ndarray:
    rows = _rows(mechanism, reports)
    bits = [rows[:, value // 32] >> (value % 32) & 1 for value in (pair.first, pair.second)]
    true, other, total = mechanism.weight_true, mechanism.weight_other, mechanism.total
    return np.log(true * (total - other) / ((total - true) * other)) * (bits[0] - bits[1])


@log_ratio.register
def _(mechanism: WaveMechanism, reports: Reports, pair: Pair) -> np.ndarray:
    ratios = np.zeros(len(reports))
    for level, wave in enumerate(mechanism.waves):
        at = np.flatnonzero(reports.level == level)
        starts = wave.starts(np.array([pair.first, pair.second]))
        inside = [(reports.values[at] - start) % wave.outputs < wave.window for start in starts]
        ratios[at] = _spoken(inside, wave.weight_in, wave.weight_out)
    return ratios


@log_ratio.register
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
