"""Schemes and records that every client, in whatever language, is tried on."""

from __future__ import annotations

from typing import Any

NUMERIC = 'type = "numeric"\nlower = {lower}\nupper = {upper}\nepsilon = {epsilon}\nmechanism = "{mechanism}"\n'
_COLOURS = 'type = "categorical"\nepsilon = {epsilon}\nmechanism = "{mechanism}"\ncategories = [{categories}]\n'


def _names(count: int) -> str:
    return ", ".join(f'"c{number}"' for number in range(count))


ATTRIBUTES = {  # of each mechanism, the attributes that try it
    "randomized_response": (
        '[attributes.coin]\ntype = "categorical"\ncolumn = "Coin"\nepsilon = "ln 3"\ndesign = "two_coin"',
        'categories = ["heads", "tails"]\ncodes = { 1 = "heads", 2 = "tails" }\n',
        '[attributes.answer]\ntype = "categorical"\nepsilon = 1\nmissing = "category"\noutside = "other"',
        'categories = ["yes", "no", "other"]\n',
    ),
    "unary_encoding": (
        "[attributes.bits]\n" + _COLOURS.format(epsilon=2, mechanism="unary_encoding", categories=_names(37)),
        "[attributes.plain_bits]\n"
        + _COLOURS.format(epsilon=1, mechanism="unary_encoding", categories=_names(5))
        + 'variant = "symmetric"\n',
    ),
    "subset_selection": (
        "[attributes.subset]\n" + _COLOURS.format(epsilon=0.5, mechanism="subset_selection", categories=_names(12)),
    ),
    "hadamard_response": (
        "[attributes.rows]\n" + _COLOURS.format(epsilon=1, mechanism="hadamard_response", categories=_names(300)),
    ),
    "local_hashing": (
        "[attributes.hashed]\n" + _COLOURS.format(epsilon=1.5, mechanism="local_hashing", categories=_names(300)),
    ),
    "dyadic_wave": (
        "[attributes.dyadic]\n" + NUMERIC.format(lower=-3, upper="12.5", epsilon=1, mechanism="dyadic_wave"),
    ),
    "square_wave": (
        "[attributes.square]\n"
        + NUMERIC.format(lower=0, upper=1, epsilon=2, mechanism="square_wave")
        + 'outside = "refuse"\n',
    ),
    "wavelet_laplace": (
        "[attributes.wavelet]\n"
        + NUMERIC.format(lower='"1/3"', upper=7, epsilon=1, mechanism="wavelet_laplace")
        + "degree = 1\nfinest_level = 4\n",
        "[attributes.split]\n"
        + NUMERIC.format(lower=0, upper=100, epsilon="0.75", mechanism="wavelet_laplace")
        + 'degree = 1\nfinest_level = 3\nallocation = "split"\n',
    ),
}


def _together(name: str, *mechanisms: str) -> str:
    head = f'name = "{name}"\ndescription = "Every mechanism once, quotes \\" and é included"\nclients = 5000\n'
    return "\n".join([head, *(text for mechanism in mechanisms for text in ATTRIBUTES[mechanism])])


EVERYTHING = _together("everything", *ATTRIBUTES)
ONE = """
name = "one_of_three"
reporting = "one"
clients = 1000
pairs = [["income", "place"]]

[attributes.place]
type = "categorical"
categories = ["urban", "rural"]
epsilon = 1

[attributes.colour]
type = "categorical"
categories = ["red", "green", "blue"]
epsilon = 2

[attributes.income]
type = "numeric"
lower = 0
upper = 250000
mechanism = "dyadic_wave"
epsilon = 1
"""
LABELLED = """
name = "labelled"
reporting = "one"
clients = 1000

[attributes.pet]
type = "categorical"
categories = ["cat", "dog", "none"]
epsilon = 1

[attributes.income]
type = "numeric"
lower = 0
upper = 250000
mechanism = "dyadic_wave"
epsilon = 1

[labels.region]
column = "Region"
categories = ["north", "south", "west", "other"]
codes = { 1 = "north", 2 = "south", "03" = "west" }
outside = "other"

[labels.version]
categories = [{names}]
missing = "category"
""".replace("{names}", _names(300))
TOGETHER = """
name = "together"
clients = 1000

[attributes.job_region]
type = "categorical"
of = ["job", "Region"]
categories = [["a", "b", "7", "d"], ["n", "e", "s", "w", "d"]]
epsilon = 2

[attributes.job]
type = "categorical"
categories = ["a", "b", "7", "d"]
epsilon = 1

[attributes.habits]
type = "categorical"
of = ["smokes", "drinks"]
categories = [["yes", "no"], ["yes", "no"]]
mechanism = "unary_encoding"
epsilon = 1

[attributes.income_age]
type = "numeric"
of = ["income", "age"]
lower = [0, "18.5"]
upper = [200000, 90]
units = ["USD", ""]
epsilon = 2

[attributes.height_weight]
type = "numeric"
of = ["height", "weight"]
lower = [-1, 0]
upper = [1, 1]
outside = "refuse"
cells = 8
widths = [3, 21, 1, 3]
level_law = [1, 1, 2, 2]
epsilon = "ln 3"
"""
PURPOSES = """
name = "purposes"
clients = 1000

[attributes.curve]
type = "numeric"
lower = 0
upper = 1
purpose = "curve"
epsilon = 1

[attributes.lines]
type = "numeric"
lower = -3
upper = "12.5"
purpose = "both"
epsilon = 2
missing = "category"
"""
OPTIONS = """
name = "options"
clients = 1000

[attributes.travel]
type = "set"
column = "Travel"
categories = ["bus", "car", "bike", "train", "tram", "walk", "taxi", "ferry", "other"]
codes = { 1 = "bus", 2 = "car", "03" = "bike" }
at_most = 3
missing = "none"
outside = "other"
epsilon = 2

[attributes.care]
type = "set"
categories = ["child", "parent", "neighbour", "none"]
columns = ["cares_child", "cares_parent", "cares_neighbour", "cares_none"]
separator = ","
epsilon = "ln 3"
size = 2
"""
TEXTS = """
name = "texts"
clients = 1000

[attributes.drug]
type = "text"
column = "Drug"
max_bytes = 12
alphabet = "abcdefghijklmnopqrstuvwxyz -é"
missing = "category"
outside = "other"
epsilon = 2

[attributes.code]
type = "text"
max_bytes = 6
alphabet = "ABC0123456789"
normalize = ["blanks"]
epsilon = "ln 3"

[attributes.word]
type = "text"
max_bytes = 9
epsilon = 4
"""
OF_SEVERAL = {
    "one_of_three": ONE,
    "labelled": LABELLED,
    "together": TOGETHER,
    "purposes": PURPOSES,
    "options": OPTIONS,
    "texts": TEXTS,
}
SCHEMES = {name: _together(name, name) for name in ATTRIBUTES} | OF_SEVERAL
_COARSE = (
    "degree = 1\n",
    "degree = 1\ncells = 256\n",
)  # tables of 256 input cells: a bundle of 70 kB in place of 1.1 MB
SCHEMES["wavelet_laplace"] = SCHEMES["wavelet_laplace"].replace(*_COARSE)
_PERSON: dict[str, Any] = {
    "answer": "yes",
    "bits": "c0",
    "plain_bits": "c4",
    "subset": "c11",
    "rows": "c299",
    "hashed": "c0",
}
_PERSON |= {"dyadic": 0.1, "square": 1, "wavelet": 3.3, "split": 12, "Coin": 2}
_PAIRS: dict[str, Any] = {"job": "a", "Region": "n", "smokes": "yes", "drinks": "no"}
_PAIRS |= {"income": 99_999.5, "age": 54, "height": 0.3, "weight": 0.1}
_CARE: dict[str, Any] = {"cares_child": "yes", "cares_parent": 0, "cares_neighbour": "T", "cares_none": False}
_WORDS: dict[str, Any] = {"Drug": "aspirin", "code": "A12", "word": "ΟΔΟΣ"}
RECORDS: dict[str, list[dict[str, Any]]] = {
    "texts": [
        _WORDS,
        {"Drug": "  Cafe\u0301\u00a0 au ", "code": " A1 ", "word": "I\u0307\t\U0001f600"},
        {"drug": "a medicine of many letters", "code": 7, "word": True},
        {"Drug": "mg/l", "code": "000000", "word": "Straße"},
        {"Drug": None, "code": "C\n", "word": "missing"},
        {"Drug": "MISSING", "code": 123.0, "word": 1.0},
    ],
    "options": [
        {"Travel": ["bus", "ferry"]} | _CARE,
        {"Travel": "tram;car;walk"} | _CARE | {"cares_child": "no", "cares_none": 1},
        {"Travel": "1; 3.0 ;walk", "care": "child,parent,neighbour,none"},
        {"travel": None} | dict.fromkeys(_CARE, "no"),
        {"Travel": "a rocket;a balloon;other", "care": []},
        {"Travel": 2, "care": "none"},
        {"Travel": ["tram", "tram"], "care": ["parent"]},
    ],
    "purposes": [
        {"curve": 0, "lines": 12.5},
        {"curve": 1, "lines": None},
        {"curve": 0.37, "lines": -3},
        {"curve": 0.999, "lines": 4.75},
    ],
    "everything": [
        _PERSON,
        _PERSON | {"Coin": "heads", "answer": "perhaps", "bits": "c36", "dyadic": -3, "square": 0, "wavelet": -1e9},
        _PERSON | {"Coin": "1", "answer": None, "bits": "c32", "dyadic": 12.5, "square": 0.999, "wavelet": 1 / 3},
        _PERSON
        | {"answer": "missing", "subset": "c5", "rows": "c128", "dyadic": 1e300, "wavelet": 7, "split": 99.99999},
    ],
    "one_of_three": [
        {"place": "rural", "colour": "blue", "income": 41_000},
        {"place": "urban", "colour": "red", "income": 250_000.5},
    ],
    "labelled": [
        {"pet": "cat", "income": 41_000, "Region": 2, "version": "c0"},
        {"pet": "none", "income": 9, "Region": "west", "version": "c299"},
        {"pet": "dog", "income": 0, "Region": "03", "version": None},
        {"pet": "dog", "income": 1e9, "Region": "the moon", "version": "missing"},
    ],
    "together": [
        _PAIRS,
        _PAIRS | {"job": "d", "Region": "d", "smokes": "no", "income": 200_000, "age": 90, "height": 1, "weight": 1},
        _PAIRS | {"job": 7, "Region": "w", "drinks": "yes", "income": "41000", "age": 18.5, "height": -1, "weight": 0},
        _PAIRS | {"income": -5, "age": 1e300, "height": 0.999999, "weight": 0.5},
    ],
}
RECORDS |= dict.fromkeys(ATTRIBUTES, RECORDS["everything"])
REFUSED_RECORDS: dict[str, list[dict[str, Any]]] = {
    "texts": [
        {"Drug": "aspirin", "code": "A12"},
        _WORDS | {"Drug": ["aspirin"]},
        *(_WORDS | {"code": code} for code in ("a12", "A1-2", "A 1", "A123456", "", None, " ", 1.5, -1, True)),
        *(_WORDS | {"word": word} for word in ("", "\u00a0", "ten letters", "\x00", "ὈΔΟῚΣ")),
    ],
    "options": [
        _CARE,
        {"Travel": "bus;car;bike;train"} | _CARE,
        {"Travel": ["bus", ["car"]]} | _CARE,
        {"Travel": ["bus", None]} | _CARE,
        {"Travel": "bus"},
        {"Travel": "bus", "care": None},
        {"Travel": "bus", "care": " , "},
        {"Travel": "bus", "care": "child,none of them"},
        {"Travel": "bus", "care": [""]},
        {"Travel": "bus", "care": "child", "cares_child": "yes"},
        {"Travel": "bus"} | _CARE | {"cares_parent": None},
        {"Travel": "bus"} | _CARE | {"cares_parent": "sometimes"},
    ],
    "purposes": [{"curve": None, "lines": 1}, {"lines": 1}, {"curve": "a", "lines": 1}],
    "everything": [
        {key: value for key, value in _PERSON.items() if key != "dyadic"},
        {key: value for key, value in _PERSON.items() if key != "answer"},
        _PERSON | {"Coin": 3},
        _PERSON | {"Coin": 1.5},
        _PERSON | {"Coin": None},
        _PERSON | {"bits": "c37"},
        _PERSON | {"bits": ["c1", "c2"]},
        _PERSON | {"square": 1.0000001},
        _PERSON | {"square": None},
        _PERSON | {"dyadic": "much"},
        _PERSON | {"dyadic": [1, 2]},
        _PERSON | {"wavelet": ""},
    ],
    "one_of_three": [{"place": "rural", "colour": "pink", "income": 1}, {}],
    "labelled": [
        {"pet": "cat", "income": 41_000, "version": "c0"},
        {"pet": "cat", "income": 41_000, "Region": None, "version": "c0"},
        {"pet": "cat", "income": 41_000, "Region": ["north", "west"], "version": "c0"},
        {"pet": "cat", "income": 41_000, "Region": "north", "version": "c300"},
    ],
    "together": [
        {key: value for key, value in _PAIRS.items() if key != "Region"},
        {key: value for key, value in _PAIRS.items() if key != "age"} | {"income_age": 3},
        {key: value for key, value in _PAIRS.items() if key != "Region"} | {"job_region": "a & n"},
        _PAIRS | {"job": "n", "Region": "a"},
        _PAIRS | {"Region": None},
        _PAIRS | {"job": "a & n"},
        _PAIRS | {"Region": ["n", "e"]},
        _PAIRS | {"income": "much"},
        _PAIRS | {"age": None},
        _PAIRS | {"age": [20, 30]},
        _PAIRS | {"height": 1.0000001},
    ],
}
REFUSED_RECORDS |= dict.fromkeys(ATTRIBUTES, REFUSED_RECORDS["everything"])
