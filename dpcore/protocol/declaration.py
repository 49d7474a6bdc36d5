"""What a person may leave to ldpflow: the mechanism of an attribute, designed as its options say, or chosen.

A canonical text holds mechanisms as integers, and a client that reads one does not load this.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpcore.errors import SchemeError
from dpcore.mechanisms import Mechanism
from dpcore.mechanisms.choose import choose
from dpcore.mechanisms.declared import Option
from dpcore.mechanisms.named import BY_TYPE
from dpcore.privacy.budget import Budget
from dpcore.protocol._fields import fraction, integer


def design(name: str, table: Mapping[str, Any], budget: Budget, told: Mapping[str, int]) -> Mechanism:
    """Return a mechanism of a name as the options in an attribute's table say, or chosen where nothing has that name.

    told: 'categories', how many there are, of a categorical attribute; 'clients', how many are planned for, of a numeric one.
    """
    kind = BY_TYPE[table["type"]].get(name)
    if kind is None:
        return choose(budget, categories=told["categories"])
    options = {
        option.name: _read(option, table[option.name]) for option in kind.declared.options if option.name in table
    }
    mechanism: Mechanism = kind.design(budget, **{key: told[key] for key in kind.declared.told}, **options)
    return mechanism


def _read(option: Option, value: Any) -> Any:
    """The value of an option as its type says; which texts there are, the design checks."""
    key, least, most = option.name, option.least, option.most
    if option.type in (list[int], list[Fraction]):
        if not isinstance(value, list) or not value:
            raise SchemeError(f"{key} must be a list of numbers, one for each level, got {value!r}")
        is_whole = option.type == list[int]
        return [integer({key: each}, key, least, most) if is_whole else fraction({key: each}, key) for each in value]
    if option.type is int:
        return integer({key: value}, key, least, most)
    return fraction({key: value}, key) if option.type is Fraction else value
