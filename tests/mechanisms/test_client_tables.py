"""What a canonical scheme holds for clients is believed only where it keeps the budget, for every mechanism there is.

A client reads no other file.  Whoever hands one on may have changed it, so that each of these would be a weaker promise.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from dpcore.errors import CalibrationError, SchemeError
from dpcore.mechanisms.registry import BY_KIND, BY_TYPE
from dpcore.privacy.budget import Budget
from dpcore.protocol.scheme import Scheme

ONE = Budget.parse("1")
LARGE = {
    "wavelet_laplace": {"cells": 128, "degree": 1, "finest_level": 3},
    "crossed_wave": {"cells": 8},
    "text_hashing": {"buckets": 16},
}  # by default its tables are
TOLD = {"categories": 6, "points": 0, "clients": 10_000, "at_most": 2, "least_size": 1, "symbols": 3, "length": 4}
EVERY = {**BY_TYPE, "plane": BY_KIND["plane"]}
KINDS = {name: kind for kinds in EVERY.values() for name, kind in kinds.items()}
TABLES = {
    name: dict(
        kind.design(ONE, **{key: TOLD[key] for key in kind.declared.scheme_facts}, **LARGE.get(name, {})).parameters()
    )
    for name, kind in KINDS.items()
}


def changed(value: Any, change: Callable[[Any], Any], entry: int) -> Any:
    """The value, or an entry of a list, changed."""
    if not isinstance(value, (list, tuple)):
        return change(value)
    return [change(one) if place == entry % len(value) else one for place, one in enumerate(value)]


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
    "a half more": ((*HEAVY, *LIGHT, "cells", "coarsest_level", "level_law", "sensitivity"), lambda one: one + 0.5),
    "the truth of it": ((*HEAVY, *LIGHT, "degree"), bool),
}
CASES = [
    (name, what, key, change)
    for name, table in TABLES.items()
    for what, (told, change) in WEAKER.items()
    for key in told
    if key in table
]


def test_a_table_that_was_changed_for_the_worse_is_refused(subtests: pytest.Subtests) -> None:
    for name, what, key, change in CASES:
        with subtests.test(mechanism=name, what=what, key=key):
            table = TABLES[name]
            assert KINDS[name].from_parameters(ONE, table).parameters() == table
            for entry in (0, -1):
                with pytest.raises(SchemeError):
                    KINDS[name].from_parameters(ONE, table | {key: changed(table[key], change, entry)})


def test_a_table_is_whole_and_of_its_own_budget(subtests: pytest.Subtests) -> None:
    for name in KINDS:
        with subtests.test(name=name):
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


def test_weights_are_apart_whole_and_fit_a_word(subtests: pytest.Subtests) -> None:
    for name in [name for name, table in TABLES.items() if "weight_out" in table]:
        with subtests.test(name=name):
            kind, table, large = KINDS[name], TABLES[name], Budget.parse("30")
            alike = ((1, 9), (2, 99)) if name == "set_selection" else ((1, 1), (2, 3))  # or the truth less likely
            for weights in (*alike, (1, 0), (0, 1), (1 << 32, 1 << 31)):
                with pytest.raises(CalibrationError):
                    kind.from_parameters(large, table | dict(zip(("weight_in", "weight_out"), weights, strict=True)))


def test_of_categories_there_are_two_to_ten_thousand(subtests: pytest.Subtests) -> None:
    for name in BY_TYPE["categorical"]:
        with subtests.test(name=name):
            table = TABLES[name] | ({"prime": 10_007} if name == "local_hashing" else {})
            for bad in (1, 10_001):
                with pytest.raises(SchemeError):
                    KINDS[name].from_parameters(
                        ONE, table | {"categories": bad} | ({"size": 1} if "size" in table else {})
                    )


DOMAIN = {
    "numeric": 'type = "numeric"\nlower = 0\nupper = 1',
    "categorical": 'type = "categorical"\ncategories = ["a", "b", "c"]',
    "set": 'type = "set"\ncategories = ["a", "b", "c"]',
    "text": 'type = "text"\nmax_bytes = 4\nalphabet = "abc"',
    "plane": 'type = "numeric"\nof = ["x", "y"]\nlower = [0, 0]\nupper = [1, 1]',
}
OPTIONS = {str: '"{}"', int: "3", Fraction: "0.5", list[int]: "[3]", list[Fraction]: "[0.5, 0.5]"}


def canonical(name: str) -> str:
    type_ = next(type_ for type_, kinds in EVERY.items() if name in kinds)
    cells = "finest_level = 3\ncells = 128\ndegree = 1\n" if name == "wavelet_laplace" else ""
    said = f'name = "s"\n[attributes.a]\nepsilon = 1\nmechanism = "{name}"\n{cells}{DOMAIN[type_]}\n'
    return Scheme.from_toml(said).canonical


def test_a_table_is_never_left_out_of_account(subtests: pytest.Subtests) -> None:
    """Neither for a design of options that stand beside it, nor for one that is chosen."""
    for name in KINDS:
        with subtests.test(name=name):
            text = canonical(name)
            assert Scheme.from_toml(text).canonical == text
            for option in KINDS[name].declared.options:
                value = OPTIONS[option.type].format(*option.choices[-1:])
                beside = text.replace("[attributes.a]", f"[attributes.a]\n{option.name} = {value}", 1)
                if option.is_kept:  # it is written again beside the table
                    continue
                with pytest.raises(SchemeError, match=f"client already contains the result of {option.name}"):
                    Scheme.from_toml(beside)
            if name in BY_TYPE["categorical"]:
                with pytest.raises(SchemeError, match="client needs the mechanism"):
                    Scheme.from_toml(text.replace(f'mechanism = "{name}"', 'mechanism = "auto"', 1))


def test_a_table_of_other_categories_is_refused(subtests: pytest.Subtests) -> None:
    for name in BY_TYPE["categorical"]:
        with subtests.test(name=name):
            text = canonical(name)
            for other in ('"a"', '"a", "b", "c", "d"'):
                changed = re.sub(r"^categories = \[.*?\]$", f"categories = [{other}]", text, count=1, flags=re.M | re.S)
                assert changed != text
                with pytest.raises(SchemeError, match="categories"):
                    Scheme.from_toml(changed)


def test_an_option_of_another_mechanism_is_refused_not_ignored(subtests: pytest.Subtests) -> None:
    for name in KINDS:
        with subtests.test(name=name):
            type_ = next(type_ for type_, kinds in EVERY.items() if name in kinds)
            own = {option.name for option in KINDS[name].declared.options}
            said = f'name = "s"\n[attributes.a]\nepsilon = 1\nmechanism = "{name}"\n{DOMAIN[type_]}\n'
            for kind in EVERY[type_].values():
                for option in kind.declared.options:
                    if option.name not in own:
                        value = OPTIONS[option.type].format(*option.choices[-1:])
                        with pytest.raises(SchemeError, match=f"{option.name} needs mechanism = "):
                            Scheme.from_toml(f"{said}{option.name} = {value}\n")


def test_a_fraction_over_nothing_is_refused_as_a_table_is() -> None:
    paper = (
        KINDS["wavelet_laplace"].design(ONE, clients=100, allocation="paper", **LARGE["wavelet_laplace"]).parameters()
    )
    with pytest.raises(SchemeError, match="client does not hold what wavelet_laplace needs"):
        KINDS["wavelet_laplace"].from_parameters(ONE, {**paper, "a": "1/0"})
