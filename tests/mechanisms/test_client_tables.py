"""What a canonical scheme holds for clients is believed only where it keeps the budget, for every mechanism there is.

A client reads no other file.  Whoever hands one on may have changed it, so that each of these would be a weaker promise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dpcore.errors import CalibrationError, SchemeError
from dpcore.mechanisms.named import BY_TYPE
from dpcore.privacy.budget import Budget

ONE = Budget.parse("1")
LARGE = {"wavelet_laplace": {"cells": 128, "degree": 1, "finest_level": 3}}  # by default its tables are
TOLD = {"categories": 6, "clients": 10_000}
KINDS = {name: kind for kinds in BY_TYPE.values() for name, kind in kinds.items()}
TABLES = {
    name: dict(kind.design(ONE, **{key: TOLD[key] for key in kind.declared.told}, **LARGE.get(name, {})).parameters())
    for name, kind in KINDS.items()
}


def first(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value, or the first entry of a list, changed."""
    return [change(value[0]), *value[1:]] if isinstance(value, (list, tuple)) else change(value)


HEAVY, LIGHT = ("weight_in", "weights_in", "weight_true"), ("weight_out", "weights_out", "noise_scales")
WEAKER: dict[str, tuple[tuple[str, ...], Callable[[Any], Any]]] = {
    "a heavier truth": (HEAVY, lambda weight: weight + 1),
    "a much heavier truth": (HEAVY, lambda weight: 3 * weight),
    "lighter others, or less noise": (LIGHT, lambda weight: weight - 1),
    "no others, or no noise": ((*LIGHT, "weight_other"), lambda weight: 0),
    "others below none": ((*LIGHT, "weight_other"), lambda weight: -weight),
    "a share of a level less": (("level_law",), lambda share: share - 1),
    "a sensitivity less": (("sensitivity",), lambda one: one - 1),
    "another digest": (("table_sha256",), lambda digest: "0" * len(digest)),
    "no size": (("categories", "cells", "size", "bins", "prime"), lambda one: 0),
    "a huge size": (("categories", "cells", "size", "bins", "prime", "coin_bits"), lambda one: 10**9),
    "a text": ((*HEAVY, *LIGHT, "categories", "cells", "level_law"), str),
}
CASES = [
    pytest.param(name, key, change, id=f"{name}-{what}-{key}")
    for name, table in TABLES.items()
    for what, (told, change) in WEAKER.items()
    for key in told
    if key in table
]


@pytest.mark.parametrize(("name", "key", "change"), CASES)
def test_a_table_that_was_changed_for_the_worse_is_refused(name: str, key: str, change: Callable[[Any], Any]) -> None:
    table = TABLES[name]
    assert KINDS[name].from_parameters(ONE, table).parameters() == table
    with pytest.raises(SchemeError):
        KINDS[name].from_parameters(ONE, table | {key: first(table[key], change)})


@pytest.mark.parametrize("name", KINDS)
def test_a_table_is_whole_and_of_its_own_budget(name: str) -> None:
    kind, table = KINDS[name], TABLES[name]
    for key in table:
        if name == "wavelet_laplace" and key == "a":
            continue
        with pytest.raises(SchemeError):
            kind.from_parameters(ONE, {other: value for other, value in table.items() if other != key})
    with pytest.raises(CalibrationError):  # 0.9 is promised, and 1 is kept
        kind.from_parameters(Budget.parse("0.9"), table)
    for none in (None, [], "table", 1):
        with pytest.raises(SchemeError, match="client must be a table"):
            kind.from_parameters(ONE, none)


@pytest.mark.parametrize("name", [name for name, table in TABLES.items() if "weight_out" in table])
def test_weights_are_apart_whole_and_fit_a_word(name: str) -> None:
    kind, table, large = KINDS[name], TABLES[name], Budget.parse("30")
    for weights in ((1, 1), (1, 0), (0, 1), (2, 3), (1 << 32, 1 << 31)):
        with pytest.raises(CalibrationError):
            kind.from_parameters(large, table | dict(zip(("weight_in", "weight_out"), weights, strict=True)))


@pytest.mark.parametrize("name", BY_TYPE["categorical"])
def test_of_categories_there_are_two_to_ten_thousand(name: str) -> None:
    table = TABLES[name] | ({"prime": 10_007} if name == "local_hashing" else {})
    for bad in (1, 10_001):
        with pytest.raises(SchemeError):
            KINDS[name].from_parameters(ONE, table | {"categories": bad} | ({"size": 1} if "size" in table else {}))
