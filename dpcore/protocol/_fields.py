"""Fields of a scheme's TOML, read with one voice: a message names the field, the value and what would be accepted."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpcore.errors import SchemeError, exact


def known(table: Mapping[str, Any], accepted: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in accepted:
            raise SchemeError(f"{where} has an unknown key {key!r}; accepted are {', '.join(accepted)}")


def text(table: Mapping[str, Any], key: str, where: str) -> str:
    if not isinstance(table.get(key), str):
        raise SchemeError(f"{where} needs {key}, a text; got {table.get(key)!r}")
    return str(table[key])


def integer(table: Mapping[str, Any], key: str, low: int, high: int) -> int:
    value = table[key]
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise SchemeError(f"{key} must be a whole number between {low} and {high}, got {value!r}")
    return value


def fraction(table: Mapping[str, Any], key: str) -> Fraction:
    if key not in table:
        raise SchemeError(f"{key} is missing; give a number")
    return exact(**{key: table[key]})


def number(value: Fraction) -> str | int:
    """A whole number as one, any other as the exact text that `fraction` reads back."""
    return int(value) if value.denominator == 1 else str(value)


def listed(names: tuple[str, ...]) -> str:
    """The names, or the first ten and how many more there are."""
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return ", ".join(names[:10]) + more


def printable(**named: str) -> None:
    for name, value in named.items():
        if not value.isprintable() or len(value) > 200:
            raise SchemeError(f"{name} must be printable text of at most 200 characters, got {value[:40]!r}")
