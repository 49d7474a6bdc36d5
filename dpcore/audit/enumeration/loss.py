"""Privacy losses as exact numbers: a rational plus the logarithm of a rational, compared and bracketed without floats.

Exponentials and logarithms are those of `decimal`, which rounds correctly.  They are independent of the arithmetic of `Budget`,
so that an error there cannot hide in the audit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction

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
