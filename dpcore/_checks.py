"""Range checks with one voice: what was expected, what came."""

from __future__ import annotations

from fractions import Fraction

from dpcore.errors import SchemeError


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


def one_of(choices: tuple[str, ...] | list[str], **named: object) -> None:
    """Refuse any value that is not one of the choices."""
    for name, value in named.items():
        if value not in choices:
            accepted = ", ".join(repr(choice) for choice in choices)
            raise SchemeError(f"{name} must be one of {accepted}; got {value!r}")
