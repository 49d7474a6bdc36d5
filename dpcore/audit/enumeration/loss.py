"""Privacy losses as exact numbers, and the largest likelihood ratio of a listed channel.

A loss is a rational plus the logarithm of a rational, compared and bracketed without floats.

Exponentials and logarithms are those of `decimal`, which rounds correctly.  They are independent of the arithmetic of `Budget`,
so that an error there cannot hide in the audit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction

import numpy as np

from dpcore.errors import CalibrationError
from dpcore.privacy.budget import Budget

_DIGITS = 50  # digits of a bracket; a comparison doubles them until it is decided


@dataclass(frozen=True)
class Loss:
    """rational + ln(ratio), natural-log units; `ratio` is None for an unbounded loss.

    >>> Loss(ratio=Fraction(3)).is_within(Loss.from_budget(Budget.parse("ln 3")))
    True
    >>> Loss(ratio=Fraction(3)).is_within(Loss.from_budget(Budget.parse("1.0986")))
    False
    """

    rational: Fraction = Fraction(0)
    ratio: Fraction | None = Fraction(1)

    @classmethod
    def from_budget(cls, budget: Budget) -> Loss:
        """Return the loss that a budget allows."""
        return cls(budget.rational, budget.ratio if budget.is_finite else None)

    def __add__(self, other: Loss) -> Loss:
        ratio = None if self.ratio is None or other.ratio is None else self.ratio * other.ratio
        return Loss(self.rational + other.rational, ratio)

    def __float__(self) -> float:
        """Return the nearest float, infinity for an unbounded loss."""
        if self.ratio is None:
            return math.inf
        low, high = _bracket(self.rational, self.ratio)
        return float((low + high) / 2)

    @property
    def bracket(self) -> tuple[float, float]:
        """Floats (low, high) with low <= loss <= high, equal or adjacent; both infinite for an unbounded loss."""
        if self.ratio is None:
            return math.inf, math.inf
        low, high = _bracket(self.rational, self.ratio)
        return _float_below(low), -_float_below(-high)

    @property
    def text(self) -> str:
        """The exact loss as text: "ln(178145/65536)", "327679/327680"."""
        if self.ratio is None:
            return "unbounded"
        logarithm = f"ln({self.ratio})" if self.ratio != 1 else ""
        return " + ".join(part for part in (str(self.rational) if self.rational else "", logarithm) if part) or "0"

    def is_within(self, other: Loss) -> bool:
        """Return whether this loss is at most the other, exactly."""
        if other.ratio is None or self.ratio is None:
            return other.ratio is None
        return _is_at_most_exp(self.ratio / other.ratio, other.rational - self.rational)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of enumeration: the exact loss, how all cases were covered, and a case that attains the loss.

    sensitivity: for additive noise the largest l1 distance of two rows of each table, lattice units.
    doubts: other reasons not to sign, each a sentence.
    """

    loss: Loss
    how: str
    worst: str
    sensitivity: tuple[int, ...] = ()
    doubts: tuple[str, ...] = ()


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

    Weights become probabilities when each row is divided by its own total.  A window that is cut off at an edge gives its row a
    smaller total, so a ratio of weights may be within the promise although the ratio of probabilities is not.

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


def _bracket(rational: Fraction, ratio: Fraction) -> tuple[Fraction, Fraction]:
    low, high = (Fraction(0), Fraction(0)) if ratio == 1 else _ln(ratio, _DIGITS)
    return rational + low, rational + high


def _is_at_most_exp(ratio: Fraction, exponent: Fraction) -> bool:
    """Return whether ratio <= e^exponent; for a nonzero exponent the right side is irrational, so enough digits decide."""
    if exponent == 0:
        return ratio <= 1
    digits = _DIGITS
    while True:
        low, high = _exp(exponent, digits)
        if ratio <= low:
            return True
        if ratio >= high:
            return False
        digits *= 2


def _exp(x: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    low, high = _decimals(x, digits)
    with localcontext(prec=digits):
        return Fraction(low.exp().next_minus()), Fraction(high.exp().next_plus())


def _ln(x: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    low, high = _decimals(x, digits)
    with localcontext(prec=digits):
        return Fraction(low.ln().next_minus()), Fraction(high.ln().next_plus())


def _decimals(x: Fraction, digits: int) -> tuple[Decimal, Decimal]:
    """Return decimals below and above x."""
    with localcontext(prec=digits, rounding=ROUND_FLOOR):
        low = Decimal(x.numerator) / Decimal(x.denominator)
    with localcontext(prec=digits, rounding=ROUND_CEILING):
        return low, Decimal(x.numerator) / Decimal(x.denominator)


def _float_below(x: Fraction) -> float:
    nearest = float(x)
    return nearest if Fraction(nearest) <= x else math.nextafter(nearest, -math.inf)
