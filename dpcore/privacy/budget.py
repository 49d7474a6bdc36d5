"""A Budget is an epsilon, kept exactly: a rational plus the logarithm of a rational.

TOML decimals are read as the fractions they are written as, and "ln 3" stays the ratio 3/1 (1.0986 < ln 3 would be a
false promise).  Code that promises privacy asks for a rational *lower* bound, of e^epsilon for finite channels
(`ratio_floor`) and of epsilon for additive noise (`floor`), so that rounding only ever protects more.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from operator import add

from dpcore.errors import SchemeError, exact

_BITS = 96  # bounds are rounded down to multiples of 2^-96, far below anything that 32-bit weights can show
_GUARDED, _POWERS = 200, 220  # bits behind the point of what the series are summed in
_LARGEST = 64  # epsilon above this promises nothing and overflows 32-bit weights
UNBOUNDED = "infinite"
_LOGARITHM = re.compile(r"^ln\s*\(?\s*(\d{1,40}(?:\.\d{1,40})?)(?:\s*/\s*(\d{1,40}))?\s*\)?$", re.ASCII)


@dataclass(frozen=True)
class Budget:
    """epsilon = `rational` + ln(`ratio`), natural-log units, above 0; budgets of composed releases add.

    is_finite: whether any number bounds it, as of each of our own mechanisms; what has none has no bounds below, either.

    Raises SchemeError when epsilon is not above 0 or exceeds 64, and is finite.

    >>> Budget.parse("ln 3") + Budget.parse("0.5")
    Budget('0.5 + ln 3')
    >>> Budget.parse("ln 3").ratio_floor
    Fraction(3, 1)
    """

    rational: Fraction = Fraction(0)
    ratio: Fraction = Fraction(1)
    is_finite: bool = True

    def __post_init__(self) -> None:
        if not self.is_finite:
            return
        if self.rational < 0 or self.ratio < 1 or (self.rational == 0 and self.ratio == 1) or float(self) > _LARGEST:
            raise SchemeError(f"epsilon must be above 0 and at most {_LARGEST}, got {self.text}")

    @classmethod
    def parse(cls, value: str | int | float | Fraction | Budget) -> Budget:
        """Return the budget written as a number ("0.5", Fraction) or as a logarithm ("ln 3", "ln 3/2")."""
        if isinstance(value, Budget):
            return value
        text = str(value).strip()
        if isinstance(value, str) and " + " in text:
            return reduce(add, map(cls.parse, text.split(" + ")))
        try:
            logarithm = _LOGARITHM.match(text)
            if logarithm:
                return cls(ratio=Fraction(logarithm[1]) / Fraction(logarithm[2] or 1))
            rational = exact(epsilon=value)
        except (SchemeError, ZeroDivisionError):
            raise SchemeError(
                f'epsilon must be a number above 0 or "ln RATIO" such as "ln 3", got {text[:40]!r}'
            ) from None
        return cls(rational=rational)

    def __add__(self, other: Budget) -> Budget:
        if not (self.is_finite and other.is_finite):
            return INFINITE
        return Budget(self.rational + other.rational, self.ratio * other.ratio)

    def covers(self, other: Budget) -> bool:
        """Whether `other` is at most this; exact, but that a difference below 2^-79 of e^epsilon counts as too much."""
        if not (self.is_finite and other.is_finite):
            return not self.is_finite
        excess, room = other.rational - self.rational, self.ratio / other.ratio  # asks: e^excess <= room?
        if excess == 0:
            return room >= 1
        if excess < 0:
            return room >= 1 or 1 / room <= _exp_floor(-excess)
        return room > 1 and _exp_floor(excess) * (1 + Fraction(1, 2**79)) <= room

    def __float__(self) -> float:
        if not self.is_finite:
            return math.inf
        return float(self.rational) + math.log(self.ratio)

    def __repr__(self) -> str:
        return f"Budget({self.text!r})"

    @property
    def text(self) -> str:
        """The budget as a person writes it, exact: "0.5", "1/3", "ln 3", "2 + ln 3"; "infinite"."""
        if not self.is_finite:
            return UNBOUNDED
        logarithm = f"ln {self.ratio}" if self.ratio != 1 else ""
        if self.rational == 0 and logarithm:
            return logarithm
        rational = _decimal(self.rational)
        return f"{rational} + {logarithm}" if logarithm else rational

    @cached_property
    def ratio_floor(self) -> Fraction:
        """A rational at most e^epsilon, within a relative 2^-80; exact for "ln RATIO"."""
        self._check_finite()
        return self.ratio if self.rational == 0 else _round_down(self.ratio * _exp_floor(self.rational))

    @cached_property
    def floor(self) -> Fraction:
        """A rational at most epsilon, within 2^-80; exact for a rational epsilon."""
        self._check_finite()
        return self.rational if self.ratio == 1 else _round_down(self.rational + _log_floor(self.ratio))

    def _check_finite(self) -> None:
        if not self.is_finite:
            raise SchemeError(f"epsilon must be a number here, got {UNBOUNDED}, which only a stated channel can have")


INFINITE = Budget(is_finite=False)  # of a channel that keeps nothing: an answer that one value gives and another never


def _decimal(value: Fraction) -> str:
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1:
        return str(value)
    digits = 0
    while (value * 10**digits).denominator != 1:
        digits += 1
    whole = str(abs(value * 10**digits)).rjust(digits + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (whole if digits == 0 else f"{whole[:-digits]}.{whole[-digits:]}")


def _round_down(value: Fraction) -> Fraction:
    return Fraction(math.floor(value * 2**_BITS), 2**_BITS)


def _exp_floor(x: Fraction) -> Fraction:
    """A lower bound of e^x, x >= 0: a Taylor sum cut off (all terms are positive) for x/2^k, squared k times.

    Integers in units of 2^-200: each step rounds down, as floors of fractions would, and needs no greatest divisor.
    """
    halvings = max(0, math.ceil(x)).bit_length()
    top, bottom = x.numerator, x.denominator << halvings
    term = total = 1 << _GUARDED
    for order in range(1, 40):  # x/2^k <= 1: the remainder is below 1/40! < 2^-159
        term = term * top // (bottom * order)
        total += term
    for _ in range(halvings):
        total = (total * total) >> _GUARDED
    return Fraction(total, 1 << _GUARDED)


def _log_floor(ratio: Fraction) -> Fraction:
    """A lower bound of ln(ratio), ratio > 1: ln r = 2 artanh((r-1)/(r+1)), a series of positive terms, cut off."""
    doublings = 0
    while ratio >= 2:
        ratio, doublings = ratio / 2, doublings + 1
    return doublings * _two_artanh_floor(Fraction(1, 3)) + _two_artanh_floor((ratio - 1) / (ratio + 1))


def _two_artanh_floor(z: Fraction) -> Fraction:
    """Integers as above, the powers of z in units of 2^-220."""
    top, bottom = z.numerator, z.denominator
    power, total = (top**3 << _POWERS) // bottom**3, (top << _GUARDED) // bottom
    for order in range(3, 121, 2):  # z <= 1/3: the remainder is below 3^-121 < 2^-190
        total += power // (order << (_POWERS - _GUARDED))
        power = power * top * top // (bottom * bottom)
    return Fraction(2 * total, 1 << _GUARDED)
