"""Sets of options in schemes and records: what is read as which set, and what is refused in one line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpcore.errors import DPCoreError, InvalidRecord, SchemeError
from dpcore.estimation.registry import check_estimates
from dpcore.protocol.revision import revise
from dpcore.protocol.scheme import Scheme

USES = """
name = "transport"
clients = 1000
[attributes.uses]
type = "set"
column = "Uses"
categories = ["car", "bus", "train", "foot", "other"]
codes = { 1 = "car", 2 = "bus" }
at_most = 3
epsilon = 1
"""
BOXES = """
name = "colours"
clients = 1000
[attributes.colours]
type = "set"
categories = ["red", "green", "blue"]
columns = ["R", "G", "B"]
at_most = 2
epsilon = 1
"""


def _read(text: str, records: Any) -> list[list[str]]:
    """The options of every record, as the scheme reads them."""
    scheme = Scheme.from_toml(text)
    ((_, attribute),) = scheme.attributes.items()
    (cells,) = scheme.encode(records).values()
    return [[attribute.categories[i] for i in np.flatnonzero(row)] for row in attribute.mechanism.sets.members(cells)]


@pytest.mark.parametrize(
    "column",
    [
        ["car;bus", "1", "foot ; train;", "2;2;bus"],
        [["car", "bus"], [1], ("foot", "train"), {"bus"}],
        pa.array(["bus;car", "car", "train;foot", "bus"]),
        pa.array([["bus", "car"], ["car"], ["train", "foot"], ["bus", "bus"]]),
        pd.Series(["car;bus", "1.0", "foot;train", "bus"], dtype="category"),
        np.array(["car;bus", "car", "foot;train", "bus"]),
    ],
    ids=["texts", "lists", "arrow texts", "arrow lists", "pandas categories", "numpy texts"],
)
def test_lists_and_texts_are_read_alike(column: Any) -> None:
    assert _read(USES, {"Uses": column}) == [["car", "bus"], ["car"], ["train", "foot"], ["bus"]]


def test_a_set_may_be_empty_and_a_missing_value_may_mean_so() -> None:
    assert _read(USES, {"Uses": [[], ["car"]]}) == [[], ["car"]]
    for nothing in ("", " ; ", "NA", None, float("nan")):
        with pytest.raises(InvalidRecord, match=r'has no value at record 2 .* set missing = "none"'):
            _read(USES, {"Uses": ["car", nothing]})
        assert _read(USES + 'missing = "none"\n', {"Uses": ["car", nothing]}) == [["car"], []]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("plane", "is not one of the scheme's options at record 2 .*expected one of car, bus"),
        (["car", None], "is not one of the scheme's options"),
        ("car;bus;train;foot", "has too many options at record 2 .*at most 3"),
        ([["car"]], "must hold texts or numbers"),
    ],
)
def test_what_is_no_set_is_refused(value: Any, message: str) -> None:
    with pytest.raises(InvalidRecord, match=message):
        _read(USES, {"Uses": ["car", value]})


def test_unlisted_options_may_be_the_option_other() -> None:
    text = USES + 'outside = "other"\n'
    assert _read(text, {"Uses": ["plane", "car;boat;plane"]}) == [["other"], ["car", "other"]]
    for value in (["car", None], ["car", float("nan")]):
        with pytest.raises(InvalidRecord, match="not one of the scheme's options"):
            _read(text, {"Uses": [value]})


def test_an_option_may_be_spelled_like_no_value() -> None:
    text = USES.replace('"foot"', '"NA"')
    assert _read(text, {"Uses": ["NA", "car;NA"]}) == [["NA"], ["car", "NA"]]


def test_options_may_be_columns_of_yes_and_no() -> None:
    records = {"R": [1, 0, True], "G": ["yes", "no", "f"], "B": [0, "n", 1]}
    assert _read(BOXES, records) == [["red", "green"], [], ["red", "blue"]]
    assert _read(BOXES, {"colours": ["red;blue", "green"]}) == [["red", "blue"], ["green"]]
    with pytest.raises(InvalidRecord, match=r"too many options at record 1"):
        _read(BOXES, {"R": [1], "G": [1], "B": [1]})
    with pytest.raises(InvalidRecord, match="column 'G' has no value"):
        _read(BOXES, {"R": [1], "G": [None], "B": [1]})
    assert _read(BOXES + 'missing = "none"\n', {"R": [1], "G": [None], "B": [""]}) == [["red"]]
    with pytest.raises(InvalidRecord, match=r"column 'B' .* is missing .* columns = in the scheme"):
        _read(BOXES, {"R": [1], "G": [1]})
    with pytest.raises(InvalidRecord, match="same length"):
        _read(BOXES, {"R": [1], "G": [1, 0], "B": [1]})


@pytest.mark.parametrize(
    "text", [USES, BOXES, USES + 'missing = "none"\noutside = "other"\nseparator = "|"\nsize = 2\n']
)
def test_the_canonical_text_is_the_same_scheme(text: str) -> None:
    scheme = Scheme.from_toml(text)
    again = Scheme.from_toml(scheme.canonical)
    assert again.digest == scheme.digest
    assert again.canonical == scheme.canonical


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("at_most = 3", "at_most = 6", "at_most"),
        ("at_most = 3", "size = 6", "size"),
        ("at_most = 3", 'separator = "a"', "separator must be a text that no option contains"),
        ("at_most = 3", 'columns = ["a", "b"]', "columns must list 5 different columns"),
        ("at_most = 3", "values = [1, 2, 3, 4, 5]", "unknown key 'values'"),
        ("at_most = 3", 'missing = "category"', "missing must be"),
        ("at_most = 3", 'mechanism = "randomized_response"', "mechanism must be"),
    ],
)
def test_schemes_are_checked(old: str, new: str, message: str) -> None:
    with pytest.raises(SchemeError, match=message):
        Scheme.from_toml(USES.replace(old, new))


def test_a_column_of_yes_and_no_is_read_as_nothing_else() -> None:
    other = '[attributes.r]\ntype = "boolean"\ncolumn = "R"\nepsilon = 1\n'
    with pytest.raises(SchemeError, match="column 'R' of columns is also that of an attribute or label"):
        Scheme.from_toml(BOXES + other)
    with pytest.raises(SchemeError, match="column 'colours' of columns"):
        Scheme.from_toml(BOXES.replace('"R", "G"', '"colours", "G"'))


def test_a_limit_that_changes_is_another_question() -> None:
    changed = revise(Scheme.from_toml(USES), Scheme.from_toml(USES.replace("at_most = 3", "at_most = 2")))
    assert changed.apart == ("uses",)


def test_many_options_need_a_limit() -> None:
    options = [f"o{number}" for number in range(21)]
    text = f'name = "many"\n[attributes.a]\ntype = "set"\ncategories = {options}\nepsilon = 1\n'
    with pytest.raises(SchemeError, match="at_most is missing; say how many of the 21 options"):
        Scheme.from_toml(text)
    assert Scheme.from_toml(text.replace(", 'o20'", "")).attributes["a"].at_most == 20


def test_the_integers_of_a_client_belong_to_the_options() -> None:
    canonical = Scheme.from_toml(USES).canonical
    with pytest.raises(DPCoreError, match=r"client\.options must be 5"):
        Scheme.from_toml(canonical.replace("options = 5", "options = 4"))


def test_a_set_has_no_place_in_a_pair_or_as_an_outcome() -> None:
    age = '[attributes.age]\ntype = "numeric"\nlower = 0\nupper = 9\nepsilon = 1\n'
    with pytest.raises(SchemeError, match="which cannot be part of a pair"):
        Scheme.from_toml('pairs = [["uses", "age"]]\n' + USES + age)
    regression = '[labels.sex]\ncategories = ["f", "m"]\n[regressions]\nr = "uses ~ sex"\n'
    with pytest.raises(SchemeError, match="a set of options cannot be the outcome"):
        check_estimates(Scheme.from_toml(USES + regression))


@pytest.mark.parametrize("functional", ["both(car, bus)", "mean"])
def test_a_joint_share_needs_two_items_a_report_and_its_absence_the_best_number(functional: str) -> None:
    mechanism = Scheme.from_toml(USES + f'functionals = ["{functional}"]').attributes["uses"].mechanism
    assert mechanism.size == (2 if functional != "mean" else 1)


def test_a_joint_share_is_kept_as_written() -> None:
    text = USES.replace('"foot"', '"car (rented)"') + 'size = 2\nfunctionals = ["mean", "both(car (rented),bus)"]'
    scheme = Scheme.from_toml(text)
    check_estimates(scheme)
    again = Scheme.from_toml(scheme.canonical)
    assert again.attributes["uses"].functionals == ("mean", "both(car (rented),bus)")
    assert again.digest == scheme.digest
    assert "both(car (rented),bus)" in scheme.canonical


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("both(car, bus)", "both(car, ship)", "both(car, ship): 'ship' is no option; name two of car, bus, train"),
        ("both(car, bus)", "both(car, car)", "two different options, got 'car' twice"),
        ("both(car, bus)", "both(car, bus, train)", "an option with a comma in its name needs another name"),
        ("both(car, bus)", "both(car)", "both takes (one, other), such as 'both(bus, train)'; got 'both(car)'"),
        ("size = 2", "size = 1", "both(car, bus): reports of one item show no two options together; set size = 2"),
        ("at_most = 3", "at_most = 1", "both(car, bus): nobody may choose two options; raise at_most"),
        ("clients", 'functionals = ["both(car, bus)"]\nclients', "list it under [attributes.NAME] of a set"),
        ("[attributes.uses]", "[attributes.x]\ntype = 'numeric'\nlower = 0\nupper = 1\nepsilon = 1\nfunctionals = "
         "['both(car, bus)']\n[attributes.uses]", "attributes.x: functionals: both(car, bus): it is about options of"),
    ],
)  # fmt: skip
def test_joint_shares_that_do_not_exist_are_refused(old: str, new: str, message: str) -> None:
    text = USES + 'size = 2\nfunctionals = ["both(car, bus)"]'
    with pytest.raises(SchemeError) as refused:
        Scheme.from_toml(text.replace(old, new, 1))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", [USES, BOXES], ids=["one column", "columns"])
def test_values_of_a_cell_are_read_as_that_cell(text: str) -> None:
    scheme = Scheme.from_toml(text)
    ((_, attribute),) = scheme.attributes.items()
    for cell in attribute.cells.tolist():
        values = {column: [value] for column, value in attribute.values_of(cell).items()}
        assert list(scheme.encode(values).values()) == [[cell]]


@pytest.mark.parametrize("missing", ["refuse", "none"])
def test_the_empty_set_is_simulated_only_if_it_may_be_answered(missing: str) -> None:
    (attribute,) = Scheme.from_toml(f'{BOXES}missing = "{missing}"\n').attributes.values()
    law = attribute.law_of_shares([0.5, 0.5, 0.5])
    assert law.sum() == pytest.approx(1)
    assert (law[0] == 0) == (missing == "refuse")
