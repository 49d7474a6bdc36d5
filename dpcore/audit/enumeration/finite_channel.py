"""The exact largest likelihood ratio of a finite channel, over every output and every pair of inputs.

Weights become probabilities when each row is divided by its own total.  A window that is cut off at an edge gives its row a
smaller total, so a ratio of weights may be within the promise although the ratio of probabilities is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpcore.errors import CalibrationError


@dataclass(frozen=True)
class Worst:
    """The largest likelihood ratio, None if infinite, and the inputs and output that attain it."""

    ratio: Fraction | None
    likely: int  # the input with the highest probability of `output`
    unlikely: int
    output: int


def largest_ratio(weights: np.ndarray, multiplicity: Sequence[int] | None = None) -> Worst:
    """Return the maximum over outputs z and inputs x, x' of Pr(z | x) / Pr(z | x'), Pr(z | x) = weights[x, z] / total of x.

    weights: (inputs, outputs) integers, at least 0, of any size.  multiplicity: number of outputs that each column represents,
    by default 1.

    Raises CalibrationError for invalid weights: negative, not integers, or a row of zeros.

    >>> largest_ratio(np.array([[2, 1, 1], [1, 2, 1]])).ratio
    Fraction(2, 1)
    >>> largest_ratio(np.array([[2, 1, 0], [1, 2, 1]])).ratio is None
    True
    """
    weights = np.asarray(weights)
    if weights.ndim != 2 or weights.dtype.kind not in "iuO" or not weights.size or np.any(weights < 0):
        raise CalibrationError("a channel must be an (inputs, outputs) matrix of integer weights of at least 0")
    totals = _totals(weights, multiplicity)
    if not all(totals):
        raise CalibrationError("every input of a channel must have an output, but a row of weights is all zeros")
    distinct = sorted(set(totals))
    rows = [np.array([total == other for other in totals]) for total in distinct]
    extremes = np.stack([weights[of_total].max(axis=0) for of_total in rows])
    extremes = np.concatenate([extremes, np.stack([weights[of_total].min(axis=0) for of_total in rows])])
    worst: tuple[Fraction | None, int] = (Fraction(0), 0)
    for column, output in _distinct_columns(extremes):
        largest = max(Fraction(w, t) for w, t in zip(column[: len(distinct)], distinct, strict=True))
        smallest = min(Fraction(w, t) for w, t in zip(column[len(distinct) :], distinct, strict=True))
        if largest == 0:
            continue  # no input has this output
        if smallest == 0:
            worst = (None, output)
            break
        if worst[0] is not None and largest / smallest > worst[0]:
            worst = (largest / smallest, output)
    ratio, output = worst
    probabilities = [Fraction(int(w), t) for w, t in zip(weights[:, output], totals, strict=True)]
    inputs = range(len(totals))
    return Worst(ratio, max(inputs, key=probabilities.__getitem__), min(inputs, key=probabilities.__getitem__), output)


def _totals(weights: np.ndarray, multiplicity: Sequence[int] | None) -> list[int]:
    if multiplicity is None and weights.dtype.kind != "O" and int(weights.max()) * weights.shape[1] < 1 << 63:
        return [int(total) for total in weights.sum(axis=1, dtype=np.int64)]
    counts = [1] * weights.shape[1] if multiplicity is None else [int(count) for count in multiplicity]
    return [sum(int(weight) * count for weight, count in zip(row, counts, strict=True)) for row in weights]


def _distinct_columns(table: np.ndarray) -> list[tuple[tuple[int, ...], int]]:
    """Return the distinct columns as integers, each with the position of its first occurrence."""
    if table.dtype.kind == "O":
        seen: dict[tuple[int, ...], int] = {}
        for position, column in enumerate(table.T):
            seen.setdefault(tuple(int(entry) for entry in column), position)
        return list(seen.items())
    columns, first = np.unique(table.T, axis=0, return_index=True)
    return [(tuple(column), position) for column, position in zip(columns.tolist(), first.tolist(), strict=True)]
