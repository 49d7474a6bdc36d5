"""The joint loss of the two reports of a pair of attributes, by enumerating the product of both channels where possible.

A pair needs no further report, so it adds no loss.  Given a record, the two reports are drawn independently (`faithfulness`
tests this on reports).  Their joint probability is therefore a product, and its largest ratio over two records is the product
of both largest ratios.  If the product channel can be listed, this is verified entry by entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from dpcore.audit.enumeration.finite_channel import largest_ratio
from dpcore.audit.enumeration.loss import Loss
from dpcore.audit.findings import PairAudit
from dpcore.mechanisms import Mechanism

_LISTED = 1 << 22  # most entries of a product channel that are listed, over all levels
_LARGE = 1 << 18  # the same if weights exceed 64 bits


def audit_pair(names: tuple[str, str], mechanisms: tuple[Mechanism, Mechanism], spent: tuple[Loss, Loss]) -> PairAudit:
    """Return the joint loss of two reports; spent: the exact loss of each report."""
    both, listed = spent[0] + spent[1], _product(*mechanisms)
    if not listed:
        how = "the sum of both exact losses, because the two reports are drawn independently"
        return PairAudit(names=names, spent=both, loss=both, how=how)
    ratios = [largest_ratio(weights).ratio for weights in listed]
    largest = None if None in ratios else max(ratio for ratio in ratios if ratio is not None)
    inputs, outputs = len(listed[0]), sum(weights.shape[1] for weights in listed)
    how = f"all {inputs:,} x {outputs:,} weights of the product of both channels, each row divided by its total"
    return PairAudit(names=names, spent=both, loss=Loss(Fraction(0), largest), how=how)


def _product(first: Mechanism, second: Mechanism) -> list[np.ndarray]:
    """Return the weights of the product channel, one matrix for each pair of levels; empty if they are too many to list."""
    ours, theirs = (_distinct(mechanism.channel() or ()) for mechanism in (first, second))
    is_large = max((int(left.max()) * int(right.max()) for left, right in product(ours, theirs)), default=0) >= 1 << 62
    if sum(left.size * right.size for left, right in product(ours, theirs)) > (_LARGE if is_large else _LISTED):
        return []
    kind = object if is_large else np.int64
    return [np.kron(left.astype(kind), right.astype(kind)) for left, right in product(ours, theirs)]


def _distinct(channel: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return a channel without duplicate rows: values that are indistinguishable at every level appear once."""
    if not channel or any(weights.dtype.kind == "O" for weights in channel):
        return list(channel)
    _, first = np.unique(np.concatenate(channel, axis=1), axis=0, return_index=True)
    return [weights[first] for weights in channel]
