"""Channels symmetric in the categories: every output has one of two weights, and supports the categories of the larger one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpcore.mechanisms.observation_model import ScoreSums


@dataclass(frozen=True, eq=False)
class Supports:
    """table: (k, outputs) 0 or 1, whether an output supports a category.  model: the distribution of the sums of supports."""

    table: np.ndarray
    model: ScoreSums


def supports_of(weights: np.ndarray) -> Supports | None:
    """Return the supports of a channel (k, outputs) in which all categories have as many, and all pairs share as many.

    None of any other.  What three categories share is their average, as in `LocalHashing.model`.

    >>> supports_of(np.array([[3, 1, 1], [1, 3, 1], [1, 1, 3]])).model.contrast
    Fraction(2, 5)
    """
    k, outputs = weights.shape
    low, high = int(weights.min()), int(weights.max())
    table = (weights == high).astype(np.int64)
    if low == high or np.any(weights[table == 0] != low):
        return None
    shared = table @ table.T
    apart = shared[~np.eye(k, dtype=bool)]
    if np.ptp(np.diagonal(shared)) or np.ptp(apart):
        return None
    own, both = int(shared[0, 0]), int(apart[0])
    supported = table.sum(axis=0)
    triples = int((supported * (supported - 1) * (supported - 2)).sum())
    three = Fraction(triples, k * (k - 1) * (k - 2)) if k > 2 else Fraction(0)
    total = own * high + (outputs - own) * low
    p, q = Fraction(own * high, total), Fraction(both * high + (own - both) * low, total)
    return Supports(
        table, ScoreSums(k, p, q, p, q, Fraction(both * high, total), (both * low + three * (high - low)) / total)
    )
