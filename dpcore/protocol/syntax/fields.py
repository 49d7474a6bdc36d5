"""The format of numbers and names in schemes and messages."""

from __future__ import annotations

from fractions import Fraction

from dpcore.errors import SchemeError


def number(value: Fraction) -> str | int:
    """Return a whole number as an int, any other as its exact fraction."""
    return int(value) if value.denominator == 1 else str(value)


def listed(names: tuple[str, ...]) -> str:
    """Return the names, or the first ten and the number of others."""
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return ", ".join(names[:10]) + more


def printable(**named: str) -> None:
    for name, value in named.items():
        if not value.isprintable() or len(value) > 200:
            raise SchemeError(f"{name} must be printable text of at most 200 characters, got {value[:40]!r}")
