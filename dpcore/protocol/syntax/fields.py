"""How a scheme and its messages write numbers and names."""

from __future__ import annotations

from fractions import Fraction

from dpcore.errors import SchemeError


def number(value: Fraction) -> str | int:
    """A whole number as one, any other as the exact text that is read back."""
    return int(value) if value.denominator == 1 else str(value)


def listed(names: tuple[str, ...]) -> str:
    """The names, or the first ten and how many more there are."""
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return ", ".join(names[:10]) + more


def printable(**named: str) -> None:
    for name, value in named.items():
        if not value.isprintable() or len(value) > 200:
            raise SchemeError(f"{name} must be printable text of at most 200 characters, got {value[:40]!r}")
