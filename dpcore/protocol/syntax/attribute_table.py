"""One attribute's table in a scheme: reading with checks across keys, and writing.

Missing keys have the defaults of `keys`; `mechanism_design` computes a mechanism's integers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from dpcore.errors import SchemeError, check_bend, exact
from dpcore.mechanisms import Mechanism
from dpcore.mechanisms.categorical.option_sets import ONE_CHOSEN, ONE_ITEM, is_joint_share
from dpcore.mechanisms.registry import IN_SCHEMES
from dpcore.protocol.attribute import MISSING, Attribute
from dpcore.protocol.domain import option_sets, pairs, support_points
from dpcore.protocol.records.texts import NORMALIZATIONS, TextDomain
from dpcore.protocol.syntax import keys
from dpcore.protocol.syntax.fields import listed, number, printable

SECOND_DERIVATIVE = "second_derivative"  # the only key of `assume`
NAME = re.compile(r"^[a-z][a-z0-9_]{0,62}$")


def read(name: str, table: Any, clients: int, functionals: tuple[str, ...]) -> Attribute:
    """Return the attribute that a table describes; raises SchemeError, which names the table, if it is invalid.

    clients: planned number.  functionals: the default for numeric attributes.
    """
    where = f"attributes.{name}"
    if not isinstance(table, Mapping):
        raise SchemeError(f"{where} must be a table; write [{where}] above its keys")
    if not NAME.fullmatch(name):
        raise SchemeError(
            f"attributes: name {name!r} must be lower-case letters, digits and _, the first a letter and 63 at most"
        )
    entries = keys.read_attribute(table, f"{where}.")
    try:
        kind = keys.kind_of(table)
        if kind == keys.LATTICE:
            entries |= support_points.read(entries)
            sizes = support_points.counts_for_design(entries) | {"clients": clients}
        elif kind == "numeric":
            support_points.check_bounds(entries["lower"], entries["upper"])
            _check_level(entries, table)
            entries["assume"] = _assumed(entries)
            entries["intervals"] = _intervals(entries)
            entries |= support_points.silence(entries, table)
            sizes = {"points": 0, "clients": clients}
        elif kind == keys.CROSSED:
            entries |= pairs.read_joint(entries)
            sizes, functionals = {"categories": len(entries["categories"])}, ()
        elif kind == keys.PLANE:
            sizes, functionals = {}, ()
        elif kind == keys.SET:
            entries |= categories_of(entries)
            entries |= option_sets.read(entries)
            joint = any(map(is_joint_share, entries["functionals"] or ()))
            sizes = {"categories": len(entries["categories"]), "at_most": entries["at_most"], "least_size": 1 + joint}
            functionals = ("mean",)
        elif kind == keys.TEXT:
            entries["texts"] = _texts(entries)
            sizes = {"symbols": entries["texts"].symbols, "length": entries["max_bytes"]}
            functionals = ()
        else:
            entries |= categories_of(entries) if kind == "categorical" else support_points.read_bins(entries)
            sizes = {"categories": len(entries["categories"])}
            functionals = () if entries["values"] is None else ("mean",)
        entries["name"], entries["column"] = name, name if entries.get("column") is None else entries["column"]
        printable(column=entries["column"], unit=entries.get("unit", ""))
        check_title("title", table.get("title"))
        entries["mechanism"] = _mechanism(kind, entries, table, sizes)
        if kind == keys.PLANE:
            entries["sides"] = pairs.joint_numbers(entries, math.isqrt(entries["mechanism"].inputs))
        elif kind == keys.LATTICE:
            support_points.check_room(entries["mechanism"], sizes)
        elif kind == keys.SET:
            check_stated(entries["mechanism"], {"options": len(entries["categories"]), "at_most": entries["at_most"]})
        elif kind == keys.TEXT:
            check_stated(entries["mechanism"], sizes)
        elif kind == "numeric" and entries["missing"] == "category":
            support_points.check_gap(entries["mechanism"])
        if entries.get("functionals") is not None:
            options = entries["categories"] if kind == keys.SET else ()
            functionals = read_functionals(entries["functionals"], "client" in table, options, entries["mechanism"])
        return Attribute(
            **{key.name: entries[key.name] for key in fields(Attribute) if key.name in entries}
            | {"functionals": functionals}
        )
    except SchemeError as error:
        raise type(error)(f"{where}: {error}") from None


def _texts(entries: Mapping[str, Any]) -> TextDomain:
    """The texts of an attribute; raises SchemeError if they are not possible."""
    if entries["functionals"]:
        raise SchemeError("functionals are of numbers, and texts have none; remove them")
    return TextDomain(
        entries["alphabet"],
        entries["max_bytes"],
        tuple(step for step in NORMALIZATIONS if step in entries["normalize"]),
        MISSING if entries["missing"] == "category" else "",
        keys.OTHER if entries["outside"] == keys.OTHER else "",
    )


def _check_level(entries: Mapping[str, Any], table: Mapping[str, Any]) -> None:
    if entries["estimator"] != "projection" and ("level_rule" in table or "level" in table):
        raise SchemeError(
            f'level_rule and level need estimator = "projection", got estimator = "{entries["estimator"]}"; remove them'
        )
    if (entries["level_rule"] == "fixed") != (entries["level"] is not None):
        raise SchemeError('level and level_rule = "fixed" need each other; add the missing one or remove the other')


def _assumed(entries: Mapping[str, Any]) -> Fraction | None:
    """The bound on the root of int f''^2, in the attribute's unit to the power -5/2; None without an assumption."""
    table = entries["assume"]
    if table is None:
        return None
    if not isinstance(table, Mapping) or set(table) != {SECOND_DERIVATIVE}:
        raise SchemeError(f"assume must be {{ {SECOND_DERIVATIVE} = M }}, with M a number above 0, got {table!r}")
    if entries["estimator"] != keys.LOG_SPLINE or entries["missing"] == "category":
        raise SchemeError(
            f'assume needs estimator = "{keys.LOG_SPLINE}" and missing = "refuse", got estimator = '
            f'"{entries["estimator"]}" and missing = "{entries["missing"]}"'
        )
    bound = exact(**{f"assume.{SECOND_DERIVATIVE}": table[SECOND_DERIVATIVE]})
    check_bend(entries["lower"], entries["upper"], **{f"assume.{SECOND_DERIVATIVE}": bound})
    return bound


def _intervals(entries: Mapping[str, Any]) -> tuple[str, ...]:
    """The kinds of interval in addition to the data-driven one, without repetition."""
    if entries["intervals"] and entries["missing"] == "category":
        raise SchemeError(
            'intervals and missing = "category" exclude each other, because the share of nonresponse is unknown; remove one'
        )
    return tuple(dict.fromkeys(entries["intervals"]))


def categories_of(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return categories (with 'missing' if it is one), codes and values; raises SchemeError if they are invalid."""
    labels, codes, values = tuple(entries["categories"]), entries["codes"], entries.get("values")
    titles = entries["titles"]
    for label in labels:
        printable(categories=label)
    if entries["missing"] == "category" and MISSING not in labels:
        labels += (MISSING,)
    if len(set(labels)) != len(labels) or "" in labels:
        raise SchemeError(f"categories must differ and not be empty, got {entries['categories']!r}")
    if not isinstance(codes, Mapping):
        raise SchemeError(f'codes must map a file\'s codes to categories, such as {{ 1 = "urban" }}, got {codes!r}')
    for code, label in codes.items():
        if label not in labels:
            raise SchemeError(f"codes.{code} must be one of the categories {listed(labels)}; got {label!r}")
    _check_titles(titles, labels)
    if values is not None and len(values) != len(labels):
        raise SchemeError(f"values must list one number for each of the {len(labels)} categories, got {len(values)}")
    if values is None and entries.get("functionals") and "at_most" not in entries:
        raise SchemeError(
            "functionals of categories need values, one number for each category; add values or remove functionals"
        )
    if entries["outside"] == keys.OTHER and keys.OTHER not in labels:
        raise SchemeError(f'outside = "other" needs a category named "other" among the {len(labels)} categories')
    return {
        "categories": labels,
        "titles": MappingProxyType({label: titles[label] for label in labels if label in titles}),
        "codes": MappingProxyType(dict(sorted(codes.items()))),  # the order of the canonical text
        "values": None if values is None else tuple(map(float, values)),
    }


def check_title(key: str, title: Any) -> None:
    """Raise SchemeError, which names the key, if a title is empty or not printable; None is no title."""
    if title is None:
        return
    if not isinstance(title, str) or not title.strip():
        raise SchemeError(f"{key} must be a text in quotes that is not empty, got {title!r}")
    printable(**{key: title})


def _check_titles(titles: Any, categories: tuple[str, ...]) -> None:
    if not isinstance(titles, Mapping):
        raise SchemeError(
            f'titles must map categories to titles, such as {{ yes = "Yes, at least once" }}, got {titles!r}'
        )
    for category, title in titles.items():
        if category not in categories:
            raise SchemeError(
                f"titles.{category} is not the title of a category; its categories are {listed(categories)}"
            )
        check_title(f"titles.{category}", title)
    shown = [titles.get(category, category) for category in categories]
    for title in titles.values():
        if shown.count(title) > 1:
            raise SchemeError(f"titles must differ from each other and from other categories, got {title!r} twice")


def titles_of(attribute: Attribute) -> dict[str, Any]:
    """Return the keys of an attribute's or label's table that state titles; {} without titles, so that digests stay."""
    return {key: value for key, value in (("title", attribute.title), ("titles", dict(attribute.titles))) if value}


def _mechanism(
    attribute_kind: str, entries: Mapping[str, Any], table: Mapping[str, Any], sizes: Mapping[str, int]
) -> Mechanism:
    """The mechanism of an attribute, read from a canonical text, otherwise chosen and designed; sizes: as for `design`."""
    kind = IN_SCHEMES[attribute_kind].get(entries["mechanism"])
    options = [option for option in kind.declared.options if option.name in table] if kind is not None else []
    if "client" not in table:
        from dpcore.protocol.syntax.mechanism_design import design  # not needed for canonical texts

        return design(kind, entries["epsilon"], sizes, {option.name: entries[option.name] for option in options})
    if kind is None:
        raise SchemeError("client needs the mechanism that it belongs to; add mechanism = or remove client")
    for option in options:
        if not option.is_kept:
            raise SchemeError(f"client already contains the result of {option.name}; remove one of the two")
    mechanism = kind.from_parameters(entries["epsilon"], table["client"])
    if "categorical" in kind.declared.attributes and mechanism.inputs != sizes["categories"]:
        raise SchemeError(
            f"client.categories must be {sizes['categories']}, the number of categories, got {mechanism.inputs}"
        )
    return mechanism


def check_stated(mechanism: Mechanism, needed: Mapping[str, int]) -> None:
    """Raise SchemeError unless a mechanism's integers are those of the attribute."""
    stated = mechanism.parameters()
    for key, value in needed.items():
        if stated[key] != value:
            raise SchemeError(f"client.{key} must be {value}, as the attribute has it, got {stated[key]}")


def read_functionals(
    names: list[str], is_canonical: bool, options: tuple[str, ...] = (), mechanism: Mechanism | None = None
) -> tuple[str, ...]:
    """Return the names of functionals; raises SchemeError for an unknown one, or one about options that a set lacks.

    is_canonical: whether the names were checked before, so that clients do not import `dpcore.functionals`.
    options, mechanism: those of a set.
    """
    if not is_canonical:
        from dpcore.functionals import parse

        try:
            for functional in map(parse, names):
                reason = functional.refuses_options(options) if functional.options else None
                if functional.options and mechanism is not None and reason is None:
                    only_one = ONE_ITEM if mechanism.sizes == (1,) else None
                    reason = ONE_CHOSEN if mechanism.parameters()["at_most"] == 1 else only_one
                if reason is not None:
                    raise SchemeError(f"{functional}: {reason}")
        except SchemeError as error:
            raise SchemeError(f"functionals: {error}") from None
    return tuple(names)


def write(attribute: Attribute) -> dict[str, Any]:
    """Return the table of an attribute in the canonical form: a fixed order of keys, exact numbers, all defaults."""
    a = attribute
    table: dict[str, Any] = {
        "type": a.type,
        "column": a.column,
        "missing": a.missing,
        "mechanism": a.mechanism.name,
        "epsilon": a.budget.text,
        "estimator": a.estimator,
        "functionals": a.functionals,
    }
    if a.sides:
        del table["column"], table["functionals"]
        table["of"] = a.of
        if a.is_numeric:
            table |= {"lower": [number(x) for x in a.lowers], "upper": [number(x) for x in a.uppers]}
            table |= {"units": [side.unit for side in a.sides], "outside": a.outside}
        else:
            table["categories"] = a.parts
        table |= {} if a.design is None else {"design": a.design}
    elif a.points is not None:
        table |= {"values": [number(point) for point in a.points]} if a.step is None else _bounds(a)
        table |= {} if a.step is None else {"step": number(a.step)}
        table |= {} if a.heaps is None else {"heaps": [number(heap) for heap in a.heaps]}
        table |= {"unit": a.unit, "outside": a.outside}
        table |= {"codes": dict(a.codes)} if a.codes else {}
    elif a.is_numeric:
        table |= _bounds(a) | {"unit": a.unit, "outside": a.outside}
        table |= {"codes": dict(a.codes)} if a.codes else {}
        table |= {"level_rule": a.level_rule} if a.estimator == "projection" else {}
        table |= {} if a.level is None else {"level": a.level}
        table |= {} if a.assume is None else {"assume": {SECOND_DERIVATIVE: number(a.assume)}}
        table |= {"intervals": a.intervals} if a.intervals else {}
    elif a.texts is not None:
        table |= {"max_bytes": a.texts.max_bytes, "alphabet": a.texts.alphabet, "normalize": a.texts.normalize}
        table |= {"outside": a.outside}
    elif a.at_most is not None:
        table |= {"categories": a.categories, "codes": dict(a.codes), "at_most": a.at_most, "separator": a.separator}
        table |= {"columns": [box.column for box in a.boxes]} if a.boxes else {}
        table |= {} if a.outside == "refuse" else {"outside": a.outside}
    elif a.bins is not None:
        table |= {"bins": [number(edge) for edge in a.bins], "unit": a.unit}
        table |= {"codes": dict(a.codes)} if a.codes else {}
        table |= {} if a.values is None else {"values": [number(Fraction(repr(v))) for v in a.values]}
        table |= {} if a.design is None else {"design": a.design}
    else:
        table |= {"categories": a.categories, "codes": dict(a.codes)}
        table |= {} if a.values is None else {"values": [number(Fraction(repr(v))) for v in a.values]}
        table |= {} if a.outside == "refuse" else {"outside": a.outside}
        table |= {} if a.design is None else {"design": a.design}
    return table | titles_of(a) | {"client": a.mechanism.parameters()}


def _bounds(attribute: Attribute) -> dict[str, Any]:
    return {"lower": number(attribute.lower), "upper": number(attribute.upper)}
