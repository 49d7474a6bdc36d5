"""Range checks with one voice: what was expected, what came."""

from __future__ import annotations

import re
from fractions import Fraction
from numbers import Integral

from dpcore.errors import SchemeError

_NUMBER = re.compile(r"[-+]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][-+]?\d{1,2})?|[-+]?\d{1,40}/\d{1,40}")


def fraction(**named: object) -> Fraction:
    """Return the one named value as an exact fraction; a number or the text of one, below 10^140 and not infinite."""
    ((name, value),) = named.items()
    if isinstance(value, Fraction):
        return value
    if not isinstance(value, bool) and _NUMBER.fullmatch(str(value).strip()):
        try:
            return Fraction(str(value).strip())
        except ZeroDivisionError:
            pass
    raise SchemeError(f"{name} must be a number, got {str(value)[:40]!r}")


def positive(**named: float | Fraction) -> None:
    """Refuse any value that is not a finite number above zero."""
    for name, value in named.items():
        if not 0 < value < float("inf"):
            raise SchemeError(f"{name} must be a finite number above 0, got {value}")


def within(low: float, high: float, **named: float | Fraction) -> None:
    """Refuse any value outside the closed interval [low, high]."""
    for name, value in named.items():
        if not low <= value <= high:
            raise SchemeError(f"{name} must lie between {low} and {high}, got {value}")


def whole(low: int, high: int, **named: object) -> None:
    """Refuse any value that is not a whole number in the closed interval [low, high]."""
    for name, value in named.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or not low <= int(value) <= high:
            raise SchemeError(f"{name} must be a whole number between {low} and {high}, got {value}")


def one_of(choices: tuple[str, ...] | list[str], **named: object) -> None:
    """Refuse any value that is not one of the choices."""
    for name, value in named.items():
        if value not in choices:
            accepted = ", ".join(repr(choice) for choice in choices)
            raise SchemeError(f"{name} must be one of {accepted}; got {value!r}")
