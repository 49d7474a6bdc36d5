"""Rows of weights in a scheme: whether they are a channel, and its exact privacy loss."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf, lcm

import numpy as np

from dpcore._random import LARGEST
from dpcore.errors import SchemeError
from dpcore.privacy.budget import INFINITE, Budget

MIXED = Fraction(1, 100)  # of answers, drawn uniformly: the nearest design that is named where a channel keeps nothing
_MOST = 1 << 20  # weights

Rows = Sequence[Sequence[int]]


def budget_of_ratio(ratio: Fraction | float) -> Budget:
    """Return the epsilon of a largest ratio; raises SchemeError if reports are uninformative."""
    if ratio == 1:
        raise SchemeError(
            "reports have the same distribution for every value, so they are uninformative; make it differ for two values"
        )
    return INFINITE if isinstance(ratio, float) else Budget(ratio=ratio)


def largest(table: np.ndarray, mixed: Fraction = Fraction(0)) -> Fraction | float:
    """Return the largest ratio of two probabilities of one output, infinite if one of them is 0.

    table: (inputs, outputs) Python integers.  mixed: the share of reports drawn uniformly from the outputs instead.
    """
    totals = table.sum(axis=1)
    total = lcm(*totals)
    scaled = table * np.array([total // row_total for row_total in totals], dtype=object)[:, None]
    lift = mixed / (1 - mixed) * total / table.shape[1]
    extremes = set(zip(scaled.max(axis=0), scaled.min(axis=0), strict=True))
    return max((most + lift) / (least + lift) if least + lift else inf for most, least in extremes)


def check_rows(rows: Rows, names: Sequence[str]) -> None:
    """Raise SchemeError unless these are the weights of a channel, and the names of its outputs."""
    sizes = {len(row) for row in rows}
    many = max(sizes)
    if len(sizes) != 1 or len(rows) < 2 or many < 2 or len(rows) * many > _MOST:
        raise SchemeError(
            "channel must have a row of weights for each value, all of one length, two or more of either and at most "
            f"{_MOST:,} weights; got {len(rows)} rows of {', '.join(map(str, sorted(sizes)))}"
        )
    for place, row in enumerate(rows):
        if min(row) < 0 or not 1 <= sum(row) <= LARGEST:
            raise SchemeError(
                f"channel[{place}] must be weights of at least 0 whose total is 1 to 2^62, got {sum(row)}"
            )
    unsaid = [place for place, column in enumerate(zip(*rows, strict=True)) if not any(column)]
    if unsaid:
        raise SchemeError(f"output {unsaid[0]} of the channel has weight 0 for every value; leave it out")
    if names and (len(names) != many or len(set(names)) != many or "" in names):
        raise SchemeError(f"names must be {many}, one for each output, and differ; got {len(names)}")
