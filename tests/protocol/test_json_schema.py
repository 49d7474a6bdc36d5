"""The JSON schema of scheme files takes what the reader takes, and refuses slips of the pen as it does."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from dpcore.errors import SchemeError
from dpcore.functionals import KINDS
from dpcore.mechanisms.registry import IN_SCHEMES
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.syntax import attribute_table
from dpcore.protocol.syntax.json_schema import json_schema
from tests.helpers.schemes import SMALL

SCHEMA = json_schema()
CHECK = jsonschema.Draft7Validator(SCHEMA)
FILES = sorted((Path(__file__).parents[2] / "data/schemes").glob("*.toml"))
SLIPS = {
    "an unknown key": ("clients = 20000", "client = 20000"),
    "an unknown key of an attribute": ('unit = "m"', 'units = "m"'),
    "no epsilon": ("epsilon = 0.5\n", ""),
    "an epsilon of nothing": ("epsilon = 0.5", "epsilon = 0"),
    "an unknown type": ('type = "numeric"', 'type = "number"'),
    "no bound": ("upper = 2.5\n", ""),
    "one category": ('categories = ["left", "right"]', 'categories = ["left"]'),
    "an unknown mechanism": ("degree = 1", 'mechanism = "laplace"'),
    "a degree beyond": ("degree = 1", "degree = 4"),
    "an unknown choice": ("degree = 1", 'degree = 1\nallocation = "best"'),
    "an option of another": ("degree = 1", "level_law = [0.5, 0.5]"),
    "an estimator of another": ("degree = 1", 'estimator = "ems"'),
    "clients with decimals": ("clients = 20000", "clients = 20000.5"),
    "an unknown functional": ("clients = 20000", 'functionals = ["mode"]'),
    "a functional without its argument": ("clients = 20000", 'functionals = ["quantile"]'),
    "functionals that are no list": ("clients = 20000", 'functionals = "mean"'),
    "a bad name of an attribute": ("[attributes.colour]", "[attributes.Colour]"),
}


def test_it_is_a_schema() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


def test_what_is_shipped_is_taken_as_written_and_as_it_is_resolved(subtests: pytest.Subtests) -> None:
    for file in FILES:
        with subtests.test(file=file):
            CHECK.validate(tomllib.loads(file.read_text(encoding="utf-8")))
            CHECK.validate(tomllib.loads(Scheme.from_toml(file).canonical))


def test_a_number_without_a_mechanism_is_taken(subtests: pytest.Subtests) -> None:
    for options in ["", "finest_level = 3", "level_law = [0.5, 0.5]", "cells = 512"]:
        with subtests.test(options=options):
            text = f'name = "s"\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = 1\n{options}'
            CHECK.validate(tomllib.loads(text))
            Scheme.from_toml(text)


def test_what_the_reader_refuses_of_one_key_it_refuses(subtests: pytest.Subtests) -> None:
    for slip in SLIPS:
        with subtests.test(slip=slip):
            old, new = SLIPS[slip]
            assert old in SMALL
            CHECK.validate(tomllib.loads(SMALL))
            text = SMALL.replace(old, new, 1)
            with pytest.raises(jsonschema.ValidationError):
                CHECK.validate(tomllib.loads(text))
            with pytest.raises(SchemeError):
                Scheme.from_toml(text)


def test_every_functional_is_taken(subtests: pytest.Subtests) -> None:
    for kind in KINDS:
        with subtests.test(kind=kind):
            CHECK.validate(tomllib.loads(f'functionals = ["{kind.example or kind.name}"]\n{SMALL}'))


def test_every_key_of_every_mechanism_is_in_it(subtests: pytest.Subtests) -> None:
    for kind, name in [(kind, name) for kind, named in IN_SCHEMES.items() for name in named]:
        with subtests.test(kind=kind, name=name):
            said = [each["then"] for each in SCHEMA["properties"]["attributes"]["additionalProperties"]["allOf"]]
            table = dict(zip([*IN_SCHEMES, "boolean", "date", "datetime"], said, strict=True))[kind]
            case = next(c for c in table["allOf"] if c["if"]["properties"]["mechanism"]["const"] == name)
            for key in attribute_table.of_attribute(kind, name):
                own = case["then"]["properties"].get(key.name, table["properties"].get(key.name))
                assert own["description"] == key.words


STATED = 'name = "s"\n[attributes.a]\ntype = "categorical"\ncategories = ["yes", "no"]\nmechanism = "stated"\n'


def test_a_stated_channel_needs_no_epsilon_and_others_do() -> None:
    for said in (
        "channel = [[3, 1], [1, 3]]",
        'form = "rappor"\nrates = { f = "1/2" }',
        "channel = [[1, 0], [1, 1]]\n",
    ):
        CHECK.validate(tomllib.loads(STATED + said))
        CHECK.validate(tomllib.loads(Scheme.from_toml(STATED + said + "\n").canonical))
    for wrong in (STATED, STATED + "channel = [[true]]", STATED.replace('mechanism = "stated"\n', "")):
        with pytest.raises(jsonschema.ValidationError):
            CHECK.validate(tomllib.loads(wrong))


REGION = '[labels.region]\ncategories = ["north", "south"]\n'


def test_labels_are_taken_and_slips_in_them_are_not() -> None:
    for more in ("", 'column = "Region"\n', 'missing = "category"\n', 'codes = { 1 = "north" }\n'):
        text = SMALL + "\n" + REGION + more
        CHECK.validate(tomllib.loads(text))
        CHECK.validate(tomllib.loads(Scheme.from_toml(text).canonical))
    for old, new in (
        ("region", "Region"),
        (', "south"', ""),
        ("categories", "category"),
        ('"]\n', '"]\nepsilon = 1\n'),
    ):
        text = SMALL + "\n" + REGION.replace(old, new)
        with pytest.raises(jsonschema.ValidationError):
            CHECK.validate(tomllib.loads(text))
        with pytest.raises(SchemeError):
            Scheme.from_toml(text)
