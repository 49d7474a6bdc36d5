"""One contract for what mechanisms declare: the design takes what is declared, schemes read it, and people can look it up."""

from __future__ import annotations

import inspect
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import SchemeError
from dpcore.estimation.registry import by_name, named
from dpcore.mechanisms.registry import BY_KIND, BY_TYPE
from dpcore.protocol.simulation import _answer_law
from dpcore.protocol.syntax.keys import LOG_LINEAR

EVERY = {**BY_TYPE, "plane": BY_KIND["plane"]}
KINDS: list[tuple[str, Any]] = [(type_, kind) for type_, kinds in EVERY.items() for kind in kinds.values()]
DOMAIN = {
    "numeric": 'type = "numeric"\nlower = 0\nupper = 1',
    "categorical": 'type = "categorical"\ncategories = ["a", "b", "c"]',
    "set": 'type = "set"\ncategories = ["a", "b", "c"]',
    "text": 'type = "text"\nmax_bytes = 4',
    "plane": 'type = "numeric"\nof = ["x", "y"]\nlower = [0, 0]\nupper = [1, 1]',
}
ALIEN = {str: '"nowhere"', int: "-1", Fraction: '"nowhere"', list[int]: "[-1]", list[Fraction]: '["nowhere"]'}


def scheme(type_: str, name: str, *lines: str) -> dp.Scheme:
    said = "\n".join((f'name = "s"\n[attributes.a]\nepsilon = 1\nmechanism = "{name}"', *lines))
    return dp.Scheme.from_toml(f"{said}\n{DOMAIN[type_]}\n")


def test_the_design_takes_what_is_declared(subtests: pytest.Subtests) -> None:
    for _, kind in KINDS:
        with subtests.test(mechanism=kind.name):
            taken = inspect.signature(kind.design).parameters
            assert kind.declared.name == kind.name
            assert set(kind.declared.scheme_facts) <= {
                "categories",
                "points",
                "clients",
                "at_most",
                "least_size",
                "symbols",
                "length",
            } & set(taken)
            for option in kind.declared.options:
                assert option.default == taken[option.name].default, option.name
                assert option.default is None or not option.choices or option.default in option.choices
                assert option.words


def test_what_no_option_can_be_is_refused_by_its_name(subtests: pytest.Subtests) -> None:
    for type_, kind in KINDS:
        with subtests.test(mechanism=kind.name):
            for option in kind.declared.options:
                with pytest.raises(SchemeError, match=option.name):
                    scheme(type_, kind.name, f"{option.name} = {ALIEN[option.type]}")


def test_every_estimator_that_is_declared_is_made(subtests: pytest.Subtests) -> None:
    for type_, kind in KINDS:
        with subtests.test(mechanism=kind.name):
            assert scheme(type_, kind.name).attributes["a"].estimator == kind.declared.estimators[0]
            for name in kind.declared.estimators:
                attribute = scheme(type_, kind.name, f'estimator = "{name}"').attributes["a"]
                assert name in named(attribute).titles
                assert named(attribute)._reads(attribute.mechanism.model()) if type_ == "numeric" else True
            with pytest.raises(SchemeError, match="estimator must be one of"):
                scheme(type_, kind.name, 'estimator = "guess"')


def test_every_estimator_that_is_found_is_declared_by_a_mechanism() -> None:
    declared = {name for kinds in EVERY.values() for kind in kinds.values() for name in kind.declared.estimators}
    declared.add(LOG_LINEAR)  # of every mechanism, where a number says which values there are
    assert declared == by_name().keys()
    for name, kind in by_name().items():
        assert kind.name in kind.titles
        assert by_name()[kind.name] is kind, name


def test_groups_take_what_names_one_category(subtests: pytest.Subtests) -> None:
    for type_, kind in KINDS:
        with subtests.test(mechanism=kind.name):
            if type_ != "categorical":
                assert not kind.declared.names_one
                continue
            text = f"""
name = "s"
pairs = [["x", "a"]]
[attributes.x]
type = "numeric"
epsilon = 1
lower = 0
upper = 1
[attributes.a]
epsilon = 1
mechanism = "{kind.name}"
{DOMAIN[type_]}
"""
            if kind.declared.names_one:
                asked, law = dp.Scheme.from_toml(text), np.array([0.5, 0.3, 0.2])
                assert asked.grouped == asked.pairs
                mechanism = asked.attributes["a"].mechanism
                assert np.allclose(_answer_law(asked, "a", law), mechanism.model().response() @ law)
                assert mechanism.sizes == (1,)
                assert [int(end[0]) for end in mechanism.ranges(0)] == [0, 2]
                continue
            asked = dp.Scheme.from_toml(text)
            assert asked.pairs == (("x", "a"),)
            assert asked.grouped == ()


def test_people_can_look_it_up(root: Path, subtests: pytest.Subtests) -> None:
    for _, kind in KINDS:
        with subtests.test(mechanism=kind.name):
            reference = (root / "data/guide/reference/scheme.md").read_text(encoding="utf-8")
            assert f"| `{kind.name}`" in (root / "data/README.md").read_text(encoding="utf-8")
            assert kind.declared.words
            assert kind.declared.title
            for option in kind.declared.options:
                assert f"`{option.name}`" in reference, option.name
