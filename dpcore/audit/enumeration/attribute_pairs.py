"""What the two reports of a pair lose together: the product of two channels, enumerated where it can be listed.

A pair spends nothing of its own: its joint counts are made of reports that are sent anyway.  Given a record the two reports are
drawn independently of one another (`faithfulness` looks at reports for that), so that the probability of both is a product, and
its largest ratio over any two records the product of both largest ratios.  Where every two reports under every two values can
be listed, that is checked, entry by entry.
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

_LISTED = 1 << 22  # entries of a product's channels, all levels together
_LARGE = 1 << 18  # of them where weights are beyond 64 bits


def audit_pair(names: tuple[str, str], mechanisms: tuple[Mechanism, Mechanism], spent: tuple[Loss, Loss]) -> PairAudit:
    """Return what two reports lose together; spent: the exact loss of each of them alone."""
    both, listed = spent[0] + spent[1], _product(*mechanisms)
    if not listed:
        how = "the sum of both exact losses, as the two reports are drawn independently of one another"
        return PairAudit(names=names, spent=both, kept=both, how=how)
    ratios = [largest_ratio(weights).ratio for weights in listed]
    largest = None if None in ratios else max(ratio for ratio in ratios if ratio is not None)
    inputs, outputs = len(listed[0]), sum(weights.shape[1] for weights in listed)
    how = f"all {inputs:,} x {outputs:,} weights of the product of both channels, each row over its own total"
    return PairAudit(names=names, spent=both, kept=Loss(Fraction(0), largest), how=how)


def _product(first: Mechanism, second: Mechanism) -> list[np.ndarray]:
    """The weights of both reports under both values, a matrix for each two levels; none where they are too many to list."""
    ours, theirs = (_distinct(mechanism.channel() or ()) for mechanism in (first, second))
    is_large = max((int(left.max()) * int(right.max()) for left, right in product(ours, theirs)), default=0) >= 1 << 62
    if sum(left.size * right.size for left, right in product(ours, theirs)) > (_LARGE if is_large else _LISTED):
        return []
    kind = object if is_large else np.int64
    return [np.kron(left.astype(kind), right.astype(kind)) for left, right in product(ours, theirs)]


def _distinct(channel: Sequence[np.ndarray]) -> list[np.ndarray]:
    """A channel whose values that no report tells apart, at no level, stand once."""
    if not channel or any(weights.dtype.kind == "O" for weights in channel):
        return list(channel)
    _, first = np.unique(np.concatenate(channel, axis=1), axis=0, return_index=True)
    return [weights[first] for weights in channel]
