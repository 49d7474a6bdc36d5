"""Which of two values a report speaks for: the exact log-likelihood ratio of every mechanism, and the pairs to ask about.

An attacker who knows everything but the value can do no better than this statistic.  It is read off the integers that the
scheme states, so that what a faulty client really draws may be another law: the statistic then is a guess like any other, and
the bound found with it still holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch

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
from dpcore.mechanisms.categorical.unary_encoding import BitCounts
from dpcore.mechanisms.numeric.wave import WaveMechanism
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.mechanisms.reports import Reports, starts_of

_STARTS = 64  # cells x that are tried in a pair (x, x'), evenly spread; every x' is


@dataclass(frozen=True)
class Pair:
    """Two input cells to be told apart, from reports of one level, or of a level that is drawn where it is None."""

    first: int
    second: int
    level: int | None = None

    @property
    def turned(self) -> Pair:
        """The other way round."""
        return Pair(self.second, self.first, self.level)

    @property
    def words(self) -> str:
        """For people: "cells 3 and 17, level 2"."""
        return f"cells {self.first} and {self.second}" + ("" if self.level is None else f", level {self.level}")


@singledispatch
def hard_pairs(mechanism: Mechanism, held: np.ndarray | None = None) -> tuple[Pair, ...]:
    """Return pairs whose reports tell most, the best first; here the one of the largest ratio in a channel that is listed.

    held: input cells that values have, of which a wave's pair is then one; those of other mechanisms are all held.
    """
    worst = [largest_ratio(weights) for weights in _channel(mechanism)]
    level = max(range(len(worst)), key=lambda i: (worst[i].ratio is None, worst[i].ratio or 0))
    return (Pair(worst[level].likely, worst[level].unlikely, level if len(worst) > 1 else None),)


@hard_pairs.register
def _(mechanism: FrequencyOracle, held: np.ndarray | None = None) -> tuple[Pair, ...]:
    """All categories are treated alike."""
    return (Pair(0, mechanism.inputs - 1),)


@hard_pairs.register
def _(mechanism: WaveMechanism, held: np.ndarray | None = None) -> tuple[Pair, ...]:
    """The pair whose windows overlap least at all levels together, weighted by how often a report falls into them.

    Narrow windows are disjoint at every level; at small epsilon they are too wide for that.
    """
    law = np.array(mechanism.level_weights) / sum(mechanism.level_weights)
    others = np.arange(mechanism.inputs) if held is None else held
    firsts = others[np.unique(np.linspace(0, len(others) - 1, _STARTS).astype(np.int64))]
    told = np.zeros((len(firsts), len(others)))
    for share, wave in zip(law, mechanism.waves, strict=True):
        apart = (wave.starts(others)[None, :] - wave.starts(firsts)[:, None]) % wave.outputs
        alone = np.minimum(np.minimum(apart, wave.outputs - apart), min(wave.window, wave.outputs - wave.window))
        told += share * alone * wave.weight_in / wave.total  # the cells of the one window that the other has not
    at, other = np.unravel_index(int(np.argmax(told)), told.shape)
    return (Pair(int(firsts[at]), int(others[other])),)


@hard_pairs.register
def _(mechanism: WaveletLaplace, held: np.ndarray | None = None) -> tuple[Pair, ...]:
    """Of each block the pair that attains its sensitivity, with reports of that block; the one pair where all are sent."""
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

    Here for reports of one integer whose channel is listed; raises CalibrationError for any other.
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
            f"the black-box audit knows no likelihood of {mechanism.name}; add it to dpcore.audit.attacks.likelihood_ratio"
        )
    return channel


def _rows(mechanism: Mechanism, reports: Reports) -> np.ndarray:
    """The integers of reports that are all of one size, (n, size)."""
    return reports.values.reshape(len(reports), -1)


def _spoken(inside: Sequence[np.ndarray], weight_in: int, weight_out: int) -> np.ndarray:
    """The ratio where a report has the larger weight under either value, or not."""
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
def _(mechanism: SubsetSelection, reports: Reports, pair: Pair) -> np.ndarray:
    rows = _rows(mechanism, reports)
    inside = [np.any(rows == value, axis=1) for value in (pair.first, pair.second)]
    return _spoken(inside, mechanism.weight_in, mechanism.weight_out)


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
        told = np.flatnonzero(first != second)  # the other integers have the same law under both values
        sent = reports.values[starts[at][:, None] + told] if size else np.zeros((len(at), 0))
        if mechanism.is_gaussian:
            squares = (sent - second[told]).astype(np.float64) ** 2 - (sent - first[told]).astype(np.float64) ** 2
            ratios[at] = (squares / (2 * scale[told] ** 2)).sum(axis=1)
        else:
            ratios[at] = ((np.abs(sent - second[told]) - np.abs(sent - first[told])) / scale[told]).sum(axis=1)
    return ratios
