"""The JSON schema of scheme files, for editors, built from the declarations of keys, mechanisms and functionals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from fractions import Fraction
from typing import Any, get_args, get_origin

from dpcore.functionals import KINDS
from dpcore.mechanisms.declaration import Option
from dpcore.mechanisms.registry import BY_KIND, options_of
from dpcore.privacy.budget import Budget
from dpcore.protocol.syntax import attribute_table, keys
from dpcore.protocol.syntax.attribute_table import NAME
from dpcore.protocol.syntax.attribute_types import BOOLEAN, TYPES, UNITS

_TYPES: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    Fraction: {"type": ["number", "string"]},  # a text is read as an exact fraction, like a TOML decimal
    Budget: {"type": ["number", "string"], "exclusiveMinimum": 0},
    dict: {"type": "object"},
}


def json_schema() -> dict[str, Any]:
    """Return the schema, draft 7; it does not cover all dependencies between keys, which `ldpflow scheme` checks."""
    document = _table(keys.SCHEME)
    document["properties"]["attributes"] |= {
        "minProperties": 1,
        "propertyNames": {"pattern": NAME.pattern},
        "additionalProperties": {
            "required": ["type"],
            "allOf": [{"if": _is(kind), "then": _attribute(kind)} for kind in BY_KIND]
            + [_boolean(), *map(_date, UNITS)],
            "properties": {"type": {"enum": [*TYPES]}},
        },
    }
    document["properties"]["labels"] |= {
        "propertyNames": {"pattern": NAME.pattern},
        "additionalProperties": _table(keys.LABEL),
    }
    document["properties"]["simulate"] = {
        "type": "object",
        "description": "distributions of the respondents of a dry run, a table for each attribute; no part of the digest",
    }
    formula = {"type": "string", "description": "ATTRIBUTE ~ LABELS, joined by + * or :"}
    reference = {"type": "object", "additionalProperties": {"type": "string"}}
    table = {"type": "object", "required": ["formula"], "properties": {"formula": formula, "reference": reference}}
    document["properties"]["regressions"] = {
        "type": "object",
        "description": "regressions of attributes on labels that a round estimates, by name; no part of the digest",
        "additionalProperties": {"anyOf": [formula, table | {"additionalProperties": False}]},
    }
    return {"$schema": "http://json-schema.org/draft-07/schema#", "title": "A scheme of ldpflow", **document}


_POINTS = {"anyOf": [{"required": ["step"]}, {"required": ["values"]}]}  # which declare support points
_BINS = {"required": ["type", "bins"]}
_JOINT = {"required": ["of"]}
_APART: dict[str, tuple[str, dict[str, Any]]] = {  # conditions that separate the kinds of a type with several
    keys.LATTICE: ("numeric", _POINTS | {"not": _JOINT}),
    keys.BINNED: ("categorical", _BINS),
    keys.PLANE: ("numeric", _JOINT),
    "numeric": ("numeric", {"not": {"anyOf": [*_POINTS["anyOf"], _JOINT]}}),
    keys.CROSSED: ("categorical", _JOINT),
    "categorical": ("categorical", {"not": {"anyOf": [_BINS, _JOINT]}}),
}


def _is(kind: str) -> dict[str, Any]:
    """The condition that a table is of a kind (`attribute_table.kind_of`)."""
    type_, apart = _APART.get(kind, (kind, {}))
    return {"properties": {"type": {"const": type_}}, "required": ["type"]} | apart


def _attribute(kind: str) -> dict[str, Any]:
    """An attribute of a kind: the keys of its default mechanism, and those that depend on the mechanism."""
    mechanism = next(key for key in attribute_table.of_attribute(kind, "") if key.name == "mechanism")
    tables, own = {name: _table(attribute_table.of_attribute(kind, name)) for name in mechanism.choices}, {}
    needed = set.intersection(*(set(table["required"]) for table in tables.values()))
    for name, options in tables.items():
        properties = {key: options["properties"].get(key, False) for key in ("estimator", *options_of(kind))}
        own[name] = {"properties": properties, "required": [key for key in options["required"] if key not in needed]}
    if "stated" in own:  # which has no default
        own["stated"]["anyOf"] = [{"required": [key]} for key in ("channel", "form", "client")]
    cases = [_if({"mechanism": name}, schema) for name, schema in own.items()]
    cases.append({"if": {"not": {"required": ["mechanism"]}}, "then": {"anyOf": [*own.values()]}})
    table = _table(attribute_table.of_attribute(kind, ""))
    table["required"] = [key for key in table["required"] if key in needed]
    table["properties"] |= dict.fromkeys(("estimator", *options_of(kind)), True)
    return table | {"allOf": cases}


def _boolean() -> dict[str, Any]:
    """A boolean: the keys of categories, without those that it sets itself."""
    table = _attribute("categorical")
    for key in ("categories", "outside"):
        del table["properties"][key]
    table["required"] = [key for key in table["required"] if key != "categories"]
    return {"if": {"properties": {"type": {"const": BOOLEAN}}, "required": ["type"]}, "then": table}


def _date(kind: str) -> dict[str, Any]:
    """A date or datetime: the keys of a number, without those that it sets itself; bounds are TOML dates or texts."""
    table = _attribute("numeric")
    for key in ("unit", "assume"):
        del table["properties"][key]
    table["properties"] |= {"lower": {"description": "the first"}, "upper": {"description": "the last"}}
    table["properties"]["step"] = {"type": "string", "description": 'the distance between values, such as "1 day"'}
    return {"if": {"properties": {"type": {"const": kind}}, "required": ["type"]}, "then": table}


def _if(values: dict[str, str], then: dict[str, Any]) -> dict[str, Any]:
    when = {"properties": {key: {"const": value} for key, value in values.items()}, "required": list(values)}
    return {"if": when, "then": then}


def _table(declared: Iterable[Option]) -> dict[str, Any]:
    declared = list(declared)
    return {
        "type": "object",
        "properties": {key.name: _key(key) for key in declared},
        "required": [key.name for key in declared if key.is_needed],
        "additionalProperties": False,
    }


def _key(key: Option) -> dict[str, Any]:
    """One key: its description, default and values."""
    default = list(key.default) if isinstance(key.default, tuple) else key.default
    default = float(default) if isinstance(default, Fraction) else default
    schema = {"description": key.words} | ({} if default is None else {"default": default}) | _values(key, key.type)
    return schema | {"items": _functional()} if key.name == "functionals" else schema


def _values(key: Option, kind: Any) -> dict[str, Any]:
    if get_origin(kind) is list:
        return {"type": "array", "items": _values(key, get_args(kind)[0]), "minItems": key.fewest}
    if key.choices:
        return {"enum": list(key.choices)}
    return _TYPES[kind] | ({"minimum": key.least, "maximum": key.most} if kind is int else {})


def _functional() -> dict[str, Any]:
    """The name of a functional, with its number of arguments."""
    alone = [kind.name for kind in KINDS if not kind.example]
    number = {kind: len(fields(kind)) for kind in KINDS if kind.example}  # type: ignore[arg-type]
    patterns = [rf"{kind.name}\({','.join(['[^,]+'] * many)}\)" for kind, many in number.items()]
    examples = [kind.example for kind in number]
    return {"anyOf": [{"enum": alone}, {"pattern": f"^({'|'.join(patterns)})$", "examples": examples}]}
