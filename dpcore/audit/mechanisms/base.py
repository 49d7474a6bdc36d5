"""What an audit needs of each mechanism: open functions with defaults for listed channels, and their common parts.

The log-likelihood ratio is optimal for an attacker who knows everything but the value.  If a faulty client draws from another
distribution, the bound is still valid.

The randomized rank of a report among all reports of its client is uniform for a correct client.  The reports are put in an
order that begins at the true value.  The probability of the reports before the observed one, plus a uniform fraction of its own
probability, is uniform on [0, 1) for every value [Rosenblatt1952].  A mechanism contributes only its integers, `parameters()`,
and its coefficient tables, whose digest is in the scheme.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np

from dpcore.audit.enumeration.loss import Finding, Loss, Worst, largest_ratio
from dpcore.errors import CalibrationError
from dpcore.mechanisms import Mechanism
from dpcore.mechanisms.reports import Reports, starts_of
from dpcore.privacy.shuffling.channel import Level, level_of

LEVEL_TOTAL = 1 << 16  # sum of the weights of a level distribution
LEVEL = "the level"
_LISTED = 1 << 20  # most rows of integers among which the reports of a level are looked for

Class = tuple[str, int, int, int]  # class of reports: its name, size, and the weight of one report under x and under x'
Ranks = Mapping[str, np.ndarray]  # name of the tested part -> its ranks, (n,), each in [0, 1]


@singledispatch
def enumerated_loss(mechanism: Mechanism) -> Finding:
    """Return the larger exact loss of the stated integers and of the channel that the mechanism's code lists, if any."""
    channel, stated = mechanism.channel(), loss_of_integers(mechanism)
    if stated is None or channel is None:
        return loss_by_classes(*report_classes(mechanism)) if channel is None else listed_loss(channel)
    listed = listed_loss(channel)
    if stated.loss.is_within(listed.loss):
        return listed
    return replace(
        stated, doubts=("the channel listed by the clients' code differs from that of the scheme's integers",)
    )


@singledispatch
def loss_of_integers(mechanism: Mechanism) -> Finding | None:
    """Return the exact loss of the integers, from classes of reports or weights of waves; None for other mechanisms."""
    has_classes = report_classes.dispatch(type(mechanism)) is not report_classes.dispatch(object)
    return loss_by_classes(*report_classes(mechanism)) if has_classes else None


def listed_loss(channel: Sequence[np.ndarray]) -> Finding:
    """Return the loss of a listed channel, (inputs, outputs) weights per level."""
    level, at = _worst_level(channel)
    shapes = " + ".join(f"{weights.shape[0]:,} x {weights.shape[1]:,}" for weights in channel)
    named = f"level {level}, " if len(channel) > 1 else ""
    return Finding(
        loss=Loss(ratio=at.ratio),
        how=f"all {shapes} weights of the channel, each row divided by its total",
        worst=f"{named}output {at.output}, input cells {at.likely} and {at.unlikely}",
    )


def _worst_level(channel: Sequence[np.ndarray]) -> tuple[int, Worst]:
    """Return the level with the largest ratio, and that ratio."""
    worst = [largest_ratio(weights) for weights in channel]
    return max(enumerate(worst), key=lambda entry: (entry[1].ratio is None, entry[1].ratio or 0))


def loss_by_classes(classes: Sequence[Class], how: str) -> Finding:
    """Return the loss between two values x and x'."""
    there = [entry for entry in classes if entry[1]]
    weights = np.array([[entry[side] for entry in there] for side in (2, 3)], dtype=object)
    at = largest_ratio(weights, [entry[1] for entry in there])
    return Finding(loss=Loss(ratio=at.ratio), how=how, worst=there[at.output][0])


@singledispatch
def report_classes(mechanism: Mechanism) -> tuple[list[Class], str]:
    """Return the classes of reports for any two categories x and x', and a description of the enumeration."""
    raise CalibrationError(
        f"{mechanism.name}: neither a channel that can be listed nor an enumeration exists; register one in {__package__}"
    )


@singledispatch
def levels(mechanism: Mechanism) -> tuple[Level, ...]:
    """Return the bounds of a mechanism's public levels; for unregistered mechanisms, from the channel that they list."""
    channel = mechanism.channel()
    if channel is None:
        return (Level(ratio=math.exp(enumerated_loss(mechanism).loss.bracket[1]) * (1 + 1e-14)),)
    shares = _level_weights(mechanism)
    return tuple(level_of(weights, share / sum(shares)) for weights, share in zip(channel, shares, strict=True))


def _level_weights(mechanism: Mechanism) -> Sequence[int]:
    """Return weights of the levels, equal ones if the scheme states none."""
    return mechanism.parameters().get("level_law") or [1] * len(mechanism.sizes)


@dataclass(frozen=True)
class Pair:
    """Two input cells to distinguish, integers or texts, from reports of one level, or of a random level if it is None."""

    first: Any
    second: Any
    level: int | None = None


@singledispatch
def hard_pairs(mechanism: Mechanism, held: np.ndarray | None = None) -> tuple[Pair, ...]:
    """Return the pairs of values that reports distinguish best, the best first; here the largest ratio of a listed channel.

    held: input cells that have values; pairs of waves are chosen among them.  Other mechanisms use all cells.
    """
    level, worst = _worst_level(_channel(mechanism))
    return (Pair(worst.likely, worst.unlikely, level if len(mechanism.sizes) > 1 else None),)


@singledispatch
def log_ratio(mechanism: Mechanism, reports: Reports, pair: Pair) -> np.ndarray:
    """Return log Pr(report | first) - log Pr(report | second) for each report, shape (n,), natural-log units.

    This default needs a listed channel, and raises CalibrationError without one.
    """
    ratios = np.zeros(len(reports))
    for level, weights in enumerate(_channel(mechanism)):
        at, sent = _columns(mechanism, reports, level, weights.shape[1])
        first, second = (weights[value][sent] / weights[value].sum() for value in (pair.first, pair.second))
        ratios[at] = np.log(first.astype(np.float64)) - np.log(second.astype(np.float64))
    return ratios


def _columns(mechanism: Mechanism, reports: Reports, level: int, outputs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the reports of a level, (m,), and their columns in its channel, which lists reports in lexicographic order."""
    at, (lowest, highest) = np.flatnonzero(reports.level == level), mechanism.ranges(level)
    shape = tuple((highest - lowest + 1).tolist())
    count = math.prod(shape)
    is_report = np.ones(min(count, outputs), dtype=bool)
    if outputs < count <= _LISTED:
        rows = np.indices(shape).reshape(len(shape), -1).T + lowest
        is_report = mechanism.accepts(Reports(np.full(count, level, dtype=np.uint8), rows.ravel()))
    column = np.cumsum(is_report) - 1
    if len(column) != count or column[-1] + 1 != outputs:
        raise CalibrationError(
            f"{mechanism.name}: its channel does not list the reports of level {level} in order; register it in {__package__}"
        )
    first = starts_of(reports.level, mechanism.sizes)[at]
    sent = reports.values[first[:, None] + np.arange(len(shape))] - lowest
    return at, column[np.ravel_multi_index(tuple(sent.T), shape)]


def _channel(mechanism: Mechanism, lacking: str = "likelihood for this mechanism") -> Sequence[np.ndarray]:
    channel = mechanism.channel()
    if channel is None:
        raise CalibrationError(f"{mechanism.name}: the audit has no {lacking}; register one in {__package__}")
    return channel


def report_rows(mechanism: Mechanism, reports: Reports) -> np.ndarray:
    """Return the integers of reports of equal size, (n, size)."""
    return reports.values.reshape(len(reports), -1)


def signed_ratio(inside: Sequence[np.ndarray], weight_in: int, weight_out: int) -> np.ndarray:
    """Return the log ratio, given whether a report has the larger weight under each of the two values."""
    return np.log(weight_in / weight_out) * (inside[0].astype(np.int8) - inside[1].astype(np.int8))


def ranks(mechanism: Mechanism, values: np.ndarray, reports: Reports, generator: np.random.Generator) -> Ranks:
    """Return the ranks of n reports of these input cells, (n,) each.  generator: draws the uniform fractions.

    Raises CalibrationError for a mechanism without a listed channel and without a registered order.
    """
    ranks_by_part = dict(report_ranks(mechanism, values, reports, generator))
    if len(mechanism.sizes) > 1:
        weights = np.array([_level_weights(mechanism)])
        ranks_by_part[LEVEL] = weighted_ranks(weights, reports.level.astype(np.int64), generator)
    return ranks_by_part


@singledispatch
def report_ranks(mechanism: Mechanism, values: np.ndarray, reports: Reports, generator: np.random.Generator) -> Ranks:
    """Rank reports of a listed channel in the order of its columns."""
    rank = np.empty(len(reports))
    for level, weights in enumerate(_channel(mechanism, "order of this mechanism's reports")):
        at, sent = _columns(mechanism, reports, level, weights.shape[1])
        rows = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float64)
        below = np.cumsum(rows, axis=1) - rows
        rank[at] = below[values[at], sent] + generator.random(len(at)) * rows[values[at], sent]
    return {"the report": rank}


def weighted_ranks(weights: np.ndarray, at: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return ranks of outcomes `at` (n,) under weights (1, outcomes); 0 for impossible outcomes."""
    row = np.asarray(weights, dtype=np.float64)[0]
    below = np.concatenate([[0.0], np.cumsum(row)]) / row.sum()
    at = np.asarray(at, dtype=np.int64)
    is_possible = (at >= 0) & (at < len(row))
    at = np.where(is_possible, at, 0)
    return np.where(is_possible, below[at] + generator.random(len(at)) * row[at] / row.sum(), 0.0)


def uniform_ranks(at: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
    """Return ranks of outcomes `at` (n,) of `count` equally likely ones."""
    return np.clip((at + generator.random(len(at))) / count, 0, np.nextafter(1, 0))


def binary_ranks(is_first: np.ndarray, weight: int, other: int, generator: np.random.Generator) -> np.ndarray:
    """Return ranks of two outcomes with these weights."""
    return weighted_ranks(np.array([[weight, other]]), np.where(is_first, 0, 1), generator)
