"""The values of a scheme's keys, and the format of numbers and names in schemes and messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, get_args, get_origin

from dpcore.errors import SchemeError, check_one_of, exact
from dpcore.mechanisms.declaration import Option
from dpcore.privacy.budget import INFINITE, UNBOUNDED, Budget


def number(value: Fraction) -> str | int:
    """Return a whole number as an int, any other as its exact fraction."""
    return int(value) if value.denominator == 1 else str(value)


def name_of(point: Fraction) -> str:
    """Return the name of a number in tables: 41000, 0.5."""
    return str(int(point)) if point.denominator == 1 else repr(float(point))


def listed(names: tuple[str, ...]) -> str:
    """Return the names, or the first ten and the number of others."""
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return ", ".join(names[:10]) + more


def printable(**named: str) -> None:
    for name, value in named.items():
        if not value.isprintable() or len(value) > 200:
            raise SchemeError(f"{name} must be printable text of at most 200 characters, got {value[:40]!r}")


def read(keys: Iterable[Option], table: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """Return the value of each key, or its default; `where` is the prefix of keys in messages."""
    return {key.name: _read(key, table, where) for key in keys}


def _read(key: Option, table: Mapping[str, Any], where: str) -> Any:
    try:
        if key.name in table:
            return value_of(key, table[key.name])
        if key.is_needed:
            raise SchemeError(f"{key.name} is missing; add {key.words}")
    except SchemeError as error:
        raise type(error)(f"{where}{error}") from None
    return key.default


def value_of(key: Option, value: Any) -> Any:
    """Return a key's value, numbers as exact fractions; raises SchemeError, which names the key, for an invalid value.

    value: from TOML with decimals as texts.
    """
    name = key.name
    if get_origin(key.type) is list:
        if not isinstance(value, list) or len(value) < key.fewest:
            more = f" of at least {key.fewest}" if key.fewest else ""
            raise SchemeError(f"{name} must be a list{more}: {key.words}; got {value!r}")
        kind = get_args(key.type)[0]
        return [value_of(replace(key, type=kind, name=f"{name}[{i}]"), entry) for i, entry in enumerate(value)]
    if key.choices and value not in key.refused:
        check_one_of(key.choices, **{name: value})
    if key.type is int:
        if not isinstance(value, int) or isinstance(value, bool) or not key.least <= value <= key.most:
            raise SchemeError(f"{name} must be a whole number between {key.least:,} and {key.most:,}, got {value!r}")
    elif key.type is str:
        if not isinstance(value, str):
            raise SchemeError(f"{name} must be a text in quotes, got {value!r}")
    elif key.type is Fraction:
        return exact(**{name: value})
    elif key.type is Budget:
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            raise SchemeError(f'{name} must be a number above 0 or "ln 3", got {value!r}')
        return INFINITE if value == UNBOUNDED else Budget.parse(value)
    return value


def check_known(table: Mapping[str, Any], accepted: tuple[str, ...], where: str) -> None:
    """Raise SchemeError if a table has an unknown key."""
    for key in table:
        if key not in accepted:
            raise SchemeError(f"{where} has an unknown key {key!r}; accepted are {', '.join(accepted)}")


def check_client(client: Mapping[str, Any], **needed: int) -> None:
    """Raise SchemeError unless a mechanism's integers are those of the attribute."""
    for key, value in needed.items():
        if client[key] != value:
            raise SchemeError(f"client.{key} must be {value}, as the attribute has it, got {client[key]}")
