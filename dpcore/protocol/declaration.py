"""What a person may leave to ldpflow: the mechanism of an attribute, designed as its options say, or chosen.

A canonical text holds mechanisms as integers, and a client that reads one does not load this.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcore.errors import SchemeError
from dpcore.mechanisms import Mechanism
from dpcore.mechanisms.choose import choose
from dpcore.mechanisms.named import CATEGORICAL, NUMERIC, OPTIONS
from dpcore.mechanisms.wavelet_laplace import WaveletLaplace
from dpcore.privacy.budget import Budget
from dpcore.protocol._fields import fraction, integer


def design_numeric(name: str, table: Mapping[str, Any], budget: Budget, clients: int) -> Mechanism:
    """Return a mechanism for numbers as the options in an attribute's table say; clients: how many are planned for."""
    options = {key: _option(table, key) for key in OPTIONS[name] if key in table}
    if name == WaveletLaplace.name:
        options["clients"] = clients
    mechanism: Mechanism = NUMERIC[name].design(budget, **options)
    return mechanism


def design_categorical(name: str, table: Mapping[str, Any], budget: Budget, categories: int) -> Mechanism:
    """Return a mechanism for so many categories: of a name, as the options in the table say, or chosen where it is AUTO."""
    if name not in CATEGORICAL:
        return choose(budget, categories=categories)
    options = {key: table[key] for key in OPTIONS.get(name, ()) if key in table}
    mechanism: Mechanism = CATEGORICAL[name].design(budget, categories=categories, **options)
    return mechanism


def _option(table: Mapping[str, Any], key: str) -> Any:
    """A design's option, as its type says: texts, fractions, lists of either, else a whole number."""
    value = table[key]
    if key in ("allocation", "basis", "noise"):
        return value
    if key in ("a", "delta"):
        return fraction(table, key)
    if key not in ("level_law", "widths"):
        return integer(table, key, 0, 1 << 20)
    if not isinstance(value, list) or not value:
        raise SchemeError(f"{key} must be a list of numbers, one for each level, got {value!r}")
    if key == "widths":
        return [integer({key: width}, key, 1, 1 << 20) for width in value]
    return [fraction({key: share}, key) for share in value]
