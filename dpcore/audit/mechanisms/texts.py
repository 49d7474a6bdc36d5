"""Text hashing in the audit: local hashing of buckets, which the audit computes from the texts by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpcore.audit.mechanisms import base
from dpcore.audit.mechanisms.base import Class, Pair, Ranks
from dpcore.audit.mechanisms.frequency_oracles import level_of_pairs
from dpcore.mechanisms.categorical.text_hashing import ROWS, TextHashing
from dpcore.mechanisms.reports import Reports
from dpcore.privacy.shuffling.channel import Level

_PRIME = (1 << 31) - 1  # of the hash functions of texts


@base.report_classes.register
def _(mechanism: TextHashing) -> tuple[list[Class], str]:
    classes, how = base.report_classes(mechanism.oracle)
    return classes, how.replace("categories", "buckets of a row")


@base.levels.register
def _(mechanism: TextHashing) -> tuple[Level, ...]:
    """Bounds alone: the row is uniform, and two texts have two buckets in it at most."""
    return (level_of_pairs(mechanism.prime, mechanism.bins, mechanism.weight_in, mechanism.weight_out),)


@base.hard_pairs.register
def _(mechanism: TextHashing, held: np.ndarray | None = None) -> tuple[Pair, ...]:
    """Any two texts, which have different buckets in nearly every row, or buckets."""
    first, *_, last = range(mechanism.inputs) if held is None else held
    return (Pair(first, last),)


@base.log_ratio.register
def _(mechanism: TextHashing, reports: Reports, pair: Pair) -> np.ndarray:
    stated, slope, shift, v = mechanism.parameters(), *base.report_rows(mechanism, reports).T
    buckets = (buckets_of(stated, np.array([cell]), np.arange(ROWS)) for cell in (pair.first, pair.second))
    inside = [mechanism.oracle.hash(slope, shift, own[reports.level]) == v for own in buckets]
    return base.signed_ratio(inside, mechanism.weight_in, mechanism.weight_out)


@base.report_ranks.register
def _(mechanism: TextHashing, values: np.ndarray, reports: Reports, generator: np.random.Generator) -> Ranks:
    buckets = buckets_of(mechanism.parameters(), values, reports.level.astype(np.int64))
    return base.report_ranks(mechanism.oracle, buckets, reports, generator)


def buckets_of(stated: Mapping[str, Any], cells: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the buckets in these rows, (n,), of texts, (n,) or (1,), from the integers of a scheme; integers are buckets."""
    if cells.dtype.kind != "S":
        return np.broadcast_to(cells, rows.shape)
    texts = cells.astype(f"S{stated['length']}").view(np.uint8).reshape(len(cells), -1).astype(np.int64)
    texts = np.broadcast_to(texts, (len(rows), texts.shape[1]))
    values = np.zeros(len(rows), dtype=np.int64)
    for row in np.unique(rows).tolist():
        length, number = stated["lengths"][row], stated["bases"][row]
        powers = np.array([pow(number, length - place, _PRIME) for place in range(length)])
        values[rows == row] = ((texts[rows == row, :length] + 1) * powers % _PRIME).sum(axis=1) % _PRIME
    return values * stated["buckets"] // _PRIME
